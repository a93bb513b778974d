/** Renders a report as one self-contained HTML page: it loads nothing, works without scripts, and embeds the report. */
import { formatGroupResource } from "../../meta/group-version.ts";
import { commandText } from "./command-text.ts";
import { responsesChart, highestBucket, SERIES_NAMES, storageChart } from "./charts.ts";
import { escapeHtml, scriptJson } from "../upgrade/report/html-text.ts";
import { PAGE_SCRIPT, REHEARSAL_STYLE } from "./html-page.ts";
import { BASE_STYLE } from "../upgrade/report/html-page.ts";
import { htmlCell, htmlRow, htmlTable, labeledCells, longCell } from "../upgrade/report/html-table.ts";
import type { ManifestReport } from "./manifests.ts";
import { inWords, judgedRun, SERIES_KEYS, type RehearsalReport, type RunReport } from "./report.ts";
import { isKubernetes, wordsOf } from "./subject.ts";
import { durationText, minuteText } from "./times.ts";
import { WRONG_KINDS } from "./wrong-kinds.ts";

const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

export function rehearsalHtml(report: RehearsalReport): string {
  const { settings, runs, plan, verdict, manifests } = report;
  const back = settings.way === "up" ? "" : " and back";
  const title = `Rehearsal of ${settings.from} to ${settings.to}${back}`;
  const scaleMax = highestBucket(runs);
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${escapeHtml(title)}</title>`,
    // An empty icon, because browsers would otherwise request a favicon.
    `<link rel="icon" href="data:,"><style>${BASE_STYLE}${REHEARSAL_STYLE}</style></head><body><main>`,
    `<h1>${escapeHtml(title)}</h1>`,
    `<p class="verdict ${verdict.isPass ? "pass" : "fail"}">${escapeHtml(verdict.sentence)}</p>`,
    aboutText(report),
    settingsList(report),
    clusterText(report),
    `<h2>Both runs</h2>${figures(report)}`,
    ...runs.map(
      (run) =>
        `<h3>${titleOf(run)}</h3><p>${escapeHtml(wordsOf(run.subject).explanation)}</p>` +
        chart(responsesChart(run, plan, scaleMax)),
    ),
    legend(),
    "<p>A 404 is wrong only for a resource that a server serves: clients also request resources that are not served yet, or no longer.</p>",
    `<h2>What counts as wrong</h2>${definitions()}`,
    `<h2>Servers</h2>${routing(report)}`,
    `<h2>Storage versions</h2>${storage(report)}`,
    manifests === null ? "" : `<h2>Manifests</h2>${manifestTable(manifests)}`,
    `<h2>Wrong responses</h2>${runs.map(wrongTable).join("")}`,
    `<h2>Plan</h2>${stepTable(report)}`,
    `</main><script type="application/json" id="report">${scriptJson(report)}</script>`,
    `<script>${PAGE_SCRIPT}</script></body></html>\n`,
  ].join("\n");
}

function titleOf({ subject }: RunReport): string {
  return escapeHtml(wordsOf(subject).name);
}

/** Says what was played and how to repeat it, because a reader may see only this page. */
function aboutText({ about, runs }: RehearsalReport): string {
  const isSimulated = runs.some(({ subject }) => isKubernetes(subject));
  const what = isSimulated
    ? "This is a simulation of the API servers: the server code of Evenkeel, with the APIs, encodings and limits of each release of kube-apiserver. No request was sent to a real cluster."
    : "The servers were processes of Evenkeel on one machine. No request was sent to a real cluster.";
  const source = `Played by Evenkeel ${about.version} on ${about.date}. This command repeats it:`;
  return `<p>${what}</p><p>${escapeHtml(source)}</p><pre>${escapeHtml(commandText(about))}</pre>`;
}

function clusterText({ cluster, runs }: RehearsalReport): string {
  if (cluster === null) return "";
  const { source, kinds, notPlayed, runtimeConfig } = cluster;
  const rows = kinds.map(({ count, ...kind }, index) =>
    htmlRow(formatGroupResource(kind), [figure(`cluster.kinds.${index}.count`, count)]),
  );
  const flags = runtimeConfig.length === 0 ? [] : [`The servers have --runtime-config=${runtimeConfig.join(",")}.`];
  const missing = notPlayed.length === 0 ? [] : [`Clients did not use ${notPlayed.join(", ")}.`];
  const notes = [...flags, ...missing, ...new Set(runs.flatMap((run) => run.notes))].map(
    (note) => `<p class="long">${escapeHtml(note)}</p>`,
  );
  return (
    `<h2>Your cluster</h2><p class="long">${escapeHtml(`Played with the ${source}.`)}</p>${notes.join("")}` +
    `<details><summary>Kinds in use: ${kinds.length}</summary>${htmlTable(["", "Objects"], rows)}</details>`
  );
}

function definitions(): string {
  const items = Object.entries(WRONG_KINDS).map(
    ([kind, { meaning }]) => `<div><dt>${escapeHtml(inWords(kind))}</dt><dd>${escapeHtml(meaning)}.</dd></div>`,
  );
  return (
    `<dl class="kinds">${items.join("")}</dl>` +
    "<p>A 503 is not wrong, because the client can wait and retry. A request without a response is not wrong either, because the server may have stopped.</p>"
  );
}

/** On a narrow screen the chart scrolls, not the page. */
function chart(svg: string): string {
  return `<div class="wide chart">${svg}</div>`;
}

/** A figure of the report, with its path in the report as an attribute. */
function figure(path: string, value: number): string {
  return `<td class="number" data-figure="${escapeHtml(path)}">${value}</td>`;
}

function settingsList({ settings }: RehearsalReport): string {
  const { servers, minutes, time, faults, seed, subject } = settings;
  const shown = { "verdict about": wordsOf(subject).name, servers, [`${time} minutes`]: minutes, faults, seed };
  const items = Object.entries(shown).map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(String(value))}</dd>`);
  return `<dl>${items.join("")}</dl>`;
}

