/**
 * Records the truth about encodings at every revision of the store, independent of the servers: the stored versions of
 * objects, the StorageVersion objects, the servers with a valid identity lease, and the servers that participate in the
 * agreement on each resource.
 */
import type { Catalog } from "../../src/objects/catalog/catalog.ts";
import { stringAt, type JsonObject } from "../../src/meta/json.ts";
import { storedResourceVersions } from "../../src/cluster/storageversion/stored-resource-versions.ts";
import { decodeStatus } from "../../src/cluster/storageversion/decode-status.ts";
import type { StoredResourceVersions } from "../../src/cluster/storageversion/encodings.ts";
import type { StorageVersionStatus } from "../../src/cluster/storageversion/objects.ts";
import type { Commit, StoreHistory, StoreWriter } from "../../src/tools/simulator/history.ts";
import { HistoryMap } from "./history-map.ts";
import type { Host } from "../../src/tools/simulator/host.ts";
import type { Run } from "../../src/tools/simulator/server.ts";

export const STORAGE_VERSIONS = "storageversions/";
const LEASES = "leases/kube-system/";
const SERVED_RECORDS = "evenkeel/served/";
/** Clocks of servers run at most this much faster or slower than the clock of the world. */
const DRIFT_MAX = 0.02;

export interface EncodingRecordOptions {
  readonly history: StoreHistory;
  /** All runs of servers so far. */
  readonly runs: readonly Run[];
  /** Time without a lease renewal after which a server must be fenced and its peers may ignore it. */
  readonly fenceAfterMs: number;
}

/** The resources that a run stores, by key prefix and by the name of the StorageVersion object. */
interface Stored {
  readonly byPlace: ReadonlyMap<string, StoredResourceVersions>;
  readonly byName: ReadonlyMap<string, StoredResourceVersions>;
}

interface Standing {
  /** Times at which the server wrote its identity lease, by the clock of the world, oldest first. */
  readonly renewals: readonly number[];
  /** Names of the StorageVersions that the server has published since it last renewed its lease too late. */
  readonly published: ReadonlySet<string>;
}

const NO_STANDING: Standing = { renewals: [], published: new Set() };

export class EncodingRecord {
  readonly #options: EncodingRecordOptions;
  readonly #stored = new WeakMap<Catalog, Stored>();
  readonly #standings: HistoryMap<Host, Standing>;
  /** The runs whose served resources are recorded in the store. */
  readonly #recorded: HistoryMap<Host, true>;
  readonly #statuses: HistoryMap<string, StorageVersionStatus>;
  /** Number of stored objects, by resource name and version. */
  readonly #counts: HistoryMap<string, ReadonlyMap<string, number>>;
  /**
   * Resource names by key prefix, for all runs so far, because objects remain stored when no live server stores the
   * resource.
   */
  readonly #names = new Map<string, string>();

