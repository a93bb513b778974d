/**
 * What is true of encodings at every revision: in which versions objects lie in the store, what StorageVersion objects
 * say, whose identity lease is fresh, and who takes part in the agreement on which resource.
 */
import type { Catalogue } from "../../src/objects/catalogue/catalogue.ts";
import { stringAt, type JsonObject } from "../../src/meta/json.ts";
import { storedResourceVersions } from "../../src/cluster/storageversion/stored-resource-versions.ts";
import { decodeStatus } from "../../src/cluster/storageversion/decode-status.ts";
import type { StoredResourceVersions } from "../../src/cluster/storageversion/encodings.ts";
import type { StorageVersionStatus } from "../../src/cluster/storageversion/objects.ts";
import type { Commit, StoreHistory, StoreWriter } from "../../src/tools/simulator/history.ts";
import type { Host } from "../../src/tools/simulator/host.ts";
import type { Run } from "../../src/tools/simulator/server.ts";

export const STORAGE_VERSIONS = "storageversions/";
const LEASES = "leases/kube-system/";
/** Clocks of servers run up to this much faster or slower than the world's. */
const DRIFT_MAX = 0.02;

export interface EncodingRecordOptions {
  readonly history: StoreHistory;
  /** All there were so far. */
  readonly runs: readonly Run[];
  /** How long a server may be silent before it must be fenced, and others may do without it. */
  readonly fenceAfterMs: number;
}

/** What a run stores, by the first parts of the key and by the name of the StorageVersion object. */
interface Stored {
  readonly byPlace: ReadonlyMap<string, StoredResourceVersions>;
  readonly byName: ReadonlyMap<string, StoredResourceVersions>;
}

interface Standing {
  /** World's times at which its identity lease was written, oldest first. */
  readonly renewals: number[];
  /** The names of those resources for which its entry has been in the store since its lease was last doubtful. */
  readonly published: Set<string>;
}

export class EncodingRecord {
  readonly #options: EncodingRecordOptions;
  readonly #stored = new WeakMap<Catalogue, Stored>();
  readonly #standings = new WeakMap<Host, Standing>();
  readonly #statuses = new Map<string, StorageVersionStatus>();
  /** By name: how many objects lie in which version. */
  readonly #counts = new Map<string, Map<string, number>>();
  /** By place, of every run so far: also what nobody who lives stores any more stays in the store. */
  readonly #names = new Map<string, string>();

