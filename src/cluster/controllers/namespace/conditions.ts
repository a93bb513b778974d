/** The conditions of a namespace that is being deleted, in Kubernetes' wording. */
import { someOf } from "../../../base/some-of.ts";
import { formatGroupResource } from "../../../meta/group-version.ts";
import type { Doubt } from "../cluster-resources.ts";
import type { Content } from "./delete-content.ts";
import type { NamespaceCondition } from "./objects.ts";

export interface NamespaceFindings {
  /** False if the live servers are currently unknown. */
  readonly isViewCurrent: boolean;
  /** Only the doubts about resources that are, or may be, namespaced. */
  readonly doubts: readonly Doubt[];
  readonly content: Content;
  /** Describes the objects that were purged although no server served them; undefined if none were purged. */
  readonly purged: string | undefined;
}

interface Said {
  readonly reason: string;
  readonly message: string;
}

/**
 * As kubernetes pkg/controller/namespace/deletion: the condition types in this order, and their messages if there are
 * no problems.
 */
const ALL_IS_WELL = {
  NamespaceDeletionDiscoveryFailure: ["ResourcesDiscovered", "All resources successfully discovered"],
  NamespaceDeletionGroupVersionParsingFailure: ["ParsedGroupVersions", "All legacy kube types successfully parsed"],
  NamespaceDeletionContentFailure: [
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  NamespaceContentRemaining: ["ContentRemoved", "All content successfully removed"],
  NamespaceFinalizersRemaining: ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
} as const;

type ConditionType = keyof typeof ALL_IS_WELL;

const LISTED_MAX = 20;

/** Returns the same array if no condition has changed. */
export function withNamespaceConditions(
  conditions: readonly NamespaceCondition[],
  findings: NamespaceFindings,
  now: string,
): readonly NamespaceCondition[] {
  const wrong = whatIsWrong(findings);
  let next = conditions;
  for (const [type, [reason, message]] of Object.entries(ALL_IS_WELL)) {
    const said = wrong[type as ConditionType];
    const well = { reason, message: type === "NamespaceContentRemaining" ? removed(message, findings) : message };
    const status = said === undefined ? "False" : "True";
    next = withCondition(next, { type, status, lastTransitionTime: now, ...(said ?? well) });
  }
  return next;
}

function withCondition(
  conditions: readonly NamespaceCondition[],
  wanted: NamespaceCondition,
): readonly NamespaceCondition[] {
  const before = conditions.find(({ type }) => type === wanted.type);
  if (before === undefined) return [...conditions, wanted];
  const isSame = before.status === wanted.status;
  if (isSame && before.reason === wanted.reason && before.message === wanted.message) return conditions;
  const { lastTransitionTime = wanted.lastTransitionTime } = isSame ? before : wanted;
  const changed = { ...wanted, ...(lastTransitionTime === undefined ? {} : { lastTransitionTime }) };
  return conditions.map((condition) => (condition === before ? changed : condition));
}

function whatIsWrong(findings: NamespaceFindings): Partial<Record<ConditionType, Said | undefined>> {
  const { remaining, finalizers, failures } = findings.content;
  const kept = remaining.map(({ group, resource, count }) => `${resource}.${group} has ${count} resource instances`);
  const holding = [...finalizers].map(([finalizer, count]) => `${finalizer} in ${count} resource instances`);
  return {
    NamespaceDeletionDiscoveryFailure: discoveryFailure(findings),
    NamespaceDeletionContentFailure: sayAll(failures, (text, count) => ({
      reason: "ContentDeletionFailed",
      message: `Failed to delete all resource types, ${count} remaining: ${text}`,
    })),
    NamespaceContentRemaining: sayAll(kept, (text) => ({
      reason: "SomeResourcesRemain",
      message: `Some resources are remaining: ${text}`,
    })),
    NamespaceFinalizersRemaining: sayAll(holding, (text) => ({
      reason: "SomeFinalizersRemain",
      message: `Some content in the namespace has finalizers remaining: ${text}`,
    })),
  };
}

/** Sorts the items, so that equal findings give an equal message and the status is not written again. */
function sayAll(items: readonly string[], say: (text: string, count: number) => Said): Said | undefined {
  if (items.length === 0) return undefined;
  return say(someOf(items.toSorted(), LISTED_MAX), items.length);
}

/** Names the groups and resources in doubt, the servers and the reasons. */
function discoveryFailure({ isViewCurrent, doubts }: NamespaceFindings): Said | undefined {
  const unseen = isViewCurrent ? [] : ["any group: the live servers are currently unknown"];
  const reported = [...unseen, ...Map.groupBy(doubts, blame).entries().map(describeDoubts)];
  const groups = new Set(doubts.map(({ group }) => group));
  const count = groups.size + (isViewCurrent || groups.has(undefined) ? 0 : 1);
  return sayAll(reported, (text) => ({
    reason: "DiscoveryFailed",
    message: `Discovery failed for some groups, ${count} failing: unable to retrieve the complete list of server APIs: ${text}`,
  }));
}

function blame({ server, because }: Doubt): string {
  return `${server} ${because}`;
}

function describeDoubts([why, doubts]: readonly [string, readonly Doubt[]]): string {
  const names = [...new Set(doubts.map(doubtful))].sort();
  return `${someOf(names, LISTED_MAX)}: ${why}`;
}

function doubtful({ group, resource }: Doubt): string {
  if (group === undefined) return "any group";
  if (resource !== undefined) return formatGroupResource({ group, resource });
  return group === "" ? "the core group" : group;
}

function removed(message: string, { purged }: NamespaceFindings): string {
  return purged === undefined ? message : `${message}; purged at ${purged}`;
}
