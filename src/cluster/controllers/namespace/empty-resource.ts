/** Deletes the objects of one resource in one namespace, and reports the remaining ones. */
import type { Clock } from "../../../base/clock.ts";
import type { Client } from "../../../client/client.ts";
import type { ObjectMeta } from "../../../client/objects.ts";
import type { ResourceClient } from "../../../client/resource-client.ts";
import { isExpired } from "../../../client/status.ts";
import type { ClusterResource } from "../cluster-resources.ts";
import { isAbsent, isMethodNotAllowed, isOutOfReach } from "./failures.ts";

export interface EmptyingTools {
  /** The client that requests only metadata, if the server supports that. */
  readonly client: Client;
  readonly clock: Clock;
}

interface Emptying {
  readonly resource: ClusterResource;
  readonly namespace: string;
  readonly signal: AbortSignal;
}

export interface Remains {
  readonly count: number;
  /** Number of objects that have each finalizer. */
  readonly finalizers: ReadonlyMap<string, number>;
  /** Time until all graceful deletions should have ended; 0 if there are none. */
  readonly graceSeconds: number;
}

const NOTHING: Remains = { count: 0, finalizers: new Map(), graceSeconds: 0 };

/** Maximum number of objects that one request deletes, so that no request takes long. */
const CHUNK_OBJECTS = 500;
const DELETIONS_AT_ONCE = 16;

/** Tries one version after the other until one is reachable, because all versions show the same objects. */
export async function emptyResource(tools: EmptyingTools, emptying: Emptying): Promise<Remains> {
  const { group, resource, versions } = emptying.resource;
  for (const version of versions) {
    const objects = tools.client.resource({ group, version, resource, namespaced: true });
    try {
      return await emptyVersion(tools, emptying, objects);
    } catch (thrown) {
      if (!isOutOfReach(thrown) || version === versions.at(-1)) throw thrown;
    }
  }
  throw new Error("no version of it is known");
}

async function emptyVersion(tools: EmptyingTools, emptying: Emptying, objects: ResourceClient): Promise<Remains> {
  const { verbs } = emptying.resource;
  const hasCollections = verbs.has("deletecollection");
  if (!verbs.has("list")) {
    // The resource cannot be listed, so its remaining objects are found only when the namespace is finalized.
    if (hasCollections) await deleteCollection(emptying, objects);
    return NOTHING;
  }
  const before = await countOf(emptying, objects);
  if (before === 0) return NOTHING;
  if (!hasCollections || !(await hasDeletedCollection(emptying, objects, before))) await deleteEach(emptying, objects);
  return remainsOf(tools, emptying, objects);
}

/** Resolves to false if the server does not support deletecollection. */
async function hasDeletedCollection(emptying: Emptying, objects: ResourceClient, before: number): Promise<boolean> {
  try {
    let left = before;
    while (left > CHUNK_OBJECTS) {
      await deleteCollection(emptying, objects, CHUNK_OBJECTS);
      const now = await countOf(emptying, objects);
      // Finalizers may hold the first 500 objects. In that case only a request without a limit reaches the others.
      if (now >= left) break;
      left = now;
    }
    if (left > 0) await deleteCollection(emptying, objects);
    return true;
  } catch (thrown) {
    if (isMethodNotAllowed(thrown)) return false;
    throw thrown;
  }
}

function deleteCollection({ namespace, signal }: Emptying, objects: ResourceClient, limit?: number): Promise<void> {
  return objects.deleteCollection({
    namespace,
    signal,
    propagationPolicy: "Background",
    ...(limit === undefined ? {} : { limit }),
  });
}

async function deleteEach({ namespace, signal }: Emptying, objects: ResourceClient): Promise<void> {
  for await (const { items } of objects.pages({ namespace, signal })) {
    for (let at = 0; at < items.length; at += DELETIONS_AT_ONCE) {
      const batch = items.slice(at, at + DELETIONS_AT_ONCE);
      await Promise.all(
        batch.map(async ({ metadata }) => {
          try {
            const key = { namespace, name: metadata?.name ?? "" };
            await objects.delete(key, { signal, propagationPolicy: "Background" });
          } catch (thrown) {
            if (!isAbsent(thrown)) throw thrown;
          }
        }),
      );
    }
  }
}

/** Number of objects; Infinity if the server does not report how many remain. */
async function countOf({ namespace, signal }: Emptying, objects: ResourceClient): Promise<number> {
  const { items, metadata } = await objects.list({ namespace, signal, limit: 1 });
  const hasMore = metadata.continue !== undefined && metadata.continue !== "";
  return items.length + (hasMore ? (metadata.remainingItemCount ?? Infinity) : 0);
}

async function remainsOf({ clock }: EmptyingTools, emptying: Emptying, objects: ResourceClient): Promise<Remains> {
  const { namespace, signal } = emptying;
  const finalizers = new Map<string, number>();
  let count = 0;
  let graceSeconds = 0;
  try {
    for await (const { items } of objects.pages({ namespace, signal })) {
      count += items.length;
      for (const { metadata = {} } of items) graceSeconds = Math.max(graceSeconds, graceLeft(metadata, clock));
      for (const finalizer of items.flatMap(({ metadata }) => metadata?.finalizers ?? []))
        finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
    }
  } catch (thrown) {
    // There are too many objects to list before the continue token expires. That some exist is enough.
    if (!isExpired(thrown) || count === 0) throw thrown;
  }
  return { count, finalizers, graceSeconds };
}

/** The deletionTimestamp of a graceful deletion is the time by which it must have ended. */
function graceLeft({ deletionTimestamp = "", deletionGracePeriodSeconds = 0 }: ObjectMeta, clock: Clock): number {
  const leftMs = Date.parse(deletionTimestamp) - clock.now();
  return deletionGracePeriodSeconds > 0 && leftMs > 0 ? Math.ceil(leftMs / 1000) : 0;
}
