/** Orphans the dependents of an owner that is deleted with the policy Orphan. */
import type { KubernetesObject } from "../../../client/objects.ts";
import { isSeen, placeOf, type AttemptContext, type SeenNode } from "./attempt-context.ts";
import { isOfForeignNamespace, type GraphNode } from "./graph.ts";
import { CONFLICT_RETRY_MS, DEPENDENTS_UNKNOWN_MS, ORPHANS_AT_ONCE } from "./collector-limits.ts";
import { toSeenObject, uidOfOwner } from "./seen-object.ts";
import { wait, type Wait } from "./wait.ts";

/**
 * Removes the owner references of all dependents to this owner. Resolves to undefined when no dependent references it.
 * It also lists the resources for dependents that no watch has shown yet: they would be collected when a watch shows
 * them later.
 *
 * DIFFERS: kubernetes relies on its watches, and may collect an object that was created shortly before its owner was
 * deleted.
 */
export async function orphanDependents(
  context: AttemptContext,
  owner: SeenNode,
  signal: AbortSignal,
): Promise<Wait | undefined> {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const awaited = await orphanKnown(context, owner, signal);
    if (awaited !== undefined) return awaited;
    // The lists are the last step before the owner is released, which must wait for the resources that cannot be read.
    // Lists before that time would have to be repeated.
    const unseen = context.unseen(owner.namespace);
    if (unseen !== undefined) return wait("dependents-unknown", DEPENDENTS_UNKNOWN_MS, unseen);
    const unknown = await findUnknown(context, owner, signal);
    if (unknown !== "some") return unknown === "none" ? undefined : unknown;
  }
  return wait("conflict", CONFLICT_RETRY_MS, "new dependents keep appearing");
}

const ROUNDS_MAX = 3;

/** Lists all resources that may have dependents, and adds the dependents to the graph. */
async function findUnknown(
  { graph, objects, followed }: AttemptContext,
  { uid, namespace }: SeenNode,
  signal: AbortSignal,
): Promise<"none" | "some" | Wait> {
  let found: "none" | "some" = "none";
  for (const resource of followed(namespace)) {
    const onObject = (object: KubernetesObject): void => {
      const seen = toSeenObject(object);
      if (seen === undefined || seen.uid === uid || !seen.owners.some((owner) => owner.uid === uid)) return;
      graph.observe(resource, seen);
      found = "some";
    };
    const response = await objects.each({ resource, namespace }, onObject, signal);
    if (response.kind === "wait") return response;
  }
  return found;
}

async function orphanKnown(context: AttemptContext, owner: GraphNode, signal: AbortSignal): Promise<Wait | undefined> {
  const dependents = [...owner.dependents]
    .filter(isSeen)
    .filter((dependent) => dependent !== owner && !isOfForeignNamespace(dependent, owner));
  let awaited: Wait | undefined;
  for (let at = 0; at < dependents.length; at += ORPHANS_AT_ONCE) {
    const batch = dependents.slice(at, at + ORPHANS_AT_ONCE);
    const responses = await Promise.all(batch.map((dependent) => orphan(context, dependent, { owner, signal })));
    awaited ??= responses.find((response) => response !== undefined);
  }
  return awaited;
}

async function orphan(
  { graph, objects, orphaned }: AttemptContext,
  dependent: SeenNode,
  { owner, signal }: { readonly owner: GraphNode; readonly signal: AbortSignal },
): Promise<Wait | undefined> {
  const place = placeOf(dependent);
  const response = await objects.get(place, signal);
  if (response.kind === "wait") return response;
  if (response.kind === "absent" || response.object.uid !== dependent.uid) {
    graph.remove(dependent.uid);
    return undefined;
  }
  const live = response.object;
  const kept = live.ownerReferences.filter((_, index) => uidOfOwner(live, index) !== owner.uid);
  if (kept.length === live.ownerReferences.length) return undefined;
  const patched = await objects.patch(place, { of: live, name: "ownerReferences", list: kept }, signal);
  if (patched.kind === "wait") return patched;
  if (patched.kind === "absent") graph.remove(dependent.uid);
  else orphaned.inc();
  return undefined;
}
