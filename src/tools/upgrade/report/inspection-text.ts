/**
 * Renders an inspection for a terminal: the verdict first, then what was read, the findings by severity, what is stored
 * and what is big. It is short enough for a screen or two; the JSON and the page have everything. All text of the
 * cluster is made printable, because a name could otherwise control the terminal.
 */
import { alignColumns } from "../../../base/columns.ts";
import { printable } from "../../../base/printable.ts";
import type { UpgradeFinding } from "../finding.ts";
import type { EncodingTally, Inspection, ResourceTally } from "../inspect/inspection.ts";
import { findingsText } from "./findings-text.ts";
import { bytesText, quantity, countText } from "./quantities.ts";
import { encryptionKeyTitle, resourceTitle, versionsText } from "./tallies.ts";
import { verdictOf } from "./verdict.ts";

interface InspectionTextOptions {
  /** Columns of the terminal. */
  readonly width?: number;
  readonly color?: boolean;
  /** Whether to list the values that could not be read. */
  readonly listsUnreadable?: boolean;
  /** Whether to show the reason and the fix of every finding, also if there are many. */
  readonly isDetailed?: boolean;
  /** The number of findings that --ignore has removed. */
  readonly ignored?: number;
}

const NAMES_MAX = 3;
/** If there are more errors and warnings, only the errors are shown in full. */
const FULL_MAX = 3;
const SHORT_NAMES_MAX = 3;
const SEVERITY_WIDTH = 9;
const WARNING_COLOR = "33;1";
const RESOURCES_SHOWN = 8;
const LARGEST_SHOWN = 5;
const MANAGERS_SHOWN = 5;

const VERDICT_COLORS = { fail: "31;1", pass: "32;1" } as const;

export function inspectionText(inspection: Inspection, options: InspectionTextOptions = {}): string {
  const sections = [
    verdictLine(inspection, options),
    facts(inspection),
    limits(inspection),
    findings(inspection, options),
    section("Stored", resourceRows(inspection)),
    section("Largest objects", largestRows(inspection)),
    section("Largest field managers", managerRows(inspection)),
    section("Encryption keys", encryptionRows(inspection)),
    options.listsUnreadable === true ? unreadableList(inspection) : "",
  ];
  return sections.filter((text) => text !== "").join("\n");
}

function verdictLine(inspection: Inspection, { color = false }: InspectionTextOptions): string {
  const { sentence, mustFix } = verdictOf(inspection);
  const shown = printable(sentence);
  return color ? `\u001b[${VERDICT_COLORS[mustFix > 0 ? "fail" : "pass"]}m${shown}\u001b[0m\n` : `${shown}\n`;
}

function facts({ read, from, hops, namespaces }: Inspection): string {
  const age = read.newestTime === undefined ? "" : `, newest time ${read.newestTime}`;
  const revision = read.notKnown === undefined ? `, revision ${read.revision}` : "";
  const stored = read.notKnown === undefined ? ` in ${quantity(read.keys, "key")}, ${bytesText(read.bytes)}` : "";
  const objects = `${quantity(read.objects, "object")}${stored}, ${quantity(namespaces.namespaces, "namespace")}`;
  const [evidence] = from.evidence;
  const because = evidence === undefined ? "" : ` (${evidence})`;
  const release = from.release ?? (from.atLeast === undefined ? "unknown" : `unknown, at least ${from.atLeast}`);
  const path = [...(from.release === undefined ? [] : [from.release]), ...hops].join(" → ");
  const rows = [
    ["Source", `${read.source}${revision}${age}`],
    ["Data", objects],
    ["Release", `${release}${because}`],
    ...(hops.length > 1 ? [["Path", path]] : []),
    ...read.warnings.map((warning) => ["Note", warning]),
  ];
  return alignColumns(rows.map((row) => row.map(printable)));
}

function limits({ read: { notKnown } }: Inspection): string {
  if (notKnown === undefined) return "";
  const list = notKnown.map((item) => `- ${printable(item)}\n`).join("");
  return `This is a limited report, because the API does not show how objects are stored. Not known:\n${list}`;
}

/** Errors in full, and the others as short as the screen needs. */
function findings(inspection: Inspection, options: InspectionTextOptions): string {
  const { width, color, ignored = 0, isDetailed = false } = options;
  const isShort = shortenedBy(inspection.findings, isDetailed);
  const full = inspection.findings.filter((finding) => !isShort(finding));
  const short = inspection.findings.filter(isShort);
  const details = findingsText(full, {
    namesMax: NAMES_MAX,
    ...(width !== undefined && { width }),
    ...(color !== undefined && { color }),
  });
  const hint = short.length === 0 ? "" : "Reasons and fixes of these findings: --details, --html FILE or -o json\n";
  const hidden = ignored === 0 ? "" : `${quantity(ignored, "finding")} ignored by --ignore\n`;
  return [details, short.map((finding) => shortText(finding, options)).join("") + hint, hidden]
    .filter((text) => text !== "")
    .join("\n");
}

