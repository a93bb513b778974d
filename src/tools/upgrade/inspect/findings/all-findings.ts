/** All rules, and the order in which their findings are reported. */
import { RELEASES } from "../../../../objects/catalog/release.ts";
import type { UpgradeFinding, Severity } from "../../finding.ts";
import type { Facts } from "../facts.ts";
import { clientFindings } from "./client-findings.ts";
import { clusterFindings } from "./cluster-findings.ts";
import { customFindings } from "./custom-findings.ts";
import { valueFindings } from "./value-findings.ts";
import { rollbackFindings, versionFindings } from "./version-findings.ts";

/** Some rules have a finding for each resource or client, which hostile data can multiply. */
const FINDINGS_MAX = 1_000;

const SEVERITIES: readonly Severity[] = ["error", "warning", "info"];

interface RankedFindings {
  readonly findings: readonly UpgradeFinding[];
  /** Number of findings that did not fit; the least important are left out. */
  readonly dropped: number;
}

export function allFindings(facts: Facts): RankedFindings {
  const findings = [
    ...versionFindings(facts),
    ...rollbackFindings(facts),
    ...clientFindings(facts),
    ...customFindings(facts),
    ...valueFindings(facts),
    ...clusterFindings(facts),
  ].toSorted(byImportance);
  return { findings: findings.slice(0, FINDINGS_MAX), dropped: Math.max(0, findings.length - FINDINGS_MAX) };
}

function byImportance(left: UpgradeFinding, right: UpgradeFinding): number {
  return (
    SEVERITIES.indexOf(left.severity) - SEVERITIES.indexOf(right.severity) ||
    rankOf(left) - rankOf(right) ||
    compare(left.id, right.id) ||
    compare(left.title, right.title)
  );
}

/** Findings that do not depend on a release come first, because they are problems already now. */
function rankOf({ release }: UpgradeFinding): number {
  return RELEASES.findIndex((name) => name === release);
}

function compare(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}
