/**
 * Creates warnings about existing pods that violate the new enforce level of a namespace, when an update makes the
 * level stricter or changes its version.
 */
import { goQuote } from "../../../../meta/go-quote.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { reasonsText, violations } from "./evaluate.ts";
import { formatLevelVersion, type LevelVersion } from "./policy.ts";

const PODS_CHECKED_MAX = 3000;

export function namespaceWarnings(
  namespace: string,
  enforce: LevelVersion,
  pods: readonly JsonObject[],
  serverMinor: number,
): string[] {
  const checked = onePerOwnerFirst(pods).slice(0, PODS_CHECKED_MAX);
  const known = new Map<string, { name: string; count: number }>();
  for (const pod of checked) {
    const like = { metadata: objectAt(pod, "metadata"), spec: objectAt(pod, "spec") };
    const reasons = reasonsText(violations(like, enforce, serverMinor));
    if (reasons === "") continue;
    const name = stringAt(like.metadata, "name");
    const same = known.get(reasons);
    if (same === undefined) known.set(reasons, { name, count: 1 });
    else known.set(reasons, { name: name < same.name ? name : same.name, count: same.count + 1 });
  }
  const level = goQuote(formatLevelVersion(enforce));
  return [
    ...(checked.length < pods.length
      ? [
          `new PodSecurity enforce level only checked against the first ${checked.length} of ${pods.length} existing pods`,
        ]
      : []),
    ...(known.size > 0
      ? [`existing pods in namespace ${goQuote(namespace)} violate the new PodSecurity enforce level ${level}`]
      : []),
    ...[...known].map(([reasons, { name, count }]) => `${name}${others(count - 1)}: ${reasons}`).sort(),
  ];
}

function others(count: number): string {
  if (count === 0) return "";
  return count === 1 ? " (and 1 other pod)" : ` (and ${count} other pods)`;
}

/**
 * Sorts one pod of each controller to the front, because the pods of one controller are alike and only the first pods
 * are checked.
 */
function onePerOwnerFirst(pods: readonly JsonObject[]): JsonObject[] {
  const owners = new Set<string>();
  const first: JsonObject[] = [];
  const alike: JsonObject[] = [];
  for (const pod of pods) {
    const owner = objectsAt(objectAt(pod, "metadata"), "ownerReferences").find((one) => one["controller"] === true);
    const uid = owner === undefined ? undefined : stringAt(owner, "uid");
    if (uid !== undefined && owners.has(uid)) alike.push(pod);
    else first.push(pod);
    if (uid !== undefined) owners.add(uid);
  }
  return [...first, ...alike];
}
