/**
 * What aggregated servers say they serve: asked when an APIService comes, changes or is reachable again, and every minute
 * besides. What a server said last is kept for as long as its APIService is there; when it cannot be asked, that is Stale.
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
import type { AskService } from "./ask-server.ts";
import type { KnownApiService } from "./decide.ts";
import type { RemoteGroupVersion } from "./merge-discovery.ts";
import { runWorkers } from "./workers.ts";

interface RemoteDiscoveryOptions {
  /** All there are now. */
  readonly apiServices: () => readonly KnownApiService[];
  readonly ask: AskService;
  /** What `groupVersions` returns is something else now. */
  readonly onChange: () => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface RemoteDiscovery {
  /** Of every aggregated APIService there is, whether it was described or not. */
  groupVersions(): readonly RemoteGroupVersion[];
  /** This APIService came, went or changed, or its availability did. */
  changed(apiService: RemoteApiService): void;
  /** Until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const REFRESH_MS = 60_000;
const ANSWER_MS = 5_000;
const ANSWER_BYTES_MAX = 16 * 1024 * 1024;
const WORKERS = 2;
const AGGREGATED_KIND = "as=APIGroupDiscoveryList";
const ACCEPT = ["v2", "v2beta1"]
  .map((version) => `application/json;g=apidiscovery.k8s.io;v=${version};${AGGREGATED_KIND}`)
  .join(",");

/** The last good answer to /apis of a service. */
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
  /** As told last, by name of the APIService. */
  readonly #versions = new Map<string, DiscoveryVersion>();
  readonly #failing = new Set<string>();
  /** What was known to everybody when somebody was told last. */
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
    this.#tellChanges();
  }

  /** Asks the server of this service. Rejects when it does not answer. */
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
      this.#tellChanges();
    }
    return { againAfterMs: REFRESH_MS };
  }

  #tellChanges(): void {
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
  readonly ask: AskService;
  readonly signal: AbortSignal;
}

interface Found {
  readonly described: Described | undefined;
  /** By name of the APIService. */
  readonly versions: ReadonlyMap<string, DiscoveryVersion>;
}

/** What one server says of all its group versions. Rejects when it does not say it, and then nothing of it counts. */
async function describe(
  apiServices: readonly RemoteApiService[],
  known: Described | undefined,
  asking: Asking,
): Promise<Found> {
  const first = must(apiServices[0], "a server is asked about the API services that it serves");
  const described = await askAggregated(first, known, asking);
  const versions = new Map<string, DiscoveryVersion>();
  for (const apiService of apiServices) {
    const version = described === undefined ? await askLegacy(apiService, asking) : versionIn(described, apiService);
    versions.set(apiService.name, version);
  }
  return { described, versions };
}

/** Undefined when it does not speak that. */
async function askAggregated(
  apiService: RemoteApiService,
  known: Described | undefined,
  { ask, signal }: Asking,
): Promise<Described | undefined> {
  const headers = ["Accept", ACCEPT, ...(known?.etag === undefined ? [] : ["If-None-Match", known.etag])];
  const bounds = { timeoutMs: ANSWER_MS, bytesMax: ANSWER_BYTES_MAX };
  const answer = await ask(apiService, { target: "/apis", headers, ...bounds, signal });
  if (answer.status === 304 && known !== undefined) return known;
  if (answer.status === 503) throw new Error("the server says that it is not available");
  const isAggregated = answer.header("content-type")?.includes(AGGREGATED_KIND) === true;
  if (answer.status !== 200 || !isAggregated) return undefined;
  return { etag: answer.header("etag"), groups: decodeGroups(answer.json()) };
}

async function askLegacy(apiService: RemoteApiService, { ask, signal }: Asking): Promise<DiscoveryVersion> {
  const bounds = { timeoutMs: ANSWER_MS, bytesMax: ANSWER_BYTES_MAX };
  const target = `/apis/${formatGroupVersion(apiService)}`;
  const answer = await ask(apiService, { target, headers: ["Accept", "application/json"], ...bounds, signal });
  if (answer.status !== 200) throw new Error(`the answer to ${target} is ${answer.status}`);
  return decodeResourceList(answer.json(), apiService);
}

/** A group version that the server does not mention has nothing in it. */
function versionIn({ groups }: Described, { group, version }: RemoteApiService): DiscoveryVersion {
  const found = groups.find(({ name }) => name === group)?.versions.find((candidate) => candidate.version === version);
  return found ?? empty(version);
}
