/**
 * Carries out StorageVersionMigration objects: for each resource one at a time, the oldest first.
 *
 *    created → Running → (checkpoint in status.resourceVersion) → objects rewritten → Succeeded or Failed, not Running
 *
 * DIFFERS: kubernetes does not check whether the servers agree, so a migration can succeed while an old server still
 * writes the old version. Here a migration waits for the agreement, and fails if the agreement ends. This controller
 * also lists the objects itself instead of waiting for the cache of the garbage collector.
 */
import { handlerSource, type KeySource } from "../../controller-runtime/controller.ts";
import type { Informer } from "../../../client/informer.ts";
import type { ResourceClient } from "../../../client/resource-client.ts";
import { messageOf } from "../../../base/within.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import { jsonEquals } from "../../../meta/json.ts";
import { isReason } from "../../../meta/status-error.ts";
import { disagreement, type AgreedVersion } from "./agreed-version.ts";
import { AgreementWatch, readAgreement } from "./agreement-watch.ts";
import { beginInCrd, failInCrd, succeedInCrd, type CrdPlace, type BegunCrd } from "./crd-status.ts";
import { discoverResource, isEvents, type DiscoveredResource } from "./discover-resource.ts";
import { DISCOVERY_GRACE_MS, HEARTBEAT_MS, REQUEST_TIMEOUT_MS, STATE_RACES_MAX } from "./migration-limits.ts";
import {
  failed,
  failureMessage,
  isTerminal,
  isConditionMet,
  migratedName,
  migratedResource,
  migrationType,
  nextMigration,
  NO_LONGER_RUNNING,
  pausedMessage,
  progressMessage,
  RUNNING,
  running,
  SUCCEEDED,
  withMigrationConditions,
  type Outcome,
  type StorageVersionMigration,
} from "./migration-objects.ts";
import { runMigration, type MigrationOutcome } from "./migration-run.ts";
import type { MigrationOptions, Requeue } from "./migrator.ts";
import { listPage } from "./object-pages.ts";

interface SvmControllerOptions extends MigrationOptions {
  /** The version in which the API is served; undefined if it is not served. */
  readonly version: string | undefined;
  /** Whether StorageVersions are served, so that servers can agree. */
  readonly servesStorageVersions: boolean;
}

interface SvmController {
  readonly name: "storage-version-migrator-controller";
  readonly workers: number;
  /** The key is the name of a StorageVersionMigration. */
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<Requeue | undefined>;
  /** Called at the beginning of each term, because an informer runs only once. */
  sources(): readonly KeySource[];
}

/** As kubernetes. */
const WORKERS = 5;
const AGREEMENT_RETRY_MS = 10_000;
const DISCOVERY_RETRY_MS = 5_000;
/**
 * Delay before a waiting migration checks again whether it may start. The end of the previous migration triggers the
 * check at once; the delay matters only if that event is lost.
 */
const TURN_RETRY_MS = 30_000;
/** The abort reason if the migration object was deleted. */
const DELETED = "deleted";
const VERBS = ["update", "patch", "list"] as const;

export function createSvmController(options: SvmControllerOptions): SvmController | undefined {
  if (options.version === undefined) return undefined;
  const controller = new MigrationController(options, options.version);
  return {
    name: "storage-version-migrator-controller",
    workers: WORKERS,
    reconcile: (key, signal) => controller.reconcile(key, signal),
    sources: () => controller.sources(),
  };
}

/** A migration object, as it was read when it was reconciled. */
interface Turn {
  readonly object: StorageVersionMigration;
  readonly name: string;
  readonly uid: string;
  /** The name of the StorageVersion object. */
  readonly resourceName: string;
  /** Aborts when the controller stops, or when the object is deleted. */
  readonly signal: AbortSignal;
}

