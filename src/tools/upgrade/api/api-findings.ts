/** Findings from what only the API shows. */
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import { SUBJECTS_MAX, type UpgradeFinding, type FindingSubject } from "../finding.ts";
import { quantity } from "../report/quantities.ts";
import type { ApiFacts } from "./api-facts.ts";
import type { DeprecatedRequest } from "./deprecated-requests.ts";

export function apiFindings(facts: ApiFacts, hops: readonly ReleaseName[]): readonly UpgradeFinding[] {
  return [
    ...deprecated(facts, hops),
    ...ifAny(facts.versions.length > 1 ? facts.versions.map((name) => ({ name })) : [], (subjects) => ({
      id: "api-servers-differ",
      severity: "warning",
      title: `The API servers have ${quantity(subjects.length, "version")}`,
      why: "An upgrade is under way, or has stopped halfway. Another upgrade now could let three releases run at the same time.",
      fix: ["Complete or revert the upgrade that is under way first."],
    })),
    ...ifAny(facts.migrations, (subjects) => ({
      id: "storage-migration-incomplete",
      severity: "warning",
      title: `${quantity(subjects.length, "StorageVersionMigration")} did not succeed`,
      why: "Objects may still be stored in versions that a newer release cannot decode.",
      fix: ["$ kubectl get storageversionmigrations -o yaml", "Resolve the reported conditions, and migrate again."],
    })),
    ...ifAny(facts.terminating, (subjects) => ({
      id: "namespace-conditions",
      severity: "info",
      title: `${quantity(subjects.length, "namespace")} being deleted, with the conditions that the servers report`,
      why: "The conditions name the objects or APIs that block the deletion.",
      fix: [],
    })),
  ];
}

function deprecated({ deprecated: requests = [] }: ApiFacts, hops: readonly ReleaseName[]): readonly UpgradeFinding[] {
  const last = Math.max(0, ...hops.map(minorOf));
  const isRemoved = ({ removedRelease }: DeprecatedRequest): boolean =>
    removedRelease !== "" && minorOf(removedRelease) <= last;
  const rules = [
    { id: "removed-api-requested", severity: "error", of: requests.filter(isRemoved) },
    { id: "deprecated-api-requested", severity: "info", of: requests.filter((one) => !isRemoved(one)) },
  ] as const;
  return rules.flatMap(({ id, severity, of }) =>
    ifAny(of.map(subjectOf), (subjects) => ({
      id,
      severity,
      title: `Clients have requested ${quantity(subjects.length, "deprecated API")}${severity === "error" ? " that the upgrade removes" : ""}`,
      why: "After the removal, the API servers return 404 to these clients. The metrics cover one API server since its start.",
      fix: ["Find the clients in the audit log, by the annotation k8s.io/deprecated, and update them."],
    })),
  );
}

function subjectOf({ group, version, resource, subresource, removedRelease }: DeprecatedRequest): FindingSubject {
  const groupVersion = group === "" ? version : `${group}/${version}`;
  const path = subresource === "" ? resource : `${resource}/${subresource}`;
  return {
    name: `${groupVersion} ${path}`,
    ...(removedRelease !== "" && { detail: `removed in ${removedRelease}` }),
  };
}

function ifAny(
  subjects: readonly FindingSubject[],
  finding: (subjects: readonly FindingSubject[]) => Omit<UpgradeFinding, "count" | "subjects">,
): UpgradeFinding[] {
  if (subjects.length === 0) return [];
  return [{ ...finding(subjects), count: subjects.length, subjects: subjects.slice(0, SUBJECTS_MAX) }];
}

function minorOf(release: string): number {
  return Number(release.split(".")[1] ?? 0);
}
