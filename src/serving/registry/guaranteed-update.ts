/**
 * Reads, changes and writes one object, and repeats this until no other write has come in between. The first attempt
 * may use the cached object. If it fails or writes nothing, its result is used only if the cached object is the newest
 * one; otherwise the change is decided again on the newest object.
 */
import { formatGroupVersion } from "../../meta/group-version.ts";
import { jsonEquals, type JsonObject } from "../../meta/json.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { RegistryContext, Written } from "./context.ts";
import { withDefaults } from "./defaults.ts";
import { Forwarded } from "./forwarded-request.ts";
import { removeNamespace } from "./namespace-finalize.ts";
import { conversionOf, encodeForStorage, objectIn } from "./representation.ts";
import type { ServedResource } from "./resource.ts";
import { serviceUnavailable } from "../../meta/status-error.ts";
import { removeGuarded, writeEncoded, type WriteGuards } from "./write-encoded.ts";

/**
 * The change to the current object, in the served version: store a new state, or remove the object after setting a last
 * state.
 */
export type ObjectChange =
  | {
      readonly kind: "store";
      readonly object: JsonObject;
      readonly warnings?: readonly string[];
      /** Called before each write: the guards on the numbers that were allocated for the object. */
      readonly guards?: () => WriteGuards | undefined;
      /** Whether the object is not written if only the defaults of the stored value are missing. */
      readonly toleratesMissingDefaults?: boolean;
    }
  | { readonly kind: "remove"; readonly object: JsonObject };

/**
 * `F` is the type of a forwarded request, for callers that may forward. It is never inferred, so other callers receive
 * a written object.
 */
interface UpdatePlan<F extends Forwarded = never> {
  readonly key: string;
  readonly dryRun: boolean;
  /**
   * Decides the change to the current object, or throws a StatusError. Called again if another writer has changed the
   * object.
   */
  decide(existing: JsonObject, entry: Entry): ObjectChange | NoInfer<F> | Promise<ObjectChange | NoInfer<F>>;
  /** Called if the object does not exist. Usually throws NotFound. */
  absent(): Promise<Written | NoInfer<F>>;
}

/** Maximum number of attempts. In each failed attempt another writer was faster, so this many mean overload. */
const ATTEMPTS_MAX = 100;

export async function guaranteedUpdate<F extends Forwarded = never>(
  context: RegistryContext,
  served: ServedResource,
  plan: UpdatePlan<F>,
): Promise<Written | F> {
  const { store } = context;
  let entry = await store.get(plan.key, { kind: "any" });
  let isFresh = false;
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    const outcome = await tryUpdate(context, served, { plan, entry, isFresh });
    if (outcome.kind === "done") return outcome.result;
    const current = outcome.kind === "stale" ? await store.get(plan.key, { kind: "newest" }) : outcome.current;
    // The cached object was the newest one, so the decision is valid. Deciding again would call admission twice.
    if (outcome.kind === "stale" && outcome.ifNewest !== undefined && current?.modRevision === entry?.modRevision)
      return outcome.ifNewest();
    entry = current;
    isFresh = true;
  }
  throw serviceUnavailable("the object changes too fast to be updated, please try again later", 1);
}

type Outcome<F = never> =
  | { readonly kind: "done"; readonly result: Written | F }
  /**
   * The decision was made on the cached object. `ifNewest` returns its result, which is valid only if that object is
   * the newest one.
   */
  | { readonly kind: "stale"; readonly ifNewest?: () => Written | F }
  | { readonly kind: "lost"; readonly current: Entry | undefined };

/**
 * The outcome of a decision that writes nothing. No compare-and-swap has checked that it was made on the newest object.
 */
function settled<F>(result: Written | F, isFresh: boolean): Outcome<F> {
  return isFresh ? { kind: "done", result } : { kind: "stale", ifNewest: () => result };
}

async function tryUpdate<F extends Forwarded>(
  context: RegistryContext,
  served: ServedResource,
  attempt: { plan: UpdatePlan<F>; entry: Entry | undefined; isFresh: boolean },
): Promise<Outcome<F>> {
  const { plan, entry, isFresh } = attempt;
  if (entry === undefined) return isFresh ? { kind: "done", result: await plan.absent() } : { kind: "stale" };
  let existing: JsonObject;
  let change: ObjectChange | F;
  try {
    if (served.custom !== undefined) await conversionOf([entry], served);
    const object = objectIn(entry, served);
    // Custom resources already have the defaults of their stored version.
    existing = served.custom === undefined ? withDefaults(context, served, object) : object;
    change = await plan.decide(existing, entry);
  } catch (thrown) {
    if (isFresh) throw thrown;
    return {
      kind: "stale",
      ifNewest: () => {
        throw thrown;
      },
    };
  }
  if (change instanceof Forwarded) return settled(change, isFresh);
  const { object } = change;
  if (change.kind === "remove" && !plan.dryRun) return remove(context, served, { object, entry });
  const { warnings = [], guards, toleratesMissingDefaults = false } = change.kind === "store" ? change : {};
  if (plan.dryRun) return settled({ object, warnings }, isFresh);
  const addsDefaults = entry.lacksDefaults && !toleratesMissingDefaults;
  return replace(context, served, { object, warnings, guards, addsDefaults, existing, entry, isFresh });
}

async function replace(
  context: RegistryContext,
  served: ServedResource,
  change: {
    object: JsonObject;
    warnings: readonly string[];
    guards: (() => WriteGuards | undefined) | undefined;
    /** Whether the object is written even if the stored value lacks nothing but defaults. */
    addsDefaults: boolean;
    existing: JsonObject;
    entry: Entry;
    isFresh: boolean;
  },
): Promise<Outcome> {
  const { entry, isFresh, warnings } = change;
  const isUnchanged = jsonEquals(change.object, change.existing);
  // An unchanged object is rewritten if it is stored in another version, without its defaults, or encrypted with another
  // key. The storage migration and the rotation of keys rely on this.
  const isAsWanted = isUnchanged && !change.addsDefaults && !context.store.isOutdated(entry);
  if (isAsWanted && (await isInCurrentVersion(served, entry))) return settled({ entry, warnings }, isFresh);
  const { ttlSeconds } = served.stored.strategy;
  const lease = ttlSeconds === undefined ? undefined : await context.leases.leaseFor(ttlSeconds);
  const { store } = context;
  const { rememberObject } = store;
  const result = await writeEncoded(
    served,
    async (version, guards) => {
      const bytes = await encodeForStorage(change.object, served, version, { rememberObject });
      return store.replace(entry, bytes, lease, guards);
    },
    change.guards?.(),
  );
  if (!result.committed) return { kind: "lost", current: result.current };
  if (served.custom !== undefined) await conversionOf([result.entry], served);
  return { kind: "done", result: { entry: result.entry, warnings } };
}

async function isInCurrentVersion({ stored }: ServedResource, { apiVersion }: Entry): Promise<boolean> {
  return formatGroupVersion((await stored.encoding.current()).version) === apiVersion;
}

async function remove(
  context: RegistryContext,
  served: ServedResource,
  { object, entry }: { object: JsonObject; entry: Entry },
): Promise<Outcome> {
  const result =
    served.stored.strategy.deletionLifecycle === "namespace"
      ? await removeNamespace(context, served, { object, entry })
      : await removeGuarded(served, context.store, entry);
  if (!result.committed) return { kind: "lost", current: result.current };
  return { kind: "done", result: { object: withRevision(object, result.revision) } };
}

function withRevision(object: JsonObject, revision: number): JsonObject {
  return { ...object, metadata: { ...(object["metadata"] as JsonObject), resourceVersion: String(revision) } };
}
