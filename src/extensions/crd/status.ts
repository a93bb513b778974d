/** Computes the status of a CRD: its accepted names and conditions. Pure. */
import { aggregateText } from "../../meta/aggregate-text.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { Crd, CrdNames } from "./crd.ts";

export interface CrdCondition {
  readonly type: string;
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

/** Names that other CRDs of the group already have. */
interface TakenNames {
  readonly resources: ReadonlySet<string>;
  readonly kinds: ReadonlySet<string>;
}

export function takenNames(group: string, crds: readonly Crd[]): TakenNames {
  const accepted = crds.filter((crd) => crd.group === group).map(({ acceptedNames }) => acceptedNames);
  return {
    resources: new Set(accepted.flatMap(({ plural, singular, shortNames }) => [plural, singular, ...shortNames])),
    kinds: new Set(accepted.flatMap(({ kind, listKind }) => [kind, listKind])),
  };
}

/**
 * Returns the status with the accepted names and the conditions NamesAccepted, Established and, in protected groups,
 * KubernetesAPIApprovalPolicyConformant; undefined if the object already has it.
 */
export function decidedStatus(
  object: JsonObject,
  { definition, taken, now }: { definition: Crd; taken: TakenNames; now: string },
): JsonObject | undefined {
  const status = objectAt(object, "status");
  const { acceptedNames, condition } = acceptNames(definition, taken);
  const named = withCrdConditions({ ...status, acceptedNames: shownNames(acceptedNames) }, [condition], now);
  const established = isAccepted(condition) || definition.isEstablished ? ESTABLISHED : NOT_ACCEPTED;
  const decided = withCrdConditions(named, [established, ...approvalConditions(object, definition.group)], now);
  return jsonEquals(decided, status) ? undefined : decided;
}

const ESTABLISHED: CrdCondition = {
  type: "Established",
  status: "True",
  reason: "InitialNamesAccepted",
  message: "the initial names have been accepted",
};
const NOT_ACCEPTED: CrdCondition = {
  type: "Established",
  status: "False",
  reason: "NotAccepted",
  message: "not all names are accepted",
};

function isAccepted({ status }: CrdCondition): boolean {
  return status === "True";
}

/**
 * A name is accepted if this CRD already has it, or if no other CRD of the group has it. Short names are accepted only
 * all together.
 */
function acceptNames(
  { names, acceptedNames }: Crd,
  taken: TakenNames,
): { readonly acceptedNames: CrdNames; readonly condition: CrdCondition } {
  const conflicts: { readonly reason: string; readonly message: string }[] = [];
  const accept = (key: "plural" | "singular" | "kind" | "listKind", reason: string): string => {
    const used = key === "plural" || key === "singular" ? taken.resources : taken.kinds;
    if (names[key] === acceptedNames[key] || !used.has(names[key])) return names[key];
    conflicts.push({ reason, message: inUse(names[key]) });
    return acceptedNames[key];
  };
  const plural = accept("plural", "PluralConflict");
  const singular = accept("singular", "SingularConflict");
  const rejected = names.shortNames.filter(
    (name) => !acceptedNames.shortNames.includes(name) && taken.resources.has(name),
  );
  if (rejected.length > 0)
    conflicts.push({ reason: "ShortNamesConflict", message: aggregateText(rejected.map(inUse)) });
  const kind = accept("kind", "KindConflict");
  const listKind = accept("listKind", "ListKindConflict");
  const shortNames = rejected.length > 0 ? acceptedNames.shortNames : names.shortNames;
  const last = conflicts.at(-1);
  return {
    acceptedNames: { plural, singular, kind, listKind, shortNames, categories: names.categories },
    condition:
      last === undefined
        ? { type: "NamesAccepted", status: "True", reason: "NoConflicts", message: "no conflicts found" }
        : { type: "NamesAccepted", status: "False", ...last },
  };
}

function inUse(name: string): string {
  return `${JSON.stringify(name)} is already in use`;
}

function shownNames({ shortNames, categories, singular, listKind, ...names }: CrdNames): JsonObject {
  return {
    ...names,
    ...(singular === "" ? {} : { singular }),
    ...(listKind === "" ? {} : { listKind }),
    ...(shortNames.length === 0 ? {} : { shortNames }),
    ...(categories.length === 0 ? {} : { categories }),
  };
}

const APPROVAL = "api-approved.kubernetes.io";
const SEE = "see https://github.com/kubernetes/enhancements/pull/1111";

/** Conditions about the approval annotation that CRDs in protected groups of the Kubernetes community need. */
function approvalConditions(object: JsonObject, group: string): CrdCondition[] {
  if (!/(^|\.)(k8s|kubernetes)\.io$/.test(group)) return [];
  const annotation = stringAt(objectAt(objectAt(object, "metadata"), "annotations"), APPROVAL);
  const type = "KubernetesAPIApprovalPolicyConformant";
  const quoted = JSON.stringify(APPROVAL);
  if (annotation === "") {
    const message = `protected groups must have approval annotation ${quoted}, ${SEE}`;
    return [{ type, status: "False", reason: "MissingAnnotation", message }];
  }
  if (annotation.startsWith("unapproved"))
    return [
      { type, status: "False", reason: "UnapprovedAnnotation", message: `not approved: ${JSON.stringify(annotation)}` },
    ];
  if (/^[a-z][a-z0-9+.-]*:\/\/[^/\s]+/i.test(annotation))
    return [{ type, status: "True", reason: "ApprovedAnnotation", message: `approved in ${annotation}` }];
  const message = `protected groups must have approval annotation ${quoted} with either a URL or a reason starting with "unapproved", ${SEE}`;
  return [{ type, status: "False", reason: "InvalidAnnotation", message }];
}

export function terminating(status: "True" | "False", reason: string, message: string): CrdCondition {
  return { type: "Terminating", status, reason, message };
}

/**
 * Returns the status with the conditions. Each one replaces the condition of the same type, or is appended.
 * lastTransitionTime changes only if the status of the condition changes.
 */
export function withCrdConditions(status: JsonObject, conditions: readonly CrdCondition[], now: string): JsonObject {
  const next = objectsAt(status, "conditions");
  for (const condition of conditions) {
    const at = next.findIndex(({ type }) => type === condition.type);
    const before = next[at];
    if (before === undefined)
      next.push({
        type: condition.type,
        status: condition.status,
        lastTransitionTime: now,
        reason: condition.reason,
        message: condition.message,
      });
    else
      next[at] = {
        ...before,
        ...condition,
        ...(before["status"] === condition.status ? {} : { lastTransitionTime: now }),
      };
  }
  return { ...status, conditions: next };
}
