import type { AttemptContext } from "./attempt-context.ts";
import type { GraphNode } from "./graph.ts";
import { UNSEEN_OWNER_MS } from "./collector-limits.ts";
import type { OwnerState } from "./owner-lookup.ts";
import { wait, type Wait } from "./wait.ts";

/**
 * Looks up an owner that no watch has shown. Its dependents may reference it by different kinds, names or namespaces,
 * so each of these references is looked up, and the dependents whose reference finds no owner are enqueued.
 */
export async function verifyOwner(
  { graph, owners, enqueue }: AttemptContext,
  node: GraphNode,
  signal: AbortSignal,
): Promise<Wait | undefined> {
  const found = new Map<string, OwnerState>();
  for (const dependent of [...node.dependents]) {
    const { namespace: dependentNamespace } = dependent;
    for (const { owner, group, kind, name } of dependent.owners) {
      if (owner !== node) continue;
      const key = [group, kind, name, dependentNamespace].join("\n");
      const place = { uid: node.uid, group, kind, name, dependentNamespace };
      const state = found.get(key) ?? (await owners.find(place, signal));
      found.set(key, state);
      if (state.kind === "absent") enqueue(dependent.uid);
    }
  }
  const states = [...found.values()];
  if (states.some(({ kind }) => kind === "present"))
    return wait("unseen-owner", UNSEEN_OWNER_MS, "no watch has shown the owner yet");
  if (states.every(({ kind }) => kind === "absent")) graph.settleAbsence(node.uid, "absent");
  return states.find((state) => state.kind === "wait");
}