function figures({ runs }: RehearsalReport): string {
  const keysOf = (read: (run: RunReport) => object): string[] =>
    [...new Set(runs.flatMap((run) => Object.keys(read(run))))].sort();
  const row = (name: string, path: string, read: (run: RunReport) => number): string =>
    htmlRow(
      name,
      runs.map((run, index) => figure(`runs.${index}.${path}`, read(run))),
    );
  const wrongOf = (run: RunReport, kind: string): number => (run.wrongByKind as Record<string, number>)[kind] ?? 0;
  const wait = ({ longestWait }: RunReport): string =>
    longestWait === null
      ? `<td class="number">none</td>`
      : `<td class="number" title="${escapeHtml(`${longestWait.client} ${longestWait.request}`)}">${durationText(longestWait.ms)}</td>`;
  return htmlTable(
    ["", ...runs.map(({ subject }) => wordsOf(subject).column)],
    [
      row("Responses", "answers", ({ answers }) => answers),
      ...keysOf(({ byStatus }) => byStatus).map((status) =>
        row(`… ${status}`, `byStatus.${status}`, ({ byStatus }) => byStatus[status] ?? 0),
      ),
      row("No response", "unanswered", ({ unanswered }) => unanswered),
      htmlRow("Longest wait", runs.map(wait)),
      row("Wrong responses", "wrong", ({ wrong }) => wrong),
      ...keysOf(({ wrongByKind }) => wrongByKind).map((kind) =>
        row(`… ${inWords(kind)}`, `wrongByKind.${kind}`, (run) => wrongOf(run, kind)),
      ),
      row("Objects created", "work.objectsMade", ({ work }) => work.objectsMade),
      row("Owners deleted", "work.ownersDeleted", ({ work }) => work.ownersDeleted),
      row("Namespaces deleted", "work.namespacesDeleted", ({ work }) => work.namespacesDeleted),
      row("… still present at the end", "work.namespacesLeft", ({ work }) => work.namespacesLeft),
      row("Objects that should have been deleted", "work.objectsLeft", ({ work }) => work.objectsLeft),
    ],
  );
}