  constructor(options: EncodingRecordOptions) {
    this.#options = options;
    options.history.onCommit((commit) => this.#observe(commit));
  }

  runOf({ host }: StoreWriter): Run | undefined {
    return this.#options.runs.findLast((run) => run.host === host);
  }

  /** What the run stores at this key. */
  resourceAt(run: Run, key: string): StoredResourceVersions | undefined {
    return lookUp(this.#storedBy(run).byPlace, key);
  }

  resourceNamed(run: Run, name: string): StoredResourceVersions | undefined {
    return this.#storedBy(run).byName.get(name);
  }

  resourcesOf(run: Run): Iterable<StoredResourceVersions> {
    return this.#storedBy(run).byName.values();
  }

  /** Of a StorageVersion object that there is. */
  status(name: string): StorageVersionStatus | undefined {
    return this.#statuses.get(name);
  }

  get names(): Iterable<string> {
    return this.#statuses.keys();
  }

  /** The versions in which objects of a resource lie in the store now. */
  storedVersions(name: string): readonly string[] {
    return [...(this.#counts.get(name)?.keys() ?? [])];
  }

  /** Others must count it among the living: it runs, and its lease was renewed so recently that it may not be fenced. */
  isMember(run: Run, nowMs: number): boolean {
    const renewedAtMs = this.#standings.get(run.host)?.renewals.at(-1);
    if (run.endedAtMs !== undefined || run.host.state === "dead" || renewedAtMs === undefined) return false;
    return nowMs - renewedAtMs < this.#options.fenceAfterMs * (1 - DRIFT_MAX);
  }

  /** It has published the resource as one of the living, and nobody had reason to forget that. */
  takesPart(run: Run, name: string, nowMs: number): boolean {
    return this.isMember(run, nowMs) && this.#standings.get(run.host)!.published.has(name);
  }

  /** Members that take part in the agreement on a resource. */
  participants(name: string, nowMs: number): Run[] {
    return this.#options.runs.filter((run) => this.takesPart(run, name, nowMs));
  }

  /** For how long a server had not renewed its lease when it sent something; undefined when it had never had one. */
  silenceMs({ host }: StoreWriter, sentAtMs: number): number | undefined {
    const renewedAtMs = this.#standings.get(host)?.renewals.findLast((atMs) => atMs <= sentAtMs);
    return renewedAtMs === undefined ? undefined : sentAtMs - renewedAtMs;
  }

  /** After such a silence a server must be fenced, however slow its clock is. */
  get silenceMsMax(): number {
    return this.#options.fenceAfterMs * (1 + DRIFT_MAX);
  }

  #observe(commit: Commit): void {
    const { key, sending, before, after } = commit;
    if (key.startsWith(STORAGE_VERSIONS)) return this.#observeStatus(key.slice(STORAGE_VERSIONS.length), commit);
    if (sending !== undefined && key === `${LEASES}${sending.serverId}` && after !== undefined)
      return this.#renewed(sending.host, commit.atMs);
    const run = sending && this.runOf(sending);
    const name = lookUp(this.#names, key) ?? (run && this.resourceAt(run, key)?.name);
    if (name === undefined) return;
    this.#count(name, before, -1);
    this.#count(name, after, 1);
    // Whoever writes a resource believes that others know it.
    if (sending !== undefined && after !== undefined) this.#notePublished(name, sending);
  }

  #observeStatus(name: string, { sending, after }: Commit): void {
    if (after === undefined) this.#statuses.delete(name);
    else this.#statuses.set(name, decodeStatus(after));
    if (sending !== undefined) this.#notePublished(name, sending);
  }

  #notePublished(name: string, writer: StoreWriter): void {
    const run = this.runOf(writer);
    // An entry of a resource it does not store was left by an earlier run.
    if (run === undefined || this.resourceNamed(run, name) === undefined) return;
    const entries = this.#statuses.get(name)?.storageVersions ?? [];
    if (entries.some(({ apiServerID }) => apiServerID === run.serverId))
      this.#standing(writer.host).published.add(name);
  }

  #renewed(host: Host, atMs: number): void {
    const { renewals, published } = this.#standing(host);
    const lastAtMs = renewals.at(-1);
    if (lastAtMs !== undefined && atMs - lastAtMs >= this.#options.fenceAfterMs * (1 - DRIFT_MAX)) published.clear();
    renewals.push(atMs);
  }

  #standing(host: Host): Standing {
    let standing = this.#standings.get(host);
    if (standing === undefined) {
      standing = { renewals: [], published: new Set() };
      this.#standings.set(host, standing);
    }
    return standing;
  }

  #count(name: string, object: JsonObject | undefined, by: 1 | -1): void {
    if (object === undefined) return;
    const counts = this.#counts.get(name) ?? new Map<string, number>();
    this.#counts.set(name, counts);
    const version = stringAt(object, "apiVersion");
    const count = (counts.get(version) ?? 0) + by;
    if (count <= 0) counts.delete(version);
    else counts.set(version, count);
  }

  #storedBy({ server }: Run): Stored {
    const { catalogue } = server;
    const known = this.#stored.get(catalogue);
    if (known !== undefined) return known;
    const resources = storedResourceVersions(catalogue);
    const placeOf = ({ group, resource }: StoredResourceVersions): string =>
      catalogue.resource(group, resource)!.storagePrefix!;
    const stored = {
      byPlace: new Map(resources.map((resource) => [placeOf(resource), resource])),
      byName: new Map(resources.map((resource) => [resource.name, resource])),
    };
    for (const [place, { name }] of stored.byPlace) this.#names.set(place, name);
    this.#stored.set(catalogue, stored);
    return stored;
  }
}

/** Places are one or two parts of a path. */
function lookUp<T>(byPlace: ReadonlyMap<string, T>, key: string): T | undefined {
  const first = key.indexOf("/");
  if (first < 0) return undefined;
  const second = key.indexOf("/", first + 1);
  return (second < 0 ? undefined : byPlace.get(key.slice(0, second))) ?? byPlace.get(key.slice(0, first));
}
