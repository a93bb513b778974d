/**
 * Renders an inspection as one HTML page to keep, print or send. It loads nothing and has no script, and its policy
 * forbids both, because nearly all of its text comes from the cluster.
 */
import { createHash } from "node:crypto";
import { printable } from "../../../base/printable.ts";
import type { UpgradeFinding, FindingSubject } from "../finding.ts";
import type { Inspection } from "../inspect/inspection.ts";
import { SEVERITIES } from "./failing.ts";
import { BASE_STYLE } from "./html-page.ts";
import { escapeHtml } from "./html-text.ts";
import { inspectionSections, type PageSection } from "./inspection-sections.ts";
import { INSPECTION_STYLE } from "./inspection-style.ts";
import { bytesText, quantity, countText } from "./quantities.ts";
import { upgradeName, verdictOf } from "./verdict.ts";

interface InspectionHtmlOptions {
  /** IDs that the user has passed to --ignore. */
  readonly ignored: readonly string[];
  /** For the footer: which program wrote the page, and when. */
  readonly writtenBy: string;
}

const STYLE = BASE_STYLE + INSPECTION_STYLE;
const NAMES_SHOWN = 5;
const COMMAND = "$ ";
const SEVERITY_NAMES: Readonly<Record<UpgradeFinding["severity"], string>> = {
  error: "Must be fixed first",
  warning: "Should be fixed",
  info: "Good to know",
};

export function inspectionHtml(inspection: Inspection, options: InspectionHtmlOptions): string {
  const title = upgradeName(inspection);
  const { sentence, mustFix } = verdictOf(inspection);
  const sections = [findingsSection(inspection, options), ...inspectionSections(inspection)].filter(
    ({ markup }) => markup !== "",
  );
  return [
    `<!doctype html><html lang="en"><head><meta charset="utf-8">`,
    `<meta http-equiv="Content-Security-Policy" content="${policy()}">`,
    `<meta name="viewport" content="width=device-width, initial-scale=1"><title>${shown(title)}</title>`,
    // An empty icon, because browsers would otherwise request a favicon.
    `<link rel="icon" href="data:,"><style>${STYLE}</style></head><body><main>`,
    `<h1>${shown(title)}</h1>`,
    `<p class="verdict ${mustFix > 0 ? "fail" : "pass"}">${shown(sentence)}</p>`,
    facts(inspection),
    limits(inspection),
    `<nav aria-label="Sections"><ul>${sections.map(({ id, title: name }) => `<li><a href="#${id}">${escapeHtml(name)}</a></li>`).join("")}</ul></nav>`,
    ...sections.map(({ id, title: name, markup }) => `<h2 id="${id}">${escapeHtml(name)}</h2>${markup}`),
    `<footer>${shown(options.writtenBy)}</footer></main></body></html>\n`,
  ].join("\n");
}

/** Allows the style of the page by its hash, and nothing else. */
function policy(): string {
  const hash = createHash("sha256").update(STYLE).digest("base64");
  return `default-src 'none'; style-src 'sha256-${hash}'; img-src data:; base-uri 'none'; form-action 'none'`;
}

function shown(text: string): string {
  return escapeHtml(printable(text));
}

function facts({ read, from, hops, namespaces }: Inspection): string {
  const release = from.release ?? (from.atLeast === undefined ? "unknown" : `unknown, at least ${from.atLeast}`);
  const path = [...(from.release === undefined ? [] : [from.release]), ...hops].join(" → ");
  const stored =
    read.notKnown === undefined
      ? ` in ${quantity(read.keys, "key")}, ${bytesText(read.bytes)}, revision ${read.revision}`
      : "";
  const rows: readonly (readonly [string, string])[] = [
    ["Source", read.source],
    ["Data", `${quantity(read.objects, "object")}${stored}, ${quantity(namespaces.namespaces, "namespace")}`],
    ...(read.newestTime === undefined ? [] : [["Newest time", read.newestTime] as const]),
    ["Release", [release, ...from.evidence].join("; ")],
    ["Path", path],
    ["Runtime config", from.runtimeConfig.join(", ")],
    ["Feature gates", from.featureGates.join(", ")],
    ["Emulated version", from.emulatedVersion ?? ""],
    ...read.warnings.map((warning) => ["Note", warning] as const),
  ];
  const items = rows
    .filter(([, value]) => value !== "")
    .map(([name, value]) => `<dt>${name}</dt><dd>${shown(value)}</dd>`);
  return `<dl class="facts">${items.join("")}</dl>`;
}

function limits({ read: { notKnown } }: Inspection): string {
  if (notKnown === undefined) return "";
  const items = notKnown.map((item) => `<li>${shown(item)}</li>`).join("");
  return `<div class="limits"><p>This is a limited report, because the API does not show how objects are stored. Not known:</p><ul>${items}</ul></div>`;
}

function findingsSection({ findings }: Inspection, { ignored }: InspectionHtmlOptions): PageSection {
  const groups = SEVERITIES.flatMap((severity) => findings.filter((finding) => finding.severity === severity));
  const note = ignored.length === 0 ? "" : `<p>Ignored: ${shown(ignored.join(", "))}</p>`;
  const markup = groups.length === 0 ? "<p>None.</p>" : groups.map(article).join("");
  return { id: "findings", title: `Findings (${countText(findings.length)})`, markup: markup + note };
}

function article(finding: UpgradeFinding): string {
  const { id, severity, title, why, release } = finding;
  const about = [
    `<span class="severity">${SEVERITY_NAMES[severity]}</span>`,
    `<code>${shown(id)}</code>`,
    ...(release === undefined ? [] : [`from ${shown(release)}`]),
  ];
  return [
    `<article class="${severity}" data-finding="${shown(id)}"><h3>${shown(title)}</h3>`,
    `<p class="about">${about.join(" · ")}</p><p>${shown(why)}</p>`,
    subjects(finding),
    steps(finding),
    "</article>",
  ].join("");
}

function steps({ fix }: UpgradeFinding): string {
  const items = fix.map((step) =>
    step.startsWith(COMMAND) ? `<pre><code>${shown(step.slice(COMMAND.length))}</code></pre>` : `<p>${shown(step)}</p>`,
  );
  return items.join("");
}

function subjects({ subjects: all, count }: UpgradeFinding): string {
  if (all.length === 0) return "";
  const [first, rest] = [all.slice(0, NAMES_SHOWN), all.slice(NAMES_SHOWN)];
  const hidden = count - all.length;
  const unlisted = hidden > 0 ? `<p>and ${countText(hidden)} more that are not listed</p>` : "";
  if (rest.length === 0) return list(first) + unlisted;
  return `${list(first)}<details><summary>${countText(count - first.length)} more</summary>${list(rest)}${unlisted}</details>`;
}

function list(items: readonly FindingSubject[]): string {
  const shownItems = items.map(
    ({ name, detail }) =>
      `<li>${shown(name)}${detail === undefined ? "" : ` <span class="detail">${shown(detail)}</span>`}</li>`,
  );
  return `<ul>${shownItems.join("")}</ul>`;
}
