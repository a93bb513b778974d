/**
 * The automatic mode: migrates a resource whenever all servers agree on a version and its objects are not known to be
 * stored in that version. It runs the passes itself and creates no StorageVersionMigration objects, so it needs no API
 * that a release may disable. Only the leader runs it; two migrators at once would do no harm, but would do the work
 * twice. DIFFERS: it updates the CRD of a migrated custom resource. In kubernetes only requested migrations do.
 */
import type { KeySource } from "../../controller-runtime/controller.ts";
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Log } from "../../../base/log.ts";
import { Wakeable } from "../../../base/wakeable.ts";
import { messageOf } from "../../../base/within.ts";
import { jsonEquals } from "../../../meta/json.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import type { Client } from "../../../client/client.ts";
import type { Informer } from "../../../client/informer.ts";
import { storageVersionResource, type StorageVersionObject } from "../objects.ts";
import { agreedVersion, encodingVersions, isSameAgreement, type AgreedVersion } from "./agreed-version.ts";
import { AgreementWatch, readAgreement, type Agreement } from "./agreement-watch.ts";
import { findCrd, shrinkStoredVersions, type FoundCrd } from "./crd-status.ts";
import { discoverResource, isEvents } from "./discover-resource.ts";
import { FAILED_RETRY_MS_MAX, FAILED_RETRY_MS_MIN, FORGET_MS, HEARTBEAT_MS } from "./migration-limits.ts";
import type { MigrationMetrics } from "./metrics.ts";
import type { Engine } from "./migrate-resource.ts";
import { runMigration, verifiedState, type MigrationOutcome } from "./migration-run.ts";
import type { ServedType } from "./object-pages.ts";
import { SeenCrds } from "./seen-crds.ts";
import { UNKNOWN_STATE, UNKNOWN_VERSION, withPersisted, type StorageState } from "./state-value.ts";
import type { StorageStates } from "./storage-state.ts";

export interface MigrationOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly engine: Engine;
  readonly states: StorageStates;
  readonly metrics: MigrationMetrics;
  /**
   * Whether all stored objects of the resource of this StorageVersion are stored in the given version at present, so
   * that a migration would change none. False if that is not certain.
   */
  readonly isStoredOnlyIn?: (name: string, version: string) => Promise<boolean>;
}

export interface Requeue {
  readonly requeueAfterMs?: number;
}

interface Migrator {
  readonly name: "storage-version-migrator";
  readonly workers: number;
  /** The key is the name of a StorageVersion object. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Requeue | undefined>;
  /** Called at the beginning of each term, because an informer runs only once. */
  sources(): readonly KeySource[];
}

const WORKERS = 2;
/**
 * Long enough that a record of an agreement that has just begun stays valid when another server publishes its entry
 * (isSameAgreement).
 */
const MARK_DELAY_MS = 2_500;
/** Less than HEARTBEAT_MS, so that every resync reads the states again: people may edit them. */
const VERIFIED_MS = HEARTBEAT_MS / 2;
const AUTOMATIC = "automatic";

export function createMigrator(options: MigrationOptions): Migrator {
  const migrator = new AutomaticMigrator(options);
  return {
    name: "storage-version-migrator",
    workers: WORKERS,
    reconcile: (key, signal) => migrator.reconcile(key, signal),
    sources: () => migrator.sources(),
  };
}

/** The state of a built-in resource that was verified, as it was last read. */
interface Verified {
  readonly state: StorageState;
  readonly readAtMs: number;
}

/** A resource of which some objects could not be migrated. */
interface Failed {
  readonly version: string;
  readonly retryAtMs: number;
  readonly delayMs: number;
}

class AutomaticMigrator {
  readonly #options: MigrationOptions;
  readonly #watch: AgreementWatch;
  readonly #failed = new Map<string, Failed>();
  readonly #verified = new Map<string, Verified>();
  /** The informer of the current term. */
  #informer: Informer<StorageVersionObject> | undefined;
  readonly #definitions: SeenCrds;
  /** Resources whose objects are known to be stored in the agreed version, until the state records it. */
  readonly #marks = new Map<string, AgreedVersion>();
  readonly #marked: Wakeable;

