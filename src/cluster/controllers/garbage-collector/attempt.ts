/**
 * Examines one object of the graph: reads its current state and its owners through the API, decides, and carries out
 * the decision.
 */
import type { JsonObject } from "../../../meta/json.ts";
import { isSeen, placeOf, type AttemptContext, type SeenNode } from "./attempt-context.ts";
import { ownersInCircle } from "./circles.ts";
import { decideGarbage, type CollectorDecision } from "./decide.ts";
import { blockingDependents, type GraphNode, type OwnerGraph } from "./graph.ts";
import { DEPENDENTS_UNKNOWN_MS } from "./collector-limits.ts";
import type { FoundLiveObject, LiveObjects, ListChange, LiveObjectPlace } from "./live-objects.ts";
import { orphanDependents } from "./orphan.ts";
import { FOREGROUND, ORPHAN, uidOfOwner, type LiveObject } from "./seen-object.ts";
import { verifyOwner } from "./verify-owner.ts";
import { wait, type Wait } from "./wait.ts";

interface Attempt {
  readonly node: SeenNode;
  readonly place: LiveObjectPlace;
  readonly live: LiveObject;
  readonly signal: AbortSignal;
}

/** Resolves to undefined if nothing is left to do until the object or one of its owners changes. */
export async function attempt(context: AttemptContext, uid: string, signal: AbortSignal): Promise<Wait | undefined> {
  const node = context.graph.get(uid);
  if (node === undefined) return undefined;
  if (!isSeen(node)) return verifyOwner(context, node, signal);
  // The object is being deleted without waiting for dependents. Its dependents are examined when it is gone.
  if (node.deletion === "plain") return undefined;
  if (node.deletion === "none" && node.owners.length === 0) return undefined;
  await context.reports.report(node, signal);
  const held = node.deletion === "none" ? heldOwner(context, node) : undefined;
  if (held !== undefined) return held;
  const place = placeOf(node);
  const response = await context.objects.get(place, signal);
  if (response.kind === "wait") return response;
  if (response.kind === "absent" || response.object.uid !== uid) {
    context.graph.remove(uid);
    return undefined;
  }
  return attemptLive(context, { node, place, live: response.object, signal });
}

function heldOwner({ owners }: AttemptContext, node: GraphNode): Wait | undefined {
  for (const edge of node.owners) {
    const held = owners.held(edge);
    if (held !== undefined) return held;
  }
  return undefined;
}

async function attemptLive(context: AttemptContext, of: Attempt): Promise<Wait | undefined> {
  const { live } = of;
  switch (live.deletion) {
    case "plain":
      return undefined;
    case "orphan":
      return attemptToOrphan(context, of);
    case "foreground":
      return attemptInForeground(context, of);
    case "none":
      return carryOut(context, of, await decideFor(context, of));
  }
}

async function decideFor(context: AttemptContext, { node, live, signal }: Attempt): Promise<CollectorDecision> {
  const states = [];
  for (const owner of live.owners) {
    const state = await context.owners.find({ ...owner, dependentNamespace: live.namespace }, signal);
    states.push({ owner, state });
    // One owner whose state is unknown, or whose reference is invalid, is enough to keep the object.
    if (state.kind === "wait" || state.kind === "impossible") break;
  }
  const dependents = [...node.dependents];
  return decideGarbage({
    owners: states,
    finalizers: live.finalizers,
    hasDependents: dependents.length > 0 ? true : context.unseen(live.namespace) === undefined ? false : undefined,
    hasDependentInForeground: dependents.some(({ deletion }) => deletion === "foreground"),
  });
}

async function carryOut(context: AttemptContext, of: Attempt, decision: CollectorDecision): Promise<Wait | undefined> {
  const { objects, graph, deleted } = context;
  const { place, live, signal } = of;
  switch (decision.kind) {
    case "keep":
      return undefined;
    case "wait":
      return decision;
    case "disown": {
      const kept = live.ownerReferences.filter((_, index) => !decision.uids.has(uidOfOwner(live, index)));
      return afterPatch(graph, await changed(context, of, { name: "ownerReferences", list: kept }), live.uid);
    }
    case "delete": {
      let resourceVersion = live.resourceVersion;
      if (decision.unblocks) {
        const unblocked = await changed(context, of, {
          name: "ownerReferences",
          list: live.ownerReferences.map(withoutBlock),
        });
        if (unblocked.kind !== "found") return afterPatch(graph, unblocked, live.uid);
        ({ resourceVersion } = unblocked.object);
      }
      const preconditions = { uid: live.uid, resourceVersion };
      const response = await objects.delete(place, { propagationPolicy: decision.policy, preconditions, signal });
      if (response.kind === "wait") return response;
      if (response.kind === "absent") graph.remove(live.uid);
      else deleted.inc();
      return undefined;
    }
  }
}

function withoutBlock(reference: JsonObject): JsonObject {
  return reference["blockOwnerDeletion"] === true ? { ...reference, blockOwnerDeletion: false } : reference;
}

/**
 * Removes the finalizer if all blocking dependents are gone; otherwise enqueues those dependents.
 *
 * DIFFERS: if objects that own each other in a circle are all deleted in the foreground, kubernetes never removes them.
 * Here each of them stops blocking its owners in the circle.
 */
async function attemptInForeground(context: AttemptContext, of: Attempt): Promise<Wait | undefined> {
  const { node, live } = of;
  const blocking = blockingDependents(node);
  if (blocking.length === 0) return finish(context, of, FOREGROUND);
  for (const { uid, deletion } of blocking) if (deletion === "none") context.enqueue(uid);
  const circle = ownersInCircle(node);
  if (!live.owners.some(({ uid, blocks }) => blocks && circle.has(uid))) return undefined;
  const list = live.ownerReferences.map((reference, index) =>
    circle.has(uidOfOwner(live, index)) ? withoutBlock(reference) : reference,
  );
  return afterPatch(context.graph, await changed(context, of, { name: "ownerReferences", list }), live.uid);
}

/** Orphans the dependents, and removes the finalizer when none references the object any more. */
async function attemptToOrphan(context: AttemptContext, of: Attempt): Promise<Wait | undefined> {
  const { node, signal } = of;
  return (await orphanDependents(context, node, signal)) ?? finish(context, of, ORPHAN);
}

/** Removes the finalizer by which the object waited for its dependents. */
async function finish(context: AttemptContext, of: Attempt, finalizer: string): Promise<Wait | undefined> {
  const { live } = of;
  const unseen = context.unseen(live.namespace);
  if (unseen !== undefined) return wait("dependents-unknown", DEPENDENTS_UNKNOWN_MS, unseen);
  const list = live.finalizers.filter((candidate) => candidate !== finalizer);
  return afterPatch(context.graph, await changed(context, of, { name: "finalizers", list }), live.uid);
}

function changed(
  { objects }: AttemptContext,
  { place, live, signal }: Attempt,
  change: ListChange,
): ReturnType<LiveObjects["patch"]> {
  return objects.patch(place, { ...change, of: live }, signal);
}

function afterPatch(
  graph: OwnerGraph,
  answer: FoundLiveObject | { readonly kind: "absent" } | Wait,
  uid: string,
): Wait | undefined {
  if (answer.kind === "wait") return answer;
  if (answer.kind === "absent") graph.remove(uid);
  return undefined;
}
