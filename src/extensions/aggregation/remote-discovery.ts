/**
 * Fetches the discovery of aggregated servers: when an APIService is added, changes or becomes available again, and
 * every minute. The last result is kept as long as the APIService exists, and is marked Stale while the server cannot
 * be reached.
 */
import { must } from "../../base/assert.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { WorkQueue } from "../../base/work-queue.ts";
import { decodeGroups, decodeResourceList } from "../../serving/discovery/decode.ts";
import type { DiscoveryGroup, DiscoveryVersion } from "../../serving/discovery/groups.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import type { RemoteApiService } from "./api-service.ts";
import type { CallService } from "./call-server.ts";
import type { KnownApiService } from "./decide.ts";
import type { RemoteGroupVersion } from "./merge-discovery.ts";
import { runWorkers } from "./workers.ts";

interface RemoteDiscoveryOptions {
  /** All aggregated APIServices that exist now. */
  readonly apiServices: () => readonly KnownApiService[];
  readonly ask: CallService;
  /** Called when the result of `groupVersions` changes. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface RemoteDiscovery {
  /** The group versions of all aggregated APIServices, including those whose discovery has not been fetched yet. */
  groupVersions(): readonly RemoteGroupVersion[];
  /** Must be called when this APIService is added, deleted or changed, or when its availability changes. */
  changed(apiService: RemoteApiService): void;
  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const REFRESH_MS = 60_000;
const RESPONSE_TIMEOUT_MS = 5_000;
const RESPONSE_BYTES_MAX = 16 * 1024 * 1024;
const WORKERS = 2;
const AGGREGATED_KIND = "as=APIGroupDiscoveryList";
const ACCEPT = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};${AGGREGATED_KIND}`)
  .join(",");

/** The last good response to /apis from the server behind a Service. */
interface Described {
  readonly etag: string | undefined;
  readonly groups: readonly DiscoveryGroup[];
}

export function createRemoteDiscovery(options: RemoteDiscoveryOptions): RemoteDiscovery {
  const documents = new RemoteDocuments(options);
  const { clock, random, log } = options;
  const queue = new WorkQueue({ clock, random, retryMsMax: REFRESH_MS });
  const task = "discovery of an aggregated server";
  return {
    groupVersions: () => documents.groupVersions(),
    changed(apiService) {
      documents.forgetOthers();
      queue.add(serviceKey(apiService));
    },
    run: (signal) =>
      runWorkers({ queue, workers: WORKERS, work: (key) => documents.refresh(key, signal), log, task }, signal),
  };
}

class RemoteDocuments {
  readonly #options: RemoteDiscoveryOptions;
  readonly #described = new Map<string, Described>();
  /** The last fetched discovery, by name of the APIService. */
  readonly #versions = new Map<string, DiscoveryVersion>();
  readonly #failing = new Set<string>();
  /** The group versions, as JSON, when `onChange` was last called. */
  #shown = "[]";

  constructor(options: RemoteDiscoveryOptions) {
    this.#options = options;
  }

  groupVersions(): RemoteGroupVersion[] {
    return this.#options.apiServices().map(({ apiService, isAvailable }) => {
      const { name, group, version, groupPriorityMinimum, versionPriority } = apiService;
      const known = this.#versions.get(name);
      const isCurrent = known !== undefined && isAvailable && !this.#failing.has(serviceKey(apiService));
      const freshness = isCurrent ? "Current" : "Stale";
      return { group, groupPriorityMinimum, versionPriority, version: { ...(known ?? empty(version)), freshness } };
    });
  }

  forgetOthers(): void {
    const known = this.#options.apiServices();
    const names = new Set(known.map(({ apiService }) => apiService.name));
    const keys = new Set(known.map(keyOf));
    for (const name of this.#versions.keys()) if (!names.has(name)) this.#versions.delete(name);
    for (const key of this.#described.keys()) if (!keys.has(key)) this.#described.delete(key);
    for (const key of this.#failing) if (!keys.has(key)) this.#failing.delete(key);
    this.#notifyChanges();
  }

  /** Fetches the discovery of the server behind this Service. Rejects if the server does not respond. */
  async refresh(key: string, signal: AbortSignal): Promise<{ againAfterMs: number } | undefined> {
    const asked = this.#options.apiServices().filter((known) => known.isAvailable && keyOf(known) === key);
    if (asked.length === 0) return undefined;
    const those = asked.map(({ apiService }) => apiService);
    try {
      const found = await describe(those, this.#described.get(key), { ask: this.#options.ask, signal });
      if (found.described === undefined) this.#described.delete(key);
      else this.#described.set(key, found.described);
      for (const [name, version] of found.versions) this.#versions.set(name, version);
      this.#failing.delete(key);
    } catch (thrown) {
      this.#failing.add(key);
      throw thrown;
    } finally {
      this.#notifyChanges();
    }
    return { againAfterMs: REFRESH_MS };
  }

  #notifyChanges(): void {
    const now = JSON.stringify(this.groupVersions());
    if (now === this.#shown) return;
    this.#shown = now;
    this.#options.onChange();
  }
}

function keyOf({ apiService }: KnownApiService): string {
  return serviceKey(apiService);
}

function serviceKey({ service: { namespace, name, port } }: RemoteApiService): string {
  return `${namespace}/${name}:${port}`;
}

function empty(version: string): DiscoveryVersion {
  return { version, freshness: "Current", resources: [] };
}

interface Asking {
  readonly ask: CallService;
  readonly signal: AbortSignal;
}

interface Found {
  readonly described: Described | undefined;
  /** The discovery of each group version, by name of its APIService. */
  readonly versions: ReadonlyMap<string, DiscoveryVersion>;
}

/**
 * Fetches the discovery of all group versions of one server. Rejects without a partial result if one of them cannot be
 * fetched.
 */
async function describe(
  apiServices: readonly RemoteApiService[],
  known: Described | undefined,
  asking: Asking,
): Promise<Found> {
  const first = must(apiServices[0], "a server has at least one APIService");
  const described = await fetchAggregated(first, known, asking);
  const versions = new Map<string, DiscoveryVersion>();
  for (const apiService of apiServices) {
    const version = described === undefined ? await fetchLegacy(apiService, asking) : versionIn(described, apiService);
    versions.set(apiService.name, version);
  }
  return { described, versions };
}

/** Returns undefined if the server does not support aggregated discovery. */
async function fetchAggregated(
  apiService: RemoteApiService,
  known: Described | undefined,
  { ask, signal }: Asking,
): Promise<Described | undefined> {
  const headers = ["Accept", ACCEPT, ...(known?.etag === undefined ? [] : ["If-None-Match", known.etag])];
  const bounds = { timeoutMs: RESPONSE_TIMEOUT_MS, bytesMax: RESPONSE_BYTES_MAX };
  const response = await ask(apiService, { target: "/apis", headers, ...bounds, signal });
  if (response.status === 304 && known !== undefined) return known;
  if (response.status === 503) throw new Error("the server returned 503");
  const isAggregated = response.header("content-type")?.includes(AGGREGATED_KIND) === true;
  if (response.status !== 200 || !isAggregated) return undefined;
  return { etag: response.header("etag"), groups: decodeGroups(response.json()) };
}

async function fetchLegacy(apiService: RemoteApiService, { ask, signal }: Asking): Promise<DiscoveryVersion> {
  const bounds = { timeoutMs: RESPONSE_TIMEOUT_MS, bytesMax: RESPONSE_BYTES_MAX };
  const target = `/apis/${formatGroupVersion(apiService)}`;
  const response = await ask(apiService, { target, headers: ["Accept", "application/json"], ...bounds, signal });
  if (response.status !== 200) throw new Error(`the response to ${target} has status ${response.status}`);
  return decodeResourceList(response.json(), apiService);
}

/** A group version that is missing in the server's document has no resources. */
function versionIn({ groups }: Described, { group, version }: RemoteApiService): DiscoveryVersion {
  const found = groups.find(({ name }) => name === group)?.versions.find((candidate) => candidate.version === version);
  return found ?? empty(version);
}