  constructor(options: MigrationOptions) {
    this.#options = options;
    this.#watch = new AgreementWatch(options);
    this.#marked = new Wakeable(options.clock);
    this.#definitions = new SeenCrds(options.clock);
  }

  sources(): readonly KeySource[] {
    this.#failed.clear();
    this.#verified.clear();
    const informer = this.#watch.informer();
    this.#informer = informer;
    const objects = this.#watch.source(informer, (name, enqueue) => enqueue(name));
    return [objects, this.#heartbeat(informer), this.#markSource()];
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const { client, clock, states } = this.#options;
    // This reconcile makes a new decision, so a mark of an earlier decision must not be recorded any more.
    this.#marks.delete(name);
    if (this.#isStillVerified(name)) return undefined;
    this.#verified.delete(name);
    const definition = await findCrd({ client, clock, name, signal });
    if (definition !== undefined) this.#definitions.see(name, definition.is);
    const agreement = await readAgreement(client, name, signal);
    if (agreement.kind !== "agreed") return this.#withoutAgreement(name, agreement, definition);
    const { agreed } = agreement;
    const state = await states.load(name);
    if (isVerified(state, agreed)) {
      if (definition === undefined) this.#verified.set(name, { state, readAtMs: clock.monotonic() });
      return this.#settle({ name, agreed, definition, signal });
    }
    // A CRD lists every version in which its objects were ever stored.
    if (isUnknown(state) && jsonEquals(definition?.storedVersions, [agreed.version]))
      return this.#markVerified(name, agreed);
    const waitMs = this.#waitMs(name, agreed);
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    if (await this.#needsNoMigration({ name, agreed, state, signal })) return this.#markVerified(name, agreed);
    const type = await this.#typeOf(name, agreed, signal);
    if (type === undefined) return this.#note(name, [agreed.version]);
    const outcome = await runMigration(
      { ...this.#options, watch: this.#watch },
      { name, type, owner: AUTOMATIC, agreed, signal },
    );
    const isSuccess = outcome.kind === "done" && outcome.progress.failed === 0;
    const after = this.#after(name, agreed, outcome);
    return isSuccess ? this.#settle({ name, agreed: outcome.agreed ?? agreed, definition, signal }) : after;
  }

  /** Whether all objects are certainly stored in the agreed version, although the state does not record it. */
  async #needsNoMigration({
    name,
    agreed,
    state,
    signal,
  }: {
    readonly name: string;
    readonly agreed: AgreedVersion;
    readonly state: StorageState;
    readonly signal: AbortSignal;
  }): Promise<boolean> {
    // If the state records a version that no server can read, objects may still be stored in it, so the state must not
    // be overwritten.
    const isOther = (version: string): boolean => version !== agreed.version && version !== UNKNOWN_VERSION;
    if (agreed.isOnlyVersion && !state.persistedVersions.some(isOther)) return true;
    return this.#isUniform(name, agreed, signal);
  }

  /**
   * Whether the agreement that the informer shows is the one for which the state is verified. A server that starts
   * changes every StorageVersion object, mostly without a change of the agreements, and must not cause several requests
   * for each object. This is safe if the informer is behind: when the change arrives, the object is reconciled again.
   */
  #isStillVerified(name: string): boolean {
    const known = this.#verified.get(name);
    const observed = this.#informer?.isOfCurrentHistory === true ? this.#informer.get({ name }) : undefined;
    const agreed = observed && agreedVersion(observed);
    if (known === undefined || agreed === undefined) return false;
    return this.#options.clock.monotonic() - known.readAtMs < VERIFIED_MS && isVerified(known.state, agreed);
  }

  async #withoutAgreement(
    name: string,
    agreement: Exclude<Agreement, { kind: "agreed" }>,
    definition: FoundCrd | undefined,
  ): Promise<undefined> {
    this.#failed.delete(name);
    // Each server writes its own version at present. Versions of servers that joined and departed unseen may be stored
    // as well.
    if (agreement.kind === "open") return this.#note(name, encodingVersions(agreement.object), definition);
    // The objects were deleted with their CRD. The state is dropped, because many CRDs with different names may come
    // and go.
    if (definition === undefined && this.#definitions.forget(name))
      await this.#options.states.update(name, () => UNKNOWN_STATE);
  }

  /**
   * Called when every object is stored in the agreed version. Updates the CRD as soon as every server must have seen
   * its current state.
   */
  async #settle({
    name,
    agreed,
    definition,
    signal,
  }: {
    readonly name: string;
    readonly agreed: AgreedVersion;
    readonly definition: FoundCrd | undefined;
    readonly signal: AbortSignal;
  }): Promise<Requeue | undefined> {
    this.#showDone(name);
    if (definition === undefined || jsonEquals(definition.storedVersions, [agreed.version])) return undefined;
    const waitMs = this.#definitions.unsettledMs(name);
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    await shrinkStoredVersions({ ...this.#options, name, signal }, { is: definition.is, agreed });
    return undefined;
  }

  /** Whether every object is stored in the agreed version, checked with the same agreement before and after. */
  async #isUniform(name: string, agreed: AgreedVersion, signal: AbortSignal): Promise<boolean> {
    const { client, isStoredOnlyIn } = this.#options;
    if (isStoredOnlyIn === undefined || !(await isStoredOnlyIn(name, agreed.version))) return false;
    const after = await readAgreement(client, name, signal);
    return after.kind === "agreed" && after.agreed.resourceVersion === agreed.resourceVersion;
  }

  #after(name: string, { version }: AgreedVersion, outcome: MigrationOutcome): Requeue | undefined {
    const hasFailed = outcome.kind === "refused" || (outcome.kind === "done" && outcome.progress.failed > 0);
    if (hasFailed) {
      const before = this.#failed.get(name);
      const delayMs =
        before?.version === version ? Math.min(before.delayMs * 2, FAILED_RETRY_MS_MAX) : FAILED_RETRY_MS_MIN;
      const retryAtMs = this.#options.clock.monotonic() + delayMs;
      this.#failed.set(name, { version, retryAtMs, delayMs });
      return { requeueAfterMs: delayMs };
    }
    if (outcome.kind === "done") this.#failed.delete(name);
    return outcome.kind === "paused" ? { requeueAfterMs: outcome.retryAfterMs } : undefined;
  }

  #waitMs(name: string, { version }: AgreedVersion): number {
    const failed = this.#failed.get(name);
    return failed?.version === version ? failed.retryAtMs - this.#options.clock.monotonic() : 0;
  }

  /**
   * Undefined if the resource is not migrated: events expire by themselves, and resources without list and patch cannot
   * be migrated.
   */
  async #typeOf(name: string, agreed: AgreedVersion, signal: AbortSignal): Promise<ServedType | undefined> {
    const resource = storageVersionResource(name);
    if (isEvents(resource)) return undefined;
    const discovered = await discoverResource(
      this.#options.client,
      { ...resource, preferred: agreed.servedVersions },
      signal,
    );
    const isMigratable = discovered?.verbs.includes("list") === true && discovered.verbs.includes("patch");
    if (!isMigratable)
      this.#options.log.debug("resource not migrated because it does not support list and patch", { resource: name });
    return isMigratable ? discovered.type : undefined;
  }

  /**
   * Records the result asynchronously, so that all results of a start are written together. A result that is lost is
   * found again.
   */
  #markVerified(name: string, agreed: AgreedVersion): undefined {
    this.#marks.set(name, agreed);
    this.#marked.wake();
    return this.#showDone(name);
  }

  #markSource(): KeySource {
    const { clock } = this.#options;
    return {
      hasSynced: true,
      run: async (_enqueue, signal) => {
        while (!signal.aborted) {
          await this.#marked.wait(HEARTBEAT_MS, signal);
          if (await sleep(clock, MARK_DELAY_MS, signal)) await this.#writeMarks(signal);
        }
      },
    };
  }

  async #writeMarks(signal: AbortSignal): Promise<void> {
    const { clock, log, states } = this.#options;
    const time = timestampAt(clock.now());
    const marks = await this.#takeMarks(signal);
    const updates = marks.map(([name, agreed]) =>
      states.update(name, (state) => verifiedState(withoutRecord(state), agreed, time)),
    );
    for (const result of await Promise.allSettled(updates))
      if (result.status === "rejected") log.warn("storage state not recorded", { error: messageOf(result.reason) });
  }

  /**
   * Returns the marks whose agreement still holds. If it ended before the mark was written, another version may have
   * been written.
   */
  async #takeMarks(signal: AbortSignal): Promise<[name: string, agreed: AgreedVersion][]> {
    const { client } = this.#options;
    const taken = [...this.#marks].map(async (mark) => {
      const [name, agreed] = mark;
      const now = await readAgreement(client, name, signal).catch(() => undefined);
      // If the agreement cannot be read now, the mark is kept for the next time.
      if (now === undefined || this.#marks.get(name) !== agreed) return [];
      this.#marks.delete(name);
      return now.kind === "agreed" && now.agreed.resourceVersion === agreed.resourceVersion ? [mark] : [];
    });
    return (await Promise.all(taken)).flat();
  }

  /**
   * Records that objects may also be stored in these versions, and drops a verification that was made under another
   * agreement.
   */
  async #note(name: string, versions: readonly string[], definition?: FoundCrd): Promise<undefined> {
    const lastHeartbeatTime = timestampAt(this.#options.clock.now());
    this.#marks.delete(name);
    await this.#options.states.update(name, (known) => {
      // The state of a new custom resource is not needed, because its CRD lists all stored versions.
      if (definition !== undefined && isUnknown(known)) return known;
      const { verified, ...state } = withoutRecord(known);
      const noted = withPersisted(state, verified === undefined ? versions : [...versions, UNKNOWN_VERSION]);
      return noted === state && verified === undefined ? state : { ...noted, lastHeartbeatTime };
    });
  }

  #showDone(name: string): undefined {
    this.#options.metrics.progress.with(name).set(1);
  }

  #heartbeat(informer: Informer<StorageVersionObject>): KeySource {
    const { clock, log, states } = this.#options;
    const beat = (name: string, state: StorageState): StorageState | undefined => {
      const nowMs = clock.now();
      const { lastHeartbeatTime } = state;
      const isStored = informer.get({ name }) !== undefined;
      if (!isStored && lastHeartbeatTime !== undefined && nowMs - Date.parse(lastHeartbeatTime) > FORGET_MS)
        return undefined;
      // A value without a heartbeat may have been edited by a person, and stays as it is.
      return isStored && lastHeartbeatTime !== undefined ? { ...state, lastHeartbeatTime: timestampAt(nowMs) } : state;
    };
    return {
      hasSynced: true,
      run: async (_enqueue, signal) => {
        while (await sleep(clock, HEARTBEAT_MS, signal)) {
          if (!informer.hasSynced) continue;
          await states
            .updateAll(beat)
            .catch((thrown: unknown) => log.warn("storage state heartbeat failed", { error: messageOf(thrown) }));
        }
      },
    };
  }
}

function isUnknown(state: StorageState): boolean {
  return jsonEquals(state, UNKNOWN_STATE);
}

/** The state without the record of an automatic migration. The record of a requested migration stays. */
function withoutRecord({ migration, ...state }: StorageState): StorageState {
  return migration === undefined || migration.owner === AUTOMATIC ? state : { ...state, migration };
}

/**
 * Whether all objects are known to be stored in the agreed version, and no server can have written another version
 * since.
 */
function isVerified({ persistedVersions, verified }: StorageState, agreed: AgreedVersion): boolean {
  const [version] = persistedVersions;
  if (verified === undefined || persistedVersions.length !== 1 || version === undefined) return false;
  return isSameAgreement({ ...verified, version }, agreed, Date.parse(verified.time));
}