  constructor(options: EncodingRecordOptions) {
    this.#options = options;
    const { history } = options;
    this.#standings = new HistoryMap(history);
    this.#recorded = new HistoryMap(history);
    this.#statuses = new HistoryMap(history);
    this.#counts = new HistoryMap(history);
    options.history.onCommit((commit) => this.#observe(commit));
  }

  get history(): StoreHistory {
    return this.#options.history;
  }

  /** Whether the history of the store shows that the run existed, so that servers must know of its departure. */
  isRecorded({ host }: Run): boolean {
    return this.#recorded.has(host);
  }

  runOf({ host }: StoreWriter): Run | undefined {
    return this.#options.runs.findLast((run) => run.host === host);
  }

  /** The resource that the run stores at this key. */
  resourceAt(run: Run, key: string): StoredResourceVersions | undefined {
    return lookUp(this.#storedBy(run).byPlace, key);
  }

  resourceNamed(run: Run, name: string): StoredResourceVersions | undefined {
    return this.#storedBy(run).byName.get(name);
  }

  resourcesOf(run: Run): Iterable<StoredResourceVersions> {
    return this.#storedBy(run).byName.values();
  }

  /** The status of a StorageVersion object; undefined if it does not exist. */
  status(name: string): StorageVersionStatus | undefined {
    return this.#statuses.get(name);
  }

  get names(): Iterable<string> {
    return this.#statuses.keys();
  }

  /** The versions in which objects of a resource are stored now. */
  storedVersions(name: string): readonly string[] {
    return [...(this.#counts.get(name)?.keys() ?? [])];
  }

  /**
   * Whether peers must treat the server as live: it is running, and its lease was renewed so recently that the server
   * is not fenced, even if its clock is fast.
   */
  isMember(run: Run, nowMs: number): boolean {
    const renewedAtMs = this.#standing(run.host).renewals.at(-1);
    if (run.endedAtMs !== undefined || run.host.state === "dead" || renewedAtMs === undefined) return false;
    return nowMs - renewedAtMs < this.#options.fenceAfterMs * (1 - DRIFT_MAX);
  }

  /**
   * Whether the server has published the resource while it was live, and peers have had no reason to remove its entry
   * since.
   */
  takesPart(run: Run, name: string, nowMs: number): boolean {
    return this.isMember(run, nowMs) && this.#standing(run.host).published.has(name);
  }

  /** The live servers that participate in the agreement on a resource. */
  participants(name: string, nowMs: number): Run[] {
    return this.#options.runs.filter((run) => this.takesPart(run, name, nowMs));
  }

  /** Time since the last lease renewal when a server sent a change; undefined if it never had a lease. */
  silenceMs({ host }: StoreWriter, sentAtMs: number): number | undefined {
    const renewedAtMs = this.#standing(host).renewals.findLast((atMs) => atMs <= sentAtMs);
    return renewedAtMs === undefined ? undefined : sentAtMs - renewedAtMs;
  }

  /** The time without renewal after which a server must be fenced, however slow its clock is. */
  get silenceMsMax(): number {
    return this.#options.fenceAfterMs * (1 + DRIFT_MAX);
  }

  #observe(commit: Commit): void {
    const { key, sending, before, after } = commit;
    if (sending !== undefined && key.startsWith(`${SERVED_RECORDS}${sending.serverId}/`))
      this.#recorded.set(sending.host, true);
    if (key.startsWith(STORAGE_VERSIONS)) return this.#observeStatus(key.slice(STORAGE_VERSIONS.length), commit);
    if (sending !== undefined && key === `${LEASES}${sending.serverId}` && after !== undefined)
      return this.#renewed(sending.host, commit.atMs);
    const run = sending && this.runOf(sending);
    const name = lookUp(this.#names, key) ?? (run && this.resourceAt(run, key)?.name);
    if (name === undefined) return;
    this.#count(name, before, -1);
    this.#count(name, after, 1);
    // A write of an object counts as publishing, because a server writes a resource only if it considers its entry
    // published.
    if (sending !== undefined && after !== undefined) this.#notePublished(name, sending);
  }

  #observeStatus(name: string, { sending, after }: Commit): void {
    if (after === undefined) this.#statuses.delete(name);
    else this.#statuses.set(name, decodeStatus(after));
    if (sending !== undefined) this.#notePublished(name, sending);
  }

  #notePublished(name: string, writer: StoreWriter): void {
    const run = this.runOf(writer);
    // If the run does not store the resource, the entry is from an earlier run of the server.
    if (run === undefined || this.resourceNamed(run, name) === undefined) return;
    const entries = this.#statuses.get(name)?.storageVersions ?? [];
    const { renewals, published } = this.#standing(writer.host);
    if (!published.has(name) && entries.some(({ apiServerID }) => apiServerID === run.serverId))
      this.#standings.set(writer.host, { renewals, published: new Set([...published, name]) });
  }

  #renewed(host: Host, atMs: number): void {
    const { renewals, published } = this.#standing(host);
    const lastAtMs = renewals.at(-1);
    const isLate = lastAtMs !== undefined && atMs - lastAtMs >= this.#options.fenceAfterMs * (1 - DRIFT_MAX);
    this.#standings.set(host, { renewals: [...renewals, atMs], published: isLate ? new Set() : published });
  }

  #standing(host: Host): Standing {
    return this.#standings.get(host) ?? NO_STANDING;
  }

  #count(name: string, object: JsonObject | undefined, by: 1 | -1): void {
    if (object === undefined) return;
    const counts = new Map(this.#counts.get(name));
    this.#counts.set(name, counts);
    const version = stringAt(object, "apiVersion");
    const count = (counts.get(version) ?? 0) + by;
    if (count <= 0) counts.delete(version);
    else counts.set(version, count);
  }

  #storedBy({ server }: Run): Stored {
    const { catalog } = server;
    const known = this.#stored.get(catalog);
    if (known !== undefined) return known;
    const resources = storedResourceVersions(catalog);
    const placeOf = ({ group, resource }: StoredResourceVersions): string =>
      catalog.resource(group, resource)!.storagePrefix!;
    const stored = {
      byPlace: new Map(resources.map((resource) => [placeOf(resource), resource])),
      byName: new Map(resources.map((resource) => [resource.name, resource])),
    };
    for (const [place, { name }] of stored.byPlace) this.#names.set(place, name);
    this.#stored.set(catalog, stored);
    return stored;
  }
}

/** A key prefix has one or two path segments. */
function lookUp<T>(byPlace: ReadonlyMap<string, T>, key: string): T | undefined {
  const first = key.indexOf("/");
  if (first < 0) return undefined;
  const second = key.indexOf("/", first + 1);
  return (second < 0 ? undefined : byPlace.get(key.slice(0, second))) ?? byPlace.get(key.slice(0, first));
}
