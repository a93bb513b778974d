/**
 * Finds the prefixes under which API servers have stored objects, to name them in an error: with a wrong prefix an
 * inspection would find nothing, and a user could believe that nothing must be fixed.
 */
import type { StoredData, WalkRequest } from "../stored-data.ts";

const PREFIXES_MAX = 100;
const PREFIX_LENGTH_MAX = 200;
/** Every cluster has the namespace "default". Its key shows where the prefix ends. */
const OBJECT_OF_EVERY_CLUSTER = "/namespaces/default";

interface FoundPrefixes {
  /** Prefixes of API servers, such as "/registry". */
  readonly ofClusters: readonly string[];
  /** The first segments of all keys, those of most keys first. */
  readonly ofKeys: readonly string[];
}

export async function findPrefixes(data: StoredData, request: Omit<WalkRequest, "prefix">): Promise<FoundPrefixes> {
  const ofClusters = new Set<string>();
  const counts = new Map<string, number>();
  await data.walk({ ...request, prefix: "" }, ({ key }) => {
    if (key.endsWith(OBJECT_OF_EVERY_CLUSTER) && ofClusters.size < PREFIXES_MAX)
      ofClusters.add(key.slice(0, -OBJECT_OF_EVERY_CLUSTER.length));
    const slash = key.indexOf("/", 1);
    const first = key.slice(0, Math.min(slash < 0 ? key.length : slash, PREFIX_LENGTH_MAX));
    if (counts.has(first) || counts.size < PREFIXES_MAX) counts.set(first, (counts.get(first) ?? 0) + 1);
  });
  const byCount = [...counts].toSorted(([, left], [, right]) => right - left);
  return { ofClusters: [...ofClusters], ofKeys: byCount.map(([prefix]) => prefix) };
}