class MigrationController {
  readonly #options: SvmControllerOptions;
  readonly #objects: ResourceClient<StorageVersionMigration>;
  readonly #version: string;
  readonly #watch: AgreementWatch;
  /** By resource: the latest check whether a migration may start. */
  readonly #claims = new Map<string, Promise<void>>();
  /** By uid of the migration object: aborts the work when the object is deleted. */
  readonly #deletions = new Map<string, AbortController>();

  constructor(options: SvmControllerOptions, version: string) {
    this.#options = options;
    this.#version = version;
    this.#objects = options.client.resource<StorageVersionMigration>(migrationType(version));
    this.#watch = new AgreementWatch(options);
  }

  sources(): readonly KeySource[] {
    const { client, log, servesStorageVersions } = this.#options;
    const informer = client.informer<StorageVersionMigration>(migrationType(this.#version), {
      resyncMs: HEARTBEAT_MS,
      onError: (thrown) => log.warn("storage version migration watch failed", { error: messageOf(thrown) }),
    });
    const wake = (resourceName: string, enqueue: (key: string) => void): void => {
      for (const object of informer.list())
        if (migratedName(object) === resourceName && !isTerminal(object)) enqueue(object.metadata?.name ?? "");
    };
    const migrations = this.#migrationSource(informer, wake);
    return servesStorageVersions ? [migrations, this.#watch.source(this.#watch.informer(), wake)] : [migrations];
  }

  async reconcile(name: string, signal: AbortSignal): Promise<Requeue | undefined> {
    const object = await this.#read(name, signal);
    if (object === undefined) return undefined;
    if (isTerminal(object)) return this.#cleanUp(object);
    const uid = object.metadata?.uid ?? "";
    const ended = new AbortController();
    const stop = (): void => ended.abort();
    this.#deletions.set(uid, ended);
    signal.addEventListener("abort", stop, { once: true });
    if (signal.aborted) stop();
    try {
      const turn = { object, name, uid, resourceName: migratedName(object), signal: ended.signal };
      return (await this.#claim(turn)) ? await this.#take(turn) : { requeueAfterMs: TURN_RETRY_MS };
    } finally {
      signal.removeEventListener("abort", stop);
      this.#deletions.delete(uid);
    }
  }

  /**
   * Whether this migration is the next of its resource. Checks of one resource run one after the other: otherwise two
   * that read the same list could both begin.
   */
  #claim(turn: Turn): Promise<boolean> {
    const { resourceName } = turn;
    const before = this.#claims.get(resourceName) ?? Promise.resolve();
    const claim = before.then(() => this.#begin(turn));
    const settled = claim
      .catch(() => {})
      .then(() => {
        if (this.#claims.get(resourceName) === settled) this.#claims.delete(resourceName);
      });
    this.#claims.set(resourceName, settled);
    return claim;
  }

  async #begin(turn: Turn): Promise<boolean> {
    const { object, resourceName, signal } = turn;
    const { items } = await this.#objects.listAll({ signal, timeoutMs: REQUEST_TIMEOUT_MS });
    const next = nextMigration(items.filter((item) => migratedName(item) === resourceName));
    if (next?.metadata?.uid !== turn.uid) return false;
    if (!isConditionMet(object, "Running")) await this.#say(turn, [RUNNING]);
    return true;
  }

  async #take(turn: Turn): Promise<Requeue | undefined> {
    const { client } = this.#options;
    const agreement = await readAgreement(client, turn.resourceName, turn.signal);
    if (agreement.kind === "open") {
      const why = disagreement(agreement.object);
      await this.#say(turn, [
        running(`${RUNNING.message}, waiting for the servers to agree on a storage version: ${why}`),
      ]);
      return { requeueAfterMs: AGREEMENT_RETRY_MS };
    }
    const agreed = agreement.kind === "agreed" ? agreement.agreed : undefined;
    const discovered = await discoverResource(
      client,
      { ...migratedResource(turn.object), preferred: agreed?.servedVersions ?? [] },
      turn.signal,
    );
    if (discovered === undefined) return this.#missing(turn);
    const obstacle = obstacleTo(discovered);
    if (obstacle !== undefined) return this.#fail(turn, obstacle);
    const known = turn.object.status?.resourceVersion ?? "";
    const checkpoint = known === "" ? await this.#choose(turn, discovered) : known;
    if (checkpoint === undefined) return undefined;
    if (!isCheckpoint(checkpoint))
      return this.#fail(turn, `resourceVersion ${JSON.stringify(checkpoint)} is not valid`);
    return this.#migrate(turn, { agreed, discovered, checkpoint });
  }

  async #missing(turn: Turn): Promise<Requeue | undefined> {
    const createdAtMs = Date.parse(turn.object.metadata?.creationTimestamp ?? "");
    // If the creation time is invalid, the migration fails at once instead of waiting forever.
    if (this.#options.clock.now() - createdAtMs < DISCOVERY_GRACE_MS) return { requeueAfterMs: DISCOVERY_RETRY_MS };
    const hasBegun = (turn.object.status?.resourceVersion ?? "") !== "";
    return this.#fail(turn, hasBegun ? "unable to obtain GVR from discovery" : "resource does not exist in discovery");
  }

  /** Chooses the checkpoint and records it; undefined if it is invalid or the migration has ended. */
  async #choose(turn: Turn, { type }: DiscoveredResource): Promise<string | undefined> {
    const { resourceVersion } = await listPage(this.#options.client, type, { limit: 1, signal: turn.signal });
    if (!isCheckpoint(resourceVersion)) {
      const found = JSON.stringify(resourceVersion);
      await this.#fail(turn, `latest resourceVersion for ${typeText(type)} is not valid: ${found}`);
      return undefined;
    }
    const isNoted = await this.#change(turn, (object) => ({
      ...object,
      status: { ...object.status, resourceVersion },
    }));
    return isNoted ? resourceVersion : undefined;
  }

  async #migrate(
    turn: Turn,
    found: {
      readonly agreed: AgreedVersion | undefined;
      readonly discovered: DiscoveredResource;
      readonly checkpoint: string;
    },
  ): Promise<Requeue | undefined> {
    const { agreed, discovered, checkpoint } = found;
    const begun = await beginInCrd(this.#definition(turn), turn.name);
    const outcome = await runMigration(
      { ...this.#options, watch: this.#watch },
      {
        name: turn.resourceName,
        type: discovered.type,
        owner: turn.uid,
        agreed,
        checkpoint,
        signal: turn.signal,
        onProgress: async (progress) => {
          await this.#say(turn, [running(progressMessage(progress))]);
        },
      },
    );
    return this.#conclude(turn, outcome, begun);
  }

  async #conclude(turn: Turn, outcome: MigrationOutcome, begun: BegunCrd | undefined): Promise<Requeue | undefined> {
    const { progress, agreed } = outcome;
    switch (outcome.kind) {
      case "done":
        if (progress.failed > 0) return this.#fail(turn, failureMessage(progress));
        // The CRD is updated before the status of the migration, so that a client that waits for the migration finds
        // the CRD updated.
        if (!(await succeedInCrd(this.#definition(turn), { begun, agreed }))) return undefined;
        await this.#say(turn, [NO_LONGER_RUNNING, SUCCEEDED]);
        return undefined;
      case "aborted":
        return this.#fail(turn, "the servers' agreement on the storage version changed during the migration");
      case "refused":
        return this.#fail(turn, `migration encountered unhandled error: ${outcome.why}`);
      case "paused":
        await this.#say(turn, [running(pausedMessage(progress, outcome.why))]);
        return { requeueAfterMs: outcome.retryAfterMs };
      case "stopped":
        if (turn.signal.reason === DELETED) await this.#forget(turn);
        return undefined;
    }
  }

  async #fail(turn: Turn, message: string): Promise<undefined> {
    await failInCrd(this.#definition(turn));
    await this.#say(turn, [NO_LONGER_RUNNING, failed(message)]);
  }

  async #forget({ resourceName, uid }: Turn): Promise<void> {
    // A new signal is used, because the signal of this migration has aborted.
    const { signal } = new AbortController();
    await failInCrd({ ...this.#options, name: resourceName, signal });
    await this.#options.states.update(resourceName, ({ migration, ...state }) => ({
      ...state,
      ...(migration === undefined || migration.owner === uid ? {} : { migration }),
    }));
  }

  /**
   * Cleans up after a migration that has ended: another client ended it, or this controller did and was stopped before
   * it could clean up.
   */
  async #cleanUp(object: StorageVersionMigration): Promise<undefined> {
    if (!isConditionMet(object, "Running")) return;
    const next = withMigrationConditions(object, [NO_LONGER_RUNNING], this.#now());
    await this.#objects.replaceStatus(next, { timeoutMs: REQUEST_TIMEOUT_MS });
  }

  async #say(turn: Turn, said: readonly Outcome[]): Promise<void> {
    await this.#change(turn, (object) => withMigrationConditions(object, said, this.#now()));
  }

  #now(): string {
    return timestampAt(this.#options.clock.now());
  }

  #definition({ resourceName: name, signal }: Turn): CrdPlace {
    return { ...this.#options, name, signal };
  }

  /** Resolves to false if the migration was deleted or has ended, so that nothing is changed. */
  async #change(turn: Turn, change: (object: StorageVersionMigration) => StorageVersionMigration): Promise<boolean> {
    for (let race = 1; ; race++) {
      const object = await this.#read(turn.name, turn.signal);
      if (object === undefined || object.metadata?.uid !== turn.uid || isTerminal(object)) return false;
      const next = change(object);
      if (jsonEquals(next, object)) return true;
      try {
        await this.#objects.replaceStatus(next, { signal: turn.signal, timeoutMs: REQUEST_TIMEOUT_MS });
        return true;
      } catch (thrown) {
        if (isReason(thrown, "NotFound")) return false;
        if (!isReason(thrown, "Conflict") || race >= STATE_RACES_MAX) throw thrown;
      }
    }
  }

  async #read(name: string, signal: AbortSignal): Promise<StorageVersionMigration | undefined> {
    try {
      return await this.#objects.get({ name }, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return undefined;
      throw thrown;
    }
  }

  #migrationSource(
    informer: Informer<StorageVersionMigration>,
    wake: (resourceName: string, enqueue: (key: string) => void) => void,
  ): KeySource {
    return handlerSource(informer, (enqueue) => {
      const tell = (object: StorageVersionMigration): void => {
        enqueue(object.metadata?.name ?? "");
        if (isTerminal(object)) wake(migratedName(object), enqueue);
      };
      // Only resyncs and the end of a migration count: most other updates are status writes of this controller, which
      // must not trigger it again.
      const onUpdate = (object: StorageVersionMigration, before: StorageVersionMigration): void => {
        if (object === before || isTerminal(object)) tell(object);
      };
      const onDelete = (object: StorageVersionMigration): void => {
        this.#deletions.get(object.metadata?.uid ?? "")?.abort(DELETED);
        wake(migratedName(object), enqueue);
      };
      return { onAdd: tell, onUpdate, onDelete };
    });
  }
}

function obstacleTo({ type, verbs }: DiscoveredResource): string | undefined {
  if (isEvents(type)) return "events are not migrated: they expire by themselves";
  if (VERBS.every((verb) => verbs.includes(verb))) return undefined;
  return `resource ${JSON.stringify(typeText(type))} does not support discovery operations: [${VERBS.join(" ")}]`;
}

function isCheckpoint(resourceVersion: string): boolean {
  return /^[1-9][0-9]{0,19}$/.test(resourceVersion);
}

/** As Go prints a GroupVersionResource. */
function typeText({ group, version, resource }: DiscoveredResource["type"]): string {
  return `${group}/${version}, Resource=${resource}`;
}
