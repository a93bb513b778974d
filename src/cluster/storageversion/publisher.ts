/**
 * Keeps the entries of this server in the StorageVersion objects current. There is one entry for every resource that
 * the server stores. It is published before the resource may be written, and again whenever the stored entry differs
 * from the current one. Entries that an earlier run left for resources that are no longer stored here are removed.
 *
 *    pending → (written, or already correct) → published → (the object changed and the entry is not correct) → written
 *    again
 *
 * Entries of other servers are dropped only in a write that is needed anyway, and only if their servers are known to
 * have departed. A server that drops our entry treats this server as departed, and will do so again until it sees our
 * lease. Therefore the next write is delayed, and longer each time. The same holds for the implied entries of
 * kube-apiservers, because servers may disagree about whether a kube-apiserver is live.
 */
import { assert } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { MetricsRegistry, Counter, MetricFamily } from "../../base/metrics.ts";
import type { Random } from "../../base/random.ts";
import { runTogether } from "../../base/run-together.ts";
import { messageOf } from "../../base/within.ts";
import { WorkQueue } from "../../base/work-queue.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { jsonEquals } from "../../meta/json.ts";
import { isReason } from "../../meta/status-error.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import { chooseEncoding, settle } from "./agreement.ts";
import type { StoredResourceVersions } from "./encodings.ts";
import { isPublishedByServer, withImpliedEntries, type ImpliedFor, type ImpliedStorage } from "./implied-entries.ts";
import type { AgreementMember, Members } from "./members.ts";
import {
  STORAGE_VERSION_TYPE,
  type ServerStorageVersion,
  type StorageVersionObject,
  type StorageVersionStatus,
} from "./objects.ts";
import { WrittenEntries } from "./written-entries.ts";

interface PublisherOptions {
  readonly client: Client;
  readonly members: Members;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
  readonly serverId: string;
  readonly resources: readonly StoredResourceVersions[];
  /** Why this server must not publish now; undefined if it may. */
  readonly withheldBecause: () => string | undefined;
  readonly onPublished: (name: string) => void;
}

const WORKERS = 16;
/** Maximum number of attempts in a row. Each conflict means that another server has just published. */
const RACES_MAX = 5;
const RETRY_MS_MAX = 5_000;
const REQUEST_TIMEOUT_MS = 5_000;

export class Publisher {
  readonly #options: PublisherOptions;
  readonly #resources: Map<string, StoredResourceVersions>;
  readonly #objects: ResourceClient<StorageVersionObject>;
  readonly #informer: Informer<StorageVersionObject>;
  readonly #queue: WorkQueue;
  readonly #outcomes: MetricFamily<Counter>;
  readonly #pending: Set<string>;
  /** Resources that were added or changed after the start. `isComplete` does not wait for them. */
  readonly #late = new Set<string>();
  readonly #errors = new Map<string, string>();
  /** The last writes of this server. An older observation of the object is ignored. */
  readonly #written: WrittenEntries;
  /** Objects from which another server has dropped our entry, until they are processed. */
  readonly #dropped = new Set<string>();
  /** The properties from which implied entries followed when they were last checked. */
  #implied: readonly ImpliedStorage[] = [];
  #waiting: (() => void)[] = [];

