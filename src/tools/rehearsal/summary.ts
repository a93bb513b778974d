/** The summary of a rehearsal for one terminal screen: the figures of both runs, small plots, and the verdict last. */
import { commandText } from "./command-text.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { laneText } from "./charts.ts";
import type { ManifestReport } from "./manifests.ts";
import { ruler, sparkline, squeeze } from "./plots.ts";
import { inWords, judgedRun, type RehearsalReport, type RunReport, type StorageLane } from "./report.ts";
import { isKubernetes, wordsOf } from "./subject.ts";
import { durationText, minuteText } from "./times.ts";

const SHOWN_WRONG = 5;
const SHOWN_KINDS = 8;
const SHOWN_MANIFESTS = 20;
const LABEL_WIDTH = 12;
const WIDTH_MIN = 56;
const WIDTH_MAX = 120;

export function rehearsalSummary(report: RehearsalReport, columns = 80): string {
  const width = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, columns));
  const { runs, manifests, verdict } = report;
  const judged = judgedRun(report);
  return [
    heading(report)
      .map((line) => wrap(line, width))
      .join(""),
    figures(runs),
    ...runs.map((run) => plots(run, report, width)),
    clusterText(report, width),
    storageText(judged.storage, width),
    manifests === null ? "" : manifestText(manifests, width),
    wrongText(judged.wrong > 0 ? judged : runs.find(({ wrong }) => wrong > 0), width),
    wrap(verdict.sentence, width),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function heading({ settings, about, runs }: RehearsalReport): string[] {
  const { from, to, way, servers, minutes, time, faults, seed } = settings;
  const path = way === "up" ? `${from} to ${to}` : `${from} to ${to} and back`;
  const who = servers === 1 ? "1 server" : `${servers} servers`;
  const isSimulated = runs.some(({ subject }) => isKubernetes(subject));
  const what = isSimulated ? "A simulation of the API servers" : "Played with processes of Evenkeel";
  return [
    `Rehearsal of ${path}: ${who}, ${minutes} ${time} ${minutes === 1 ? "minute" : "minutes"}, faults ${faults}, seed ${seed}`,
    `${what}, by Evenkeel ${about.version} on ${about.date.slice(0, 10)}. Repeat: ${commandText(about)}`,
  ];
}

function figures(runs: readonly RunReport[]): string {
  const keysOf = (read: (run: RunReport) => object): string[] =>
    [...new Set(runs.flatMap((run) => Object.keys(read(run))))].sort();
  const row = (label: string, read: (run: RunReport) => number | string): string[] => [
    label,
    ...runs.map((run) => String(read(run))),
  ];
  const routed = (run: RunReport, key: "local" | "proxied" | "unavailable"): number =>
    run.routing.reduce((sum, counts) => sum + counts[key], 0);
  const wrongOf = (run: RunReport, kind: string): number => (run.wrongByKind as Record<string, number>)[kind] ?? 0;
  const rows = [
    row("", ({ subject }) => wordsOf(subject).column),
    row("responses", ({ answers }) => answers),
    ...keysOf(({ byStatus }) => byStatus).map((status) => row(`  ${status}`, ({ byStatus }) => byStatus[status] ?? 0)),
    row("no response", ({ unanswered }) => unanswered),
    row("served locally", (run) => routed(run, "local")),
    row("proxied", (run) => routed(run, "proxied")),
    row("longest wait", ({ longestWait }) => (longestWait === null ? "none" : durationText(longestWait.ms))),
    row("WRONG", ({ wrong }) => wrong),
    ...keysOf(({ wrongByKind }) => wrongByKind).map((kind) => row(`  ${inWords(kind)}`, (run) => wrongOf(run, kind))),
  ];
  const [first = 0, ...others] = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  return rows
    .map(([label = "", ...cells]) =>
      [label.padEnd(first), ...cells.map((cell, index) => cell.padStart(others[index] ?? 0))].join("  ").trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

function plots({ subject, series, steps }: RunReport, { plan }: RehearsalReport, width: number): string {
  const room = Math.min(series.buckets.length, width - LABEL_WIDTH);
  const line = (label: string, values: readonly number[]): string => {
    const shown = squeeze(values, room);
    return `${label.padEnd(LABEL_WIDTH)}${sparkline(shown)}\n`;
  };
  const of = (key: keyof (typeof series.buckets)[number]): number[] => series.buckets.map((bucket) => bucket[key]);
  const upgrades = ruler(
    steps.map(({ stoppedAtMs }) => stoppedAtMs),
    plan.durationMs,
    room,
  );
  return [
    `${wordsOf(subject).name}\n`,
    line("  2xx", of("ok")),
    line("  404", of("notFound")),
    line("  503", of("unavailable")),
    line("  wrong", of("wrong")),
    `${"  upgrades".padEnd(LABEL_WIDTH)}${upgrades}\n`,
  ].join("");
}

function clusterText({ cluster, runs }: RehearsalReport, width: number): string {
  if (cluster === null) return "";
  const { source, kinds, notPlayed, runtimeConfig } = cluster;
  const shown = kinds
    .slice(0, SHOWN_KINDS)
    .map(({ count, ...kind }) => `${count} ${formatGroupResource(kind)}`)
    .join(", ");
  const others = kinds.length > SHOWN_KINDS ? ` and ${kinds.length - SHOWN_KINDS} other kinds` : "";
  const notes = [...new Set(runs.flatMap((run) => run.notes))];
  return [
    `Played with the ${source}`,
    `  kinds in use: ${shown}${others}`,
    ...(runtimeConfig.length === 0 ? [] : [`  --runtime-config=${runtimeConfig.join(",")}`]),
    ...(notPlayed.length === 0 ? [] : [`  not played: ${notPlayed.join(", ")}`]),
    ...notes.map((note) => `  ${note}`),
  ]
    .map((line) => wrap(line, width))
    .join("");
}

function storageText(lanes: readonly StorageLane[], width: number): string {
  if (lanes.length === 0) return "";
  const reported = lanes.map(({ resource, points }) => {
    const path = points.map((point) => `${minuteText(point.atMs)} ${laneText(point)}`).join(", ");
    return wrap(`  ${resource}: ${path}`, width);
  });
  return `Storage versions written by the servers\n${reported.join("")}`;
}

function manifestText({ objects, findings }: ManifestReport, width: number): string {
  const reported = findings
    .slice(0, SHOWN_MANIFESTS)
    .map(({ kind, file, apiVersion, objectKind, name, sentence }) =>
      wrap(`  ${inWords(kind)}: ${file} ${apiVersion} ${objectKind} ${name}: ${sentence}`, width),
    );
  const hidden = findings.length - reported.length;
  return `Manifests: ${objects} objects, ${findings.length} findings\n${reported.join("")}${more(hidden)}`;
}

function wrongText(run: RunReport | undefined, width: number): string {
  if (run === undefined) return "";
  const { subject, wrong, firstWrong } = run;
  const reported = firstWrong
    .slice(0, SHOWN_WRONG)
    .flatMap(({ atMs, client, server, request, said, right }) => [
      wrap(`  ${minuteText(atMs)} ${client} at ${server === "" ? "an informer" : server}: ${request}`, width),
      wrap(`        ${said}, but ${right}`, width),
    ]);
  const title = `Wrong responses: ${wordsOf(subject).name}`;
  return `${title}\n${reported.join("")}${more(wrong - Math.min(SHOWN_WRONG, firstWrong.length))}`;
}

function more(hidden: number): string {
  return hidden > 0 ? `  and ${hidden} more\n` : "";
}

/**
 * Wraps text at the width and indents further lines. Names and messages come from manifests and servers, so control
 * characters are replaced.
 */
function wrap(text: string, width: number): string {
  const indent = " ".repeat(text.length - text.trimStart().length + 4);
  const words = text
    .replaceAll(/\p{Cc}/gu, "?")
    .trimEnd()
    .split(/(?<=[^ ] )/);
  const lines: string[] = [];
  let line = "";
  for (const word of words) {
    let rest = word;
    if (line.trim() !== "" && line.length + rest.trimEnd().length > width) {
      lines.push(line);
      line = indent;
    }
    for (; line.length + rest.trimEnd().length > width; line = indent) {
      lines.push(line + rest.slice(0, width - line.length));
      rest = rest.slice(width - line.length);
    }
    line += rest;
  }
  return [...lines, line].map((one) => `${one.trimEnd()}\n`).join("");
}