function routing({ runs, plan }: RehearsalReport): string {
  const columns = { local: "served locally", proxied: "proxied", unavailable: "503" } as const;
  const keys = Object.keys(columns) as (keyof typeof columns)[];
  const names = runs.flatMap(({ subject }) => keys.map((key) => `${wordsOf(subject).column}: ${columns[key]}`));
  const head = ["", ...names];
  const rows = plan.serverIds.map((id, index) => {
    const cells = runs.flatMap((run, number) =>
      keys.map((key) => figure(`runs.${number}.routing.${index}.${key}`, run.routing[index]?.[key] ?? 0)),
    );
    return htmlRow(id, labeledCells(head, cells));
  });
  return htmlTable(head, rows, "cards");
}

function storage(report: RehearsalReport): string {
  const lanes = judgedRun(report).storage;
  if (lanes.length === 0) return "<p>All servers wrote every resource in the same version throughout.</p>";
  return `<p>The version in which all servers write a resource; outlined while servers write different versions.</p>${chart(storageChart(lanes, report.plan))}`;
}

const MANIFEST_HEAD = ["", "File", "API", "Name", "Finding"] as const;
const WRONG_HEAD = ["Time", "Kind", "Client", "Server", "Request", "Observed", "Why it is wrong"] as const;

function manifestTable({ objects, findings }: ManifestReport): string {
  const rows = findings.map(({ kind, file, apiVersion, objectKind, name, sentence }) =>
    htmlRow(
      inWords(kind),
      labeledCells(MANIFEST_HEAD, [
        longCell(file),
        longCell(`${apiVersion} ${objectKind}`),
        longCell(name),
        htmlCell(sentence),
      ]),
    ),
  );
  const intro = `<p><span data-figure="manifests.objects">${objects}</span> objects.</p>`;
  return intro + (rows.length === 0 ? "" : htmlTable(MANIFEST_HEAD, rows, "cards"));
}

function wrongTable(run: RunReport): string {
  const { firstWrong, wrong } = run;
  if (wrong === 0) return `<p>${titleOf(run)}: none.</p>`;
  const rows = firstWrong.map(({ atMs, kind, client, server, request, said, right }) =>
    htmlRow(
      minuteText(atMs),
      labeledCells(WRONG_HEAD, [
        ...[inWords(kind), client, server].map(htmlCell),
        ...[request, said, right].map(longCell),
      ]),
    ),
  );
  const summary = `${titleOf(run)}: ${wrong}; the first ${firstWrong.length} are shown`;
  return `<details open class="wrong"><summary>${escapeHtml(summary)}</summary>${htmlTable(WRONG_HEAD, rows, "cards")}</details>`;
}

function stepTable(report: RehearsalReport): string {
  const { steps, faults } = judgedRun(report);
  const rows = steps.map(({ serverId, from, to, stoppedAtMs, readyAtMs }) =>
    htmlRow(minuteText(stoppedAtMs), [
      htmlCell(serverId),
      htmlCell(`${from} to ${to}`),
      htmlCell(readyAtMs === null ? "not ready before the end" : `ready at ${minuteText(readyAtMs)}`),
    ]),
  );
  const reported = faults.map(({ atMs, what }) => `<li>${minuteText(atMs)} ${escapeHtml(what)}</li>`);
  const list =
    reported.length === 0
      ? ""
      : `<details><summary>Faults: ${reported.length}</summary><ul>${reported.join("")}</ul></details>`;
  return htmlTable(["Stopped", "Server", "Release", ""], rows) + list;
}

function legend(): string {
  const items = SERIES_KEYS.map((key) => `<li><span class="swatch ${key}"></span>${SERIES_NAMES[key]}</li>`);
  return `<ul class="legend">${items.join("")}<li><span class="swatch step"></span>a server is down</li></ul>`;
}