  constructor(options: PublisherOptions) {
    const { client, clock, random, log, metrics, resources } = options;
    this.#options = options;
    this.#written = new WrittenEntries(clock);
    this.#resources = new Map(resources.map((resource) => [resource.name, resource]));
    this.#objects = client.resource<StorageVersionObject>(STORAGE_VERSION_TYPE);
    this.#informer = client.informer<StorageVersionObject>(STORAGE_VERSION_TYPE, {
      onError: (thrown) => log.warn("storage version watch failed", { error: messageOf(thrown) }),
    });
    const look = ({ metadata }: StorageVersionObject): void => this.#look(metadata?.name ?? "");
    this.#informer.addHandler({ onAdd: look, onUpdate: look, onDelete: look });
    this.#queue = new WorkQueue({ clock, random, retryMsMax: RETRY_MS_MAX });
    this.#pending = new Set(this.#resources.keys());
    this.#outcomes = metrics.counter({
      name: "evenkeel_storage_version_publications_total",
      help: "StorageVersion entries that this server tried to write, by outcome.",
      labels: ["result"],
    });
  }

  /** Forgets the revisions that this server has written, because the store has another history. */
  forgetRevisions(): void {
    this.#written.clear();
  }

  /** Whether all entries have been published since the start or the last call of `publishAll`. */
  get isComplete(): boolean {
    return this.#pending.size === 0;
  }

  /** The error of the last attempt to write the entry of this resource. */
  lastError(name: string): string | undefined {
    return this.#errors.get(name);
  }

  /**
   * Adds a resource that is stored here from now on, or changes its versions. `onPublished` is called when its entry is
   * stored.
   */
  put(resource: StoredResourceVersions): void {
    const { name } = resource;
    this.#resources.set(name, resource);
    this.#late.add(name);
    this.#queue.forget(name);
    this.#queue.add(name);
  }

  /** Removes a resource that is no longer stored here: its entry is removed. */
  remove(name: string): void {
    this.#resources.delete(name);
    this.#late.delete(name);
    this.#pending.delete(name);
    this.#errors.delete(name);
    this.#queue.forget(name);
    this.#queue.add(name);
  }

  /**
   * Checks every entry again, and writes those that are not correct. Resolves when all are correct, or when the signal
   * aborts.
   */
  async publishAll(signal: AbortSignal): Promise<void> {
    for (const name of this.#resources.keys()) {
      this.#pending.add(name);
      this.#queue.forget(name);
      this.#queue.add(name);
    }
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting.push(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
    if (this.isComplete || signal.aborted) resolve();
    await promise;
    this.#waiting = this.#waiting.filter((other) => other !== resolve);
  }

  async run(signal: AbortSignal): Promise<void> {
    const stopListening = this.#options.members.onChange(() => this.#lookAtImplied());
    signal.addEventListener("abort", stopListening, { once: true });
    await runTogether(signal, [
      (until) => this.#informer.run(until),
      async (until) => {
        if (await this.#informer.waitForSync(until))
          await this.#queue.run(WORKERS, (name) => this.#work(name, until), until);
      },
    ]);
  }

  async #work(name: string, signal: AbortSignal): Promise<void> {
    const wasDropped = this.#dropped.delete(name);
    const resource = this.#resources.get(name);
    try {
      await this.#publish(name, signal);
      if (!wasDropped) this.#queue.forget(name);
      // If the resource has changed meanwhile, it is in the queue again and not published yet.
      if (this.#resources.get(name) === resource) this.#done(name);
    } catch (thrown) {
      if (!signal.aborted) this.#failed(name, thrown);
      else this.#queue.add(name);
    }
  }

  /** Called when the object has changed, perhaps while a worker uses its earlier state. */
  #look(name: string): void {
    const resource = this.#resources.get(name);
    const { serverId, members } = this.#options;
    const object = this.#informer.get({ name });
    // The event of the last write of this server is still to come.
    if (object !== undefined && revisionOf(object) < (this.#written.revision(name) ?? 0)) return;
    const entries = object?.status?.storageVersions ?? [];
    const live = members.live();
    const complete = completeEntries(entries, resource, live);
    const others = complete.filter(({ apiServerID }) => apiServerID !== serverId);
    const own = entries.find(({ apiServerID }) => apiServerID === serverId);
    const isOwnCorrect = jsonEquals(own, resource && this.#entry(resource, others));
    if (isOwnCorrect && hasSameEntries(complete, entries)) return;
    if (own === undefined && resource !== undefined && this.#written.revision(name) !== undefined)
      return this.#restoreLater(name);
    const waitMs = this.#written.waitMs(name, this.#maintained(complete, resource, live));
    if (waitMs === 0) this.#queue.add(name);
    // Writes of the resource wait for the entry of this server.
    else this.#queue.addAfter(name, isOwnCorrect ? waitMs : Math.min(waitMs, RETRY_MS_MAX));
  }

  /** Called when another server has dropped the entry of this server. */
  #restoreLater(name: string): void {
    if (this.#dropped.has(name)) return;
    this.#dropped.add(name);
    this.#queue.addRateLimited(name);
  }

  /** Called when the live servers may have changed. */
  #lookAtImplied(): void {
    const before = this.#implied;
    const now = [...this.#options.members.live().values()].flatMap(({ implied = [] }) => implied);
    if (now.length === before.length && now.every((implied, index) => implied === before[index])) return;
    this.#implied = now;
    for (const name of this.#resources.keys()) if (!this.#pending.has(name)) this.#look(name);
  }

  #done(name: string): void {
    this.#errors.delete(name);
    const isLate = this.#late.delete(name);
    const isPending = this.#pending.delete(name);
    if (isLate || isPending) this.#options.onPublished(name);
    if (!isPending || this.#pending.size > 0) return;
    this.#options.log.info("storage version updates complete", { resources: this.#resources.size });
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  #failed(name: string, thrown: unknown): void {
    const error = messageOf(thrown);
    this.#outcomes.with("error").inc();
    this.#errors.set(name, error);
    this.#options.log.warn("storage version not published", { resource: name, error });
    this.#queue.addRateLimited(name);
  }

  async #publish(name: string, signal: AbortSignal): Promise<void> {
    const withheldBecause = this.#options.withheldBecause();
    if (withheldBecause !== undefined) throw new Error(withheldBecause);
    const request = { signal, timeoutMs: REQUEST_TIMEOUT_MS };
    let known = this.#informer.get({ name });
    let isTrusted = this.#informer.isOfCurrentHistory && revisionOf(known) >= (this.#written.revision(name) ?? 0);
    for (let race = 0; race < RACES_MAX; race++) {
      if (!isTrusted) known = await this.#objects.get({ name }, request).catch(absent);
      const next = await this.#next(name, known?.status ?? {});
      if (next === undefined) return;
      const { status, maintained } = next;
      try {
        const object = known ?? (await this.#objects.create(newObject(name, this.#resources.get(name)), request));
        const written = await this.#objects.replaceStatus({ ...object, status }, request);
        this.#written.put(name, revisionOf(written), maintained);
        this.#outcomes.with("written").inc();
        return;
      } catch (thrown) {
        if (!isRace(thrown)) throw thrown;
        isTrusted = false;
      }
    }
    throw new Error("other servers keep changing it");
  }

  /**
   * Returns the status to write; undefined if the entry of this server and the implied ones are correct. For a resource
   * that is not stored here, it removes an entry that an earlier run may have left.
   */
  async #next(name: string, status: StorageVersionStatus): Promise<NextStatus | undefined> {
    const resource = this.#resources.get(name);
    const { members, clock, serverId } = this.#options;
    const entries = status.storageVersions ?? [];
    const isLive = ({ apiServerID }: ServerStorageVersion): boolean => members.live().has(apiServerID);
    if (!entries.every(isLive) && !(await members.catchUp()))
      throw new Error("the live servers are unknown because the store cannot be read");
    const live = members.live();
    const complete = completeEntries(entries, resource, live);
    const maintained = this.#maintained(complete, resource, live);
    const own = maintained.find(({ apiServerID }) => apiServerID === serverId);
    const known = entries.find(({ apiServerID }) => apiServerID === serverId);
    if (jsonEquals(own, known) && hasSameEntries(complete, entries)) return undefined;
    assert(live.has(serverId), "a server that publishes is live");
    const now = timestampAt(clock.now());
    const settled =
      resource === undefined
        ? settle({ ...status, storageVersions: entries.filter((entry) => entry !== known) }, { live, now })
        : settle(status, { live, now, ...(own && { own }), resource: impliedFor(resource) });
    return { status: settled, maintained };
  }

  /** The entries that this server maintains: its own, and the implied ones of live kube-apiservers, sorted by ID. */
  #maintained(
    complete: readonly ServerStorageVersion[],
    resource: StoredResourceVersions | undefined,
    live: ReadonlyMap<string, AgreementMember>,
  ): readonly ServerStorageVersion[] {
    if (resource === undefined) return [];
    const { serverId } = this.#options;
    const others = complete.filter(({ apiServerID }) => apiServerID !== serverId && live.has(apiServerID));
    const implied = others.filter(
      (entry) => live.get(entry.apiServerID)?.implied !== undefined && !isPublishedByServer(entry),
    );
    return [this.#entry(resource, others), ...implied].sort((left, right) =>
      left.apiServerID < right.apiServerID ? -1 : 1,
    );
  }

  #entry(resource: StoredResourceVersions, others: readonly ServerStorageVersion[]): ServerStorageVersion {
    const { preferred, decodable, served } = resource;
    return {
      apiServerID: this.#options.serverId,
      encodingVersion: chooseEncoding(resource, others) ?? preferred,
      decodableVersions: decodable,
      servedVersions: served,
    };
  }
}

interface NextStatus {
  readonly status: StorageVersionStatus;
  readonly maintained: readonly ServerStorageVersion[];
}

/** The entries with the implied ones. A server does not judge the implied entries of resources that it does not store. */
function completeEntries(
  entries: readonly ServerStorageVersion[],
  resource: StoredResourceVersions | undefined,
  live: ReadonlyMap<string, AgreementMember>,
): readonly ServerStorageVersion[] {
  return resource === undefined ? entries : withImpliedEntries(entries, impliedFor(resource), live);
}

function impliedFor(resource: StoredResourceVersions): ImpliedFor {
  return { name: resource.name, custom: resource.definition === undefined ? undefined : resource };
}

/** Whether both have equal entries, in any order. */
function hasSameEntries(left: readonly ServerStorageVersion[], right: readonly ServerStorageVersion[]): boolean {
  const byId = new Map(right.map((entry) => [entry.apiServerID, entry]));
  return left.length === right.length && left.every((entry) => jsonEquals(entry, byId.get(entry.apiServerID)));
}

function newObject(name: string, resource: StoredResourceVersions | undefined): StorageVersionObject {
  const { group, version } = STORAGE_VERSION_TYPE;
  const { definition } = resource ?? {};
  const owner = definition && {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    ...definition,
  };
  const metadata = owner === undefined ? { name } : { name, ownerReferences: [owner] };
  return { kind: "StorageVersion", apiVersion: `${group}/${version}`, metadata, spec: {} };
}

/** The revision of the object; 0 if there is none. */
function revisionOf(object: StorageVersionObject | undefined): number {
  return Number(object?.metadata?.resourceVersion ?? 0);
}

function absent(thrown: unknown): undefined {
  if (!isReason(thrown, "NotFound")) throw thrown;
}

function isRace(thrown: unknown): boolean {
  return isReason(thrown, "Conflict") || isReason(thrown, "AlreadyExists") || isReason(thrown, "NotFound");
}
