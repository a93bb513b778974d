/** The first line of a report of an inspection: whether the upgrade may begin. */
import type { UpgradeFinding } from "../finding.ts";
import type { Inspection } from "../inspect/inspection.ts";
import { quantity } from "./quantities.ts";

interface Verdict {
  readonly mustFix: number;
  readonly shouldFix: number;
  /** For example "Upgrade 1.33 → 1.36: 2 problems must be fixed first". */
  readonly sentence: string;
}

export function verdictOf(inspection: Inspection): Verdict {
  const { findings } = inspection;
  const [mustFix, shouldFix] = [countOf(findings, "error"), countOf(findings, "warning")];
  return { mustFix, shouldFix, sentence: `${upgradeName(inspection)}: ${judgment(inspection, mustFix, shouldFix)}` };
}

/** For example "Upgrade 1.33 → 1.36". */
export function upgradeName({ from, hops }: Inspection): string {
  const target = hops.at(-1);
  if (target === undefined) return from.release === undefined ? "Inspection" : `Kubernetes ${from.release}`;
  return from.release === undefined ? `Upgrade to ${target}` : `Upgrade ${from.release} → ${target}`;
}

function judgment({ read }: Inspection, mustFix: number, shouldFix: number): string {
  const should = shouldFix === 0 ? "" : `${quantity(shouldFix, "problem")} should be fixed`;
  if (mustFix > 0) return `${quantity(mustFix, "problem")} must be fixed first${should && `, ${should}`}`;
  const nothing =
    read.notKnown === undefined ? "nothing must be fixed first" : "the API shows nothing that must be fixed first";
  return `${nothing}${should && `, ${should}`}`;
}

function countOf(findings: readonly UpgradeFinding[], severity: UpgradeFinding["severity"]): number {
  return findings.filter((finding) => finding.severity === severity).length;
}
