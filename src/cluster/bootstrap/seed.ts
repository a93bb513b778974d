/**
 * Creates the objects of the server on its first start. It prepares all objects that the store lacks in memory, and
 * then writes them without waiting for one another, so that a store with group commit commits them together. If an
 * object cannot be created this way (because another server was faster, the object was rejected, or a guard failed), it
 * is left to the ordinary API path.
 */
import { sleep } from "../../base/clock.ts";
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { StatusError } from "../../meta/status-error.ts";
import { decodeTyped } from "../../objects/typed-decode.ts";
import type { ResolveEndpoint } from "../../serving/endpoints/resolve-or-not-found.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import { create } from "../../serving/registry/create.ts";
import { objectKey, type ServedResource } from "../../serving/registry/resource.ts";
import { update } from "../../serving/registry/update.ts";
import { StorageError } from "../../storage/kv.ts";
import { parseEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { MANAGER, ownedObjectName, RETRY_MS, withCondition, type OwnedObject } from "./owned-object.ts";
import { createStagedStore, type StagedWrite } from "./staged-store.ts";

export interface Seeding {
  readonly context: RegistryContext;
  readonly resolve: ResolveEndpoint;
}

interface Planned {
  readonly owned: OwnedObject;
  readonly key: string;
  /** The object itself and its dependent writes: the claim on an address, the IPAddress. */
  readonly writes: readonly StagedWrite[];
}

type Outcome =
  | { readonly kind: "stored"; readonly entry: Entry }
  /** Another server has created the key. */
  | { readonly kind: "taken" }
  /** The object was not stored and must not be stored as prepared, because one of its guards failed. */
  | { readonly kind: "guard-lost" }
  /** The signal aborted before the outcome was known. */
  | { readonly kind: "unknown" };

/** Maximum number of attempts to write a key that another server is about to remove. */
const TAKEN_ATTEMPTS_MAX = 20;

/** Returns the objects that were created completely, with all their dependent writes. */
export async function seed(
  seeding: Seeding,
  objects: readonly OwnedObject[],
  signal: AbortSignal,
): Promise<ReadonlySet<OwnedObject>> {
  const plan = await planAll(seeding, objects);
  // All writes are issued before the first one is awaited.
  const settled = await Promise.all(plan.map((planned) => storePlanned(seeding, planned, signal)));
  return new Set(plan.filter((_, index) => settled[index]).map(({ owned }) => owned));
}

async function planAll(seeding: Seeding, objects: readonly OwnedObject[]): Promise<Planned[]> {
  const { store, allocation } = seeding.context;
  const staging = createStagedStore(store);
  const context = { ...seeding.context, store: staging.store };
  const plan: Planned[] = [];
  for (const owned of objects) {
    const { group, version, resource, namespace } = owned.at;
    const served = seeding.resolve(group, version, resource)?.served;
    // The records of allocated numbers are shared with other servers, so they cannot be prepared in memory.
    if (served === undefined || allocation?.begin(context, served, false) !== undefined) continue;
    const key = objectKey(served.stored, namespace, ownedObjectName(owned));
    if (store.cache.get(key) !== undefined) continue;
    const before = staging.writes().length;
    if (await stage(context, served, owned)) plan.push({ owned, key, writes: staging.writes().slice(before) });
    else staging.keepFirst(before);
  }
  return plan;
}

/** Resolves to false if the object is rejected. The ordinary API path then reports the reason. */
async function stage(context: RegistryContext, served: ServedResource, owned: OwnedObject): Promise<boolean> {
  const { namespace } = owned.at;
  const { object } = decodeTyped(structuredClone(owned.object), served.schema);
  const common = { namespace, manager: MANAGER, dryRun: false };
  try {
    await create(context, served, { ...common, object });
    if (owned.condition === undefined) return true;
    await update(context, served, {
      ...common,
      name: ownedObjectName(owned),
      endpoint: "status",
      verb: "patch",
      next: (existing) => withCondition(context.clock, owned, existing) ?? existing,
    });
    return true;
  } catch (thrown) {
    if (thrown instanceof StatusError || thrown instanceof StorageError) return false;
    throw thrown;
  }
}

async function storePlanned(seeding: Seeding, { key, writes }: Planned, signal: AbortSignal): Promise<boolean> {
  const outcomes = await Promise.all(writes.map(async (write) => ({ write, ...(await put(seeding, write, signal)) })));
  const object = outcomes.find(({ write }) => write.key === key);
  if (object?.kind === "taken" || object?.kind === "guard-lost")
    await Promise.all(outcomes.map((outcome) => giveBack(seeding, outcome)));
  if (object?.kind !== "stored") return false;
  const isSettled = await Promise.all(outcomes.map((outcome) => insist(seeding, outcome, signal)));
  return isSettled.every(Boolean);
}

/**
 * Creates a key. A write whose response was lost is repeated, and the uid shows whether the first attempt had
 * succeeded.
 */
async function put({ context }: Seeding, { key, value, guards }: StagedWrite, signal: AbortSignal): Promise<Outcome> {
  const { store, clock } = context;
  const uid = uidIn(JSON.parse(value.toString("utf8")) as JsonObject);
  do {
    try {
      const result = await store.create(key, value, undefined, guards);
      if (result.committed) return { kind: "stored", entry: result.entry };
      const { current } = result;
      const isOurs = current !== undefined && current.corrupt === undefined && uidIn(parseEntry(current)) === uid;
      if (isOurs) return { kind: "stored", entry: current };
      return { kind: current === undefined && result.lostGuard !== undefined ? "guard-lost" : "taken" };
    } catch (thrown) {
      if (!(thrown instanceof StorageError)) throw thrown;
    }
  } while (await sleep(clock, RETRY_MS, signal));
  return { kind: "unknown" };
}

/**
 * Two servers that start at once may each have created some keys of an object. The server that created the object
 * itself waits until the other has removed its dependent keys, and creates them.
 */
async function insist(
  seeding: Seeding,
  outcome: Outcome & { readonly write: StagedWrite },
  signal: AbortSignal,
): Promise<boolean> {
  let latest: Outcome = outcome;
  for (let attempt = 1; latest.kind === "taken" && attempt <= TAKEN_ATTEMPTS_MAX; attempt++) {
    if (!(await sleep(seeding.context.clock, RETRY_MS, signal))) return false;
    latest = await put(seeding, outcome.write, signal);
  }
  return latest.kind === "stored";
}

/**
 * Removes a dependent key, because this server did not create the object. If that fails, the repair removes the key.
 */
async function giveBack({ context }: Seeding, outcome: Outcome): Promise<void> {
  if (outcome.kind !== "stored") return;
  try {
    await context.store.remove(outcome.entry);
  } catch (thrown) {
    if (!(thrown instanceof StorageError)) throw thrown;
  }
}

function uidIn(value: JsonObject): string {
  return stringAt(objectAt(value, "metadata"), "uid");
}
