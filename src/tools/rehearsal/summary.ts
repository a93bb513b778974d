/** The summary of a rehearsal for one terminal screen: the figures of both runs, small plots, and the verdict last. */
import { laneText } from "./charts.ts";
import type { ManifestReport } from "./manifests.ts";
import { ruler, sparkline, squeeze } from "./plots.ts";
import { inWords, type Gate, type RehearsalReport, type RunReport, type StorageLane } from "./report.ts";
import { durationText, minuteText } from "./times.ts";

const SHOWN_WRONG = 5;
const SHOWN_MANIFESTS = 20;
const LABEL_WIDTH = 12;
const WIDTH_MIN = 48;
const WIDTH_MAX = 120;

export function rehearsalSummary(report: RehearsalReport, columns = 80): string {
  const width = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, columns));
  const { runs, manifests, verdict, settings } = report;
  return [
    wrap(heading(report), width),
    figures(runs),
    ...[runs.on, runs.off].map((run) => plots(run, report, width)),
    storageText(runs[settings.gate].storage, width),
    manifests === null ? "" : manifestText(manifests, width),
    wrongText(runs[settings.gate].wrong > 0 ? runs[settings.gate] : runs.off, width),
    wrap(verdict.sentence, width),
  ]
    .filter((part) => part !== "")
    .join("\n");
}

function heading({ settings }: RehearsalReport): string {
  const { from, to, way, servers, minutes, time, faults, seed } = settings;
  const path = way === "up" ? `${from} to ${to}` : `${from} to ${to} and back`;
  const who = servers === 1 ? "1 server" : `${servers} servers`;
  return `Rehearsal of ${path}: ${who}, ${minutes} ${time} minutes, faults ${faults}, seed ${seed}`;
}

function figures({ on, off }: RehearsalReport["runs"]): string {
  const statuses = [...new Set([...Object.keys(on.byStatus), ...Object.keys(off.byStatus)])].sort();
  const kinds = [...new Set([...Object.keys(on.wrongByKind), ...Object.keys(off.wrongByKind)])].sort();
  const row = (label: string, read: (run: RunReport) => number | string): string[] => [
    label,
    String(read(on)),
    String(read(off)),
  ];
  const routed = (run: RunReport, key: "local" | "proxied" | "unavailable"): number =>
    run.routing.reduce((sum, counts) => sum + counts[key], 0);
  const wrongOf = (run: RunReport, kind: string): number => (run.wrongByKind as Record<string, number>)[kind] ?? 0;
  const rows = [
    ["", "with proxy", "without"],
    row("responses", ({ answers }) => answers),
    ...statuses.map((status) => row(`  ${status}`, ({ byStatus }) => byStatus[status] ?? 0)),
    row("no response", ({ unanswered }) => unanswered),
    row("served locally", (run) => routed(run, "local")),
    row("proxied", (run) => routed(run, "proxied")),
    row("longest wait", ({ longestWait }) => (longestWait === null ? "none" : durationText(longestWait.ms))),
    row("WRONG", ({ wrong }) => wrong),
    ...kinds.map((kind) => row(`  ${inWords(kind)}`, (run) => wrongOf(run, kind))),
  ];
  const [first = 0, ...others] = [0, 1, 2].map((column) =>
    Math.max(...rows.map((cells) => cells[column]?.length ?? 0)),
  );
  return rows
    .map(([label = "", ...cells]) =>
      [label.padEnd(first), ...cells.map((cell, index) => cell.padStart(others[index] ?? 0))].join("  ").trimEnd(),
    )
    .map((line) => `${line}\n`)
    .join("");
}

const TITLES: Readonly<Record<Gate, string>> = { on: "with proxy", off: "without" };

function plots({ gate, series, steps }: RunReport, { plan }: RehearsalReport, width: number): string {
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
    `${TITLES[gate]}\n`,
    line("  2xx", of("ok")),
    line("  404", of("notFound")),
    line("  503", of("unavailable")),
    line("  wrong", of("wrong")),
    `${"  upgrades".padEnd(LABEL_WIDTH)}${upgrades}\n`,
  ].join("");
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

function wrongText({ gate, wrong, firstWrong }: RunReport, width: number): string {
  if (wrong === 0) return "";
  const reported = firstWrong
    .slice(0, SHOWN_WRONG)
    .flatMap(({ atMs, client, server, request, said, right }) => [
      wrap(`  ${minuteText(atMs)} ${client} at ${server === "" ? "an informer" : server}: ${request}`, width),
      wrap(`        ${said}, but ${right}`, width),
    ]);
  const title = gate === "on" ? "Wrong responses with the proxy" : "Wrong responses without the proxy";
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
