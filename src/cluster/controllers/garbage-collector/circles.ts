import { blockingDependents, type GraphNode } from "./graph.ts";
import { CIRCLE_NODES_MAX } from "./collector-limits.ts";

/**
 * The uids of the owners with which this object forms a circle: they wait for its deletion, and it waits, directly or
 * indirectly, for theirs. Without help none of them would ever be deleted. The search examines at most CIRCLE_NODES_MAX
 * objects.
 */
export function ownersInCircle(node: GraphNode): ReadonlySet<string> {
  const suspects = new Set<GraphNode>();
  for (const { owner, blocks } of node.owners)
    if (blocks && owner !== node && owner.deletion === "foreground") suspects.add(owner);
  const found = new Set<string>();
  if (suspects.size === 0) return found;
  const seen = new Set<GraphNode>([node]);
  const next = [node];
  for (let at = next.pop(); at !== undefined && seen.size < CIRCLE_NODES_MAX; at = next.pop()) {
    for (const dependent of blockingDependents(at)) {
      if (dependent.deletion !== "foreground" || seen.has(dependent)) continue;
      seen.add(dependent);
      next.push(dependent);
      if (suspects.has(dependent)) found.add(dependent.uid);
    }
  }
  return found;
}
