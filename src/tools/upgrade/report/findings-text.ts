/**
 * Renders findings for a terminal, so that `inspect` and `check` look alike: each finding with its subjects, its reason
 * and its fix, the most severe first. The command itself prints its verdict above.
 */
import { printable } from "../../../base/printable.ts";
import type { UpgradeFinding, Severity, FindingSubject } from "../finding.ts";
import { bySeverity, SEVERITIES } from "./failing.ts";

interface FindingsTextOptions {
  /** Columns of the terminal. Names and commands are never broken, so that users can copy them. */
  readonly width?: number;
  /** Subjects to list for each finding. */
  readonly namesMax?: number;
  readonly color?: boolean;
}

const WIDTH_MIN = 48;
const WIDTH_MAX = 120;
const NAMES_MAX = 5;
const GUTTER = "         ";
const COMMAND = "$ ";

const COLORS: Readonly<Record<Severity, string>> = { error: "31;1", warning: "33;1", info: "36" };

/** Returns "" if there are no findings. */
export function findingsText(findings: readonly UpgradeFinding[], options: FindingsTextOptions = {}): string {
  return bySeverity(findings)
    .map((finding) => findingText(finding, options))
    .join("\n");
}

/** For a verdict, for example "2 errors, 1 warning"; "no findings" if there are none. */
export function severityCounts(findings: readonly UpgradeFinding[]): string {
  const counts = SEVERITIES.map((severity) => [severity, findings.filter((one) => one.severity === severity).length]);
  const named = counts.flatMap(([severity, count]) =>
    count === 0 ? [] : [`${count} ${severity}${count === 1 || severity === "info" ? "" : "s"}`],
  );
  return named.length === 0 ? "no findings" : named.join(", ");
}

function findingText(
  finding: UpgradeFinding,
  { width = 80, namesMax = NAMES_MAX, color = false }: FindingsTextOptions,
): string {
  const { severity, id, title, why, fix, subjects, count } = finding;
  const room = Math.min(WIDTH_MAX, Math.max(WIDTH_MIN, width)) - GUTTER.length;
  const paragraph = (label: string, text: string): string => labelled(label, wrapped(printable(text), room));
  const named = subjects.slice(0, namesMax);
  const hidden = count - named.length;
  const label = color ? `\u001b[${COLORS[severity]}m${severity}\u001b[0m${GUTTER.slice(severity.length)}` : severity;
  return [
    paragraph(label, `${title} [${id}]`),
    ...named.map((subject) => `${GUTTER}- ${subjectText(subject)}\n`),
    hidden > 0 ? `${GUTTER}${named.length === 0 ? "" : "and "}${hidden} more\n` : "",
    paragraph("  why", why),
    ...fix.map((step, index) => {
      const stepLabel = index === 0 ? "  fix" : "";
      return step.startsWith(COMMAND) ? labelled(stepLabel, [printable(step)]) : paragraph(stepLabel, step);
    }),
  ].join("");
}

function subjectText({ name, detail }: FindingSubject): string {
  return printable(detail === undefined ? name : `${name} (${detail})`);
}

function labelled(label: string, lines: readonly string[]): string {
  return lines.map((line, index) => `${(index === 0 ? label : "").padEnd(GUTTER.length)}${line}\n`).join("");
}

/** Breaks the text at spaces. A word that is wider than the room has a line of its own. */
function wrapped(text: string, room: number): readonly string[] {
  const lines: string[] = [];
  let line = "";
  for (const word of text.split(" ")) {
    if (line !== "" && line.length + 1 + word.length > room) {
      lines.push(line);
      line = word;
    } else line = line === "" ? word : `${line} ${word}`;
  }
  return [...lines, line];
}
