/** Renders a report as one self-contained HTML page: it loads nothing, works without scripts, and embeds the report. */
import { responsesChart, highestBucket, SERIES_NAMES, storageChart } from "./charts.ts";
import { escapeHtml, scriptJson } from "../upgrade/report/html-text.ts";
import { PAGE_SCRIPT, REHEARSAL_STYLE } from "./html-page.ts";
import { BASE_STYLE } from "../upgrade/report/html-page.ts";
import { htmlCell, htmlRow, htmlTable, longCell } from "../upgrade/report/html-table.ts";
import type { ManifestReport } from "./manifests.ts";
import { inWords, SERIES_KEYS, type RehearsalReport, type RunReport } from "./report.ts";
import { durationText, minuteText } from "./times.ts";

const POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'";

export function rehearsalHtml(report: RehearsalReport): string {
  const { settings, runs, plan, verdict, manifests } = report;
  const back = settings.way === "up" ? "" : " and back";
  const title = `Rehearsal of ${settings.from} to ${settings.to}${back}`;
  const scaleMax = highestBucket([runs.on, runs.off]);
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
    `<meta name="viewport" content="width=device-width"><title>${escapeHtml(title)}</title>`,
    // An empty icon, because browsers would otherwise request a favicon.
    `<link rel="icon" href="data:,"><style>${BASE_STYLE}${REHEARSAL_STYLE}</style></head><body><main>`,
    `<h1>${escapeHtml(title)}</h1>`,
    `<p class="verdict ${verdict.isPass ? "pass" : "fail"}">${escapeHtml(verdict.sentence)}</p>`,
    settingsList(report),
    `<h2>With and without the proxy</h2>${figures(report)}`,
    ...[runs.on, runs.off].map((run) => `<h3>${titleOf(run)}</h3>${responsesChart(run, plan, scaleMax)}`),
    legend(),
    "<p>A 404 is wrong only for a resource that a server serves: clients also request resources that are not served yet, or no longer.</p>",
    `<h2>Servers</h2>${routing(report)}`,
    `<h2>Storage versions</h2>${storage(report)}`,
    manifests === null ? "" : `<h2>Manifests</h2>${manifestTable(manifests)}`,
    `<h2>Wrong responses</h2>${wrongTable(runs.on)}${wrongTable(runs.off)}`,
    `<h2>Plan</h2>${stepTable(report)}`,
    `</main><script type="application/json" id="report">${scriptJson(report)}</script>`,
    `<script>${PAGE_SCRIPT}</script></body></html>\n`,
  ].join("\n");
}

function titleOf({ gate }: RunReport): string {
  return gate === "on" ? "With the mixed version proxy" : "Without the mixed version proxy";
}

/** A figure of the report, with its path in the report as an attribute. */
function figure(path: string, value: number): string {
  return `<td class="number" data-figure="${escapeHtml(path)}">${value}</td>`;
}

function settingsList({ settings }: RehearsalReport): string {
  const { servers, minutes, time, faults, seed } = settings;
  const shown = { servers, [`${time} minutes`]: minutes, faults, seed };
  const items = Object.entries(shown).map(([name, value]) => `<dt>${name}</dt><dd>${escapeHtml(String(value))}</dd>`);
  return `<dl>${items.join("")}</dl>`;
}

function figures({ runs }: RehearsalReport): string {
  const keysOf = (read: (run: RunReport) => object): string[] =>
    [...new Set([runs.on, runs.off].flatMap((run) => Object.keys(read(run))))].sort();
  const row = (name: string, path: string, read: (run: RunReport) => number): string =>
    htmlRow(name, [figure(`runs.on.${path}`, read(runs.on)), figure(`runs.off.${path}`, read(runs.off))]);
  const wrongOf = (run: RunReport, kind: string): number => (run.wrongByKind as Record<string, number>)[kind] ?? 0;
  const wait = ({ longestWait }: RunReport): string =>
    longestWait === null
      ? "<td>none</td>"
      : `<td title="${escapeHtml(`${longestWait.client} ${longestWait.request}`)}">${durationText(longestWait.ms)}</td>`;
  return htmlTable(
    ["", "With", "Without"],
    [
      row("Responses", "answers", ({ answers }) => answers),
      ...keysOf(({ byStatus }) => byStatus).map((status) =>
        row(`… ${status}`, `byStatus.${status}`, ({ byStatus }) => byStatus[status] ?? 0),
      ),
      row("No response", "unanswered", ({ unanswered }) => unanswered),
      htmlRow("Longest wait", [wait(runs.on), wait(runs.off)]),
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
  const rows = plan.serverIds.map((id, index) => {
    const cells = (["on", "off"] as const).flatMap((gate) => {
      const counts = runs[gate].routing[index];
      return (["local", "proxied", "unavailable"] as const).map((key) =>
        figure(`runs.${gate}.routing.${index}.${key}`, counts?.[key] ?? 0),
      );
    });
    return htmlRow(id, cells);
  });
  const columns = ["served locally", "proxied", "503"];
  return htmlTable(["", ...columns.map((name) => `With: ${name}`), ...columns.map((name) => `Without: ${name}`)], rows);
}

function storage({ runs, plan, settings }: RehearsalReport): string {
  const lanes = runs[settings.gate].storage;
  if (lanes.length === 0) return "<p>All servers wrote every resource in the same version throughout.</p>";
  return `<p>The version in which all servers write a resource; outlined while servers write different versions.</p>${storageChart(lanes, plan)}`;
}

function manifestTable({ objects, findings }: ManifestReport): string {
  const rows = findings.map(({ kind, file, apiVersion, objectKind, name, sentence }) =>
    htmlRow(inWords(kind), [
      htmlCell(file),
      htmlCell(`${apiVersion} ${objectKind}`),
      longCell(name),
      htmlCell(sentence),
    ]),
  );
  const intro = `<p><span data-figure="manifests.objects">${objects}</span> objects.</p>`;
  return intro + (rows.length === 0 ? "" : htmlTable(["", "File", "API", "Name", ""], rows));
}

function wrongTable(run: RunReport): string {
  const { firstWrong, wrong } = run;
  if (wrong === 0) return `<p>${titleOf(run)}: none.</p>`;
  const rows = firstWrong.map(({ atMs, kind, client, server, request, said, right }) =>
    htmlRow(minuteText(atMs), [
      ...[inWords(kind), client, server].map(htmlCell),
      ...[request, said, right].map(longCell),
    ]),
  );
  const summary = `${titleOf(run)}: ${wrong}; the first ${firstWrong.length} are shown`;
  const head = ["Time", "Kind", "Client", "Server", "Request", "Observed", "Why it is wrong"];
  return `<details open class="wrong"><summary>${escapeHtml(summary)}</summary>${htmlTable(head, rows)}</details>`;
}

function stepTable({ runs, settings }: RehearsalReport): string {
  const { steps, faults } = runs[settings.gate];
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