function shortenedBy(all: readonly UpgradeFinding[], isDetailed: boolean): (finding: UpgradeFinding) => boolean {
  if (isDetailed) return () => false;
  const toFix = all.filter(({ severity }) => severity !== "info").length;
  return ({ severity }) => severity === "info" || (severity === "warning" && toFix > FULL_MAX);
}

/** A warning also has a line with its first subjects. */
function shortText(
  { severity, title, id, subjects, count }: UpgradeFinding,
  { color = false }: InspectionTextOptions,
): string {
  const label = severity.padEnd(SEVERITY_WIDTH);
  const colored = color && severity === "warning" ? `\u001b[${WARNING_COLOR}m${label}\u001b[0m` : label;
  const first = `${colored}${printable(`${title} [${id}]`)}\n`;
  if (severity === "info" || subjects.length === 0) return first;
  const names = [...new Set(subjects.slice(0, SHORT_NAMES_MAX).map(({ name }) => name))];
  const hidden = count - Math.min(subjects.length, SHORT_NAMES_MAX);
  const more = hidden > 0 ? ` and ${countText(hidden)} more` : "";
  return `${first}${"".padEnd(SEVERITY_WIDTH)}- ${printable(names.join(", "))}${more}\n`;
}

function resourceRows({ resources, read }: Inspection): string[][] {
  if (resources.length === 0) return [];
  if (read.notKnown !== undefined)
    return withRest(resources, RESOURCES_SHOWN, (one) => [resourceTitle(one), countText(one.objects)], [
      "RESOURCE",
      "OBJECTS",
    ]);
  return withRest(
    resources,
    RESOURCES_SHOWN,
    (one) => [
      resourceTitle(one),
      countText(one.objects),
      bytesText(one.bytes),
      encodingsText(one.encodings),
      versionsText(one),
    ],
    ["RESOURCE", "OBJECTS", "SIZE", "ENCODING", "VERSIONS"],
  );
}

function encodingsText(encodings: EncodingTally): string {
  const used = (["protobuf", "json", "encrypted"] as const).filter((encoding) => encodings[encoding] > 0);
  if (used.length === 1) return used.join("");
  return used.map((encoding) => `${encoding} ${countText(encodings[encoding])}`).join(", ");
}

function largestRows({ largestObjects }: Inspection): string[][] {
  return largestObjects.slice(0, LARGEST_SHOWN).map(({ name, bytes }) => [name, bytesText(bytes)]);
}

function managerRows({ managers }: Inspection): string[][] {
  return managers
    .slice(0, MANAGERS_SHOWN)
    .map(({ manager, objects, bytes }) => [
      manager,
      quantity(objects, "object"),
      ...(bytes > 0 ? [bytesText(bytes)] : []),
    ]);
}

function encryptionRows({ encryption }: Inspection): string[][] {
  return encryption.keys.map((key) => [
    encryptionKeyTitle(key),
    quantity(key.values, "value"),
    key.isWriter ? `${key.status}, encrypts new values` : key.status,
    key.resources.join(", "),
  ]);
}

function unreadableList({ unreadable: { count, values } }: Inspection): string {
  if (count === 0) return "Unreadable values\n  none\n";
  const rows = values.map(({ key, reason }) => [key, reason]);
  const hidden = count - values.length;
  return section("Unreadable values", hidden > 0 ? [...rows, [`and ${countText(hidden)} more`]] : rows);
}

function withRest(
  resources: readonly ResourceTally[],
  shownMax: number,
  row: (one: ResourceTally) => string[],
  head: string[],
): string[][] {
  const rest = resources.slice(shownMax);
  const restObjects = rest.reduce((sum, { objects }) => sum + objects, 0);
  const more = rest.length === 0 ? [] : [[`and ${quantity(rest.length, "more resource")}`, countText(restObjects)]];
  return [head, ...resources.slice(0, shownMax).map(row), ...more];
}

function section(title: string, rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return "";
  const lines = alignColumns(rows.map((row) => row.map(printable)))
    .replaceAll(/^/gm, "  ")
    .replace(/ +$/, "");
  return `${title}\n${lines}`;
}
