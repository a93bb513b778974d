/**
 * Runs the watches and requests of clients that retry, in a process of its own. It takes a RestartPlan on its command
 * line. After SIGTERM it waits until all requests are complete and all events are received, then writes one
 * RestartReport.
 */
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as delay } from "node:timers/promises";
import { CoreV1Api, KubeConfig, type V1ConfigMap } from "@kubernetes/client-node";
import { withEvenkeel } from "../../src/client/client-node/with-evenkeel.ts";
import {
  createClient,
  createSystemClock,
  createSystemRandom,
  type Client,
  type KubernetesObject,
  type ResourceClient,
} from "../../src/client/index.ts";
import { createNodeTransport } from "../../src/client/node-transport.ts";
import { isExpired } from "../../src/client/status.ts";
import { isFailure } from "../../src/client/transport.ts";
import { Http2Transport } from "./rolling-restart-http2.ts";
import { WireTally } from "./restarting-clients-wire.ts";
import type { RestartPlan, RestartReport, WatchedEvents } from "./rolling-restart.ts";

/** The number of clients that send requests, each with its own connections. */
const TRANSPORTS = 40;
/** The number of workers. Each sends one request at a time, so some can wait for a server while others continue. */
const WORKERS = 400;
const TICK_MS = 10;
const REST_MS = 90_000;
const FAILURES_MAX = 20;
const STEPS = ["create", "get", "list", "replace", "get", "delete"] as const;
type Step = (typeof STEPS)[number];
const CONFIG_MAPS = { group: "", version: "v1", resource: "configmaps", namespaced: true };

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

interface Api {
  readonly name: string;
  create(namespace: string, object: ConfigMap): Promise<ConfigMap>;
  replace(namespace: string, object: ConfigMap): Promise<ConfigMap>;
  get(namespace: string, name: string): Promise<ConfigMap>;
  list(namespace: string): Promise<unknown>;
  remove(namespace: string, name: string): Promise<unknown>;
}

const plan = JSON.parse(process.argv[2]!) as RestartPlan;
const stopping = new AbortController();
process.on("SIGTERM", () => stopping.abort());
// Ends the process when the process that reads its output has ended.
process.stdout.on("error", () => process.exit(1));

const wire = new WireTally((status) => status >= 400 && ![503, 429, 410].includes(status));
const requests: Record<string, number> = {};
const failures: string[] = [];
const undecided: string[] = [];
const stalls = monitorEventLoopDelay();
stalls.enable();
const acknowledged: string[] = [];
const newest = new Map<string, number>();
const watchEnds: Record<string, number> = {};
let goaways = 0;
let left = 0;

const watching = new AbortController();

function add(counts: Record<string, number>, key: string): void {
  counts[key] = (counts[key] ?? 0) + 1;
}

function fail(what: string, thrown: unknown): void {
  if (failures.length < FAILURES_MAX) failures.push(`${what}: ${String(thrown)}`);
}

/** Creates a client with HTTP/1.1 if the index is even, and with HTTP/2 if it is odd. */
function clientOf(index: number): Client {
  const { url, ca, token } = plan;
  const transport =
    index % 2 === 0
      ? createNodeTransport({ url, ca, token })
      : new Http2Transport({ url, ca, token, wire, onGoaway: () => goaways++ });
  return createClient({ transport, clock: createSystemClock(), random: createSystemRandom(), ifReadyHeader: true });
}

/** Starts requests at a fixed rate, without waiting for responses. */
async function load(): Promise<void> {
  const apis = Array.from({ length: TRANSPORTS }, (_, index) => (index % 10 === 9 ? clientNode() : ours(index)));
  const idle = Array.from({ length: WORKERS }, (_, index) => new Worker(apis[index % apis.length]!, index));
  const open = new Set<Promise<void>>();
  const startedAt = performance.now();
  for (let due = 0; !stopping.signal.aborted; await delay(TICK_MS)) {
    for (; due * 1000 < (performance.now() - startedAt) * plan.perSecond; due++) {
      const worker = idle.shift();
      if (worker === undefined) {
        left++;
        continue;
      }
      const done = worker.ask().finally(() => {
        idle.push(worker);
        open.delete(done);
      });
      open.add(done);
    }
  }
  await Promise.all(open);
}

function ours(index: number): Api {
  const configMaps = clientOf(index).resource<ConfigMap>(CONFIG_MAPS);
  return {
    name: index % 2 === 0 ? "http/1.1" : "h2",
    create: (_namespace, object) => configMaps.create(object),
    replace: (_namespace, object) => configMaps.replace(object),
    get: (namespace, name) => configMaps.get({ namespace, name }),
    list: (namespace) => configMaps.list({ namespace, limit: 5 }),
    remove: (namespace, name) => configMaps.delete({ namespace, name }),
  };
}

function clientNode(): Api {
  const config = new KubeConfig();
  const caData = Buffer.from(plan.ca).toString("base64");
  const cluster = { name: "cluster", server: plan.url, caData, skipTLSVerify: false };
  config.loadFromClusterAndUser(cluster, { name: "user", token: plan.token });
  withEvenkeel(config, { ifReadyHeader: true });
  const core = config.makeApiClient(CoreV1Api);
  const read = ({ metadata, data }: V1ConfigMap): ConfigMap => {
    const { name, namespace, resourceVersion } = metadata ?? {};
    return { metadata: { name: name!, namespace: namespace!, resourceVersion: resourceVersion! }, data: data ?? {} };
  };
  const body = (object: object): V1ConfigMap => object;
  return {
    name: "client-node",
    create: async (namespace, object) => read(await core.createNamespacedConfigMap({ namespace, body: body(object) })),
    replace: async (namespace, object) =>
      read(await core.replaceNamespacedConfigMap({ namespace, name: object.metadata!.name!, body: body(object) })),
    get: async (namespace, name) => read(await core.readNamespacedConfigMap({ namespace, name })),
    list: (namespace) => core.listNamespacedConfigMap({ namespace, limit: 5 }),
    remove: (namespace, name) => core.deleteNamespacedConfigMap({ namespace, name }),
  };
}

/** Creates, reads, changes and deletes one object after the other. */
class Worker {
  readonly #api: Api;
  readonly #namespace: string;
  readonly #index: number;
  #turn: number;

  constructor(api: Api, index: number) {
    this.#api = api;
    this.#index = index;
    // Each worker first lists a different number of times, so that workers are at different steps.
    this.#turn = -(index % STEPS.length);
    this.#namespace = plan.namespaces[index % plan.namespaces.length]!;
  }

  async ask(): Promise<void> {
    const turn = this.#turn++;
    const step = turn < 0 ? "list" : STEPS[turn % STEPS.length]!;
    const name = `worker-${this.#index}-${Math.floor(turn / STEPS.length)}`;
    try {
      await this.#do(step, name);
      add(requests, `${this.#api.name} ${step}`);
    } catch (thrown) {
      const what = `${this.#api.name} ${step} ${this.#namespace}/${name}`;
      // An HTTP/1.1 server can close a connection on which the client is just sending a write. The result of the write
      // is then unknown.
      if (isFailure(thrown, "reset") && this.#api.name === "http/1.1") undecided.push(`${what}: ${String(thrown)}`);
      else fail(what, thrown);
      // The state of this object is unknown, so the worker continues with the next object.
      this.#turn = Math.ceil(this.#turn / STEPS.length) * STEPS.length;
    }
  }

  async #do(step: Step, name: string): Promise<void> {
    const [api, namespace] = [this.#api, this.#namespace];
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { step } };
    if (step === "create") this.#acknowledge(await api.create(namespace, object));
    else if (step === "replace") this.#acknowledge(await api.replace(namespace, object));
    else if (step === "get") await api.get(namespace, name);
    else if (step === "delete") await api.remove(namespace, name);
    else await api.list(namespace);
  }

  #acknowledge({ metadata }: ConfigMap): void {
    const revision = Number(metadata!.resourceVersion);
    acknowledged.push(`configmaps/${this.#namespace}/${metadata!.name} ${revision}`);
    newest.set(this.#namespace, Math.max(revision, newest.get(this.#namespace) ?? 0));
  }
}

interface Watcher {
  readonly opened: Promise<void>;
  readonly told: WatchedEvents;
  /** Waits until the watcher has received all acknowledged creations and updates. */
  caughtUp(): Promise<void>;
}

/** One in ten watchers watches all namespaces, the others watch one namespace each. */
function startWatcher(index: number): Watcher {
  const namespace = index % 10 === 0 ? undefined : plan.namespaces[index % plan.namespaces.length]!;
  const configMaps = clientOf(index >> 1).resource<ConfigMap>(CONFIG_MAPS);
  const opened = Promise.withResolvers<void>();
  const said: WatchedEvents = { prefix: `configmaps/${namespace === undefined ? "" : `${namespace}/`}`, stretches: [] };
  const follow = async (): Promise<void> => {
    while (!watching.signal.aborted) {
      const stretch = await list(configMaps, namespace);
      said.stretches.push(stretch);
      opened.resolve();
      await followFrom(configMaps, namespace, stretch);
    }
  };
  follow().catch((thrown: unknown) => {
    fail(`watch ${index}`, thrown);
    opened.resolve();
  });
  const due = (): number => (namespace === undefined ? Math.max(0, ...newest.values()) : (newest.get(namespace) ?? 0));
  return {
    opened: opened.promise,
    told: said,
    async caughtUp() {
      while ((said.stretches.at(-1)?.to ?? 0) < due()) await delay(50);
    },
  };
}

type MutableStretch = WatchedEvents["stretches"][number];

async function list(configMaps: ResourceClient<ConfigMap>, namespace: string | undefined): Promise<MutableStretch> {
  const { metadata, items } = await configMaps.list({ namespace });
  const from = Number(metadata.resourceVersion);
  const listed = items.map((item): [string, number] => [keyOf(item), Number(item.metadata!.resourceVersion)]);
  return { from, listed, events: [], to: from };
}

/** Watches until the server returns 410 or the test ends. */
async function followFrom(
  configMaps: ResourceClient<ConfigMap>,
  namespace: string | undefined,
  stretch: MutableStretch,
): Promise<void> {
  const { signal } = watching;
  while (!signal.aborted) {
    try {
      const options = { namespace, signal, resourceVersion: String(stretch.to), allowWatchBookmarks: true };
      for await (const { type, object } of configMaps.watch(options)) {
        stretch.to = Math.max(stretch.to, Number(object.metadata!.resourceVersion));
        if (type !== "BOOKMARK") stretch.events.push(`${type} ${keyOf(object)} ${stretch.to}`);
      }
      add(watchEnds, "ended");
    } catch (thrown) {
      if (signal.aborted) return;
      add(watchEnds, String(thrown));
      if (isExpired(thrown)) return;
    }
  }
}

function keyOf({ metadata }: KubernetesObject): string {
  return `configmaps/${metadata!.namespace}/${metadata!.name}`;
}

const watchers = Array.from({ length: plan.watches }, (_, index) => startWatcher(index));
await Promise.all(watchers.map(({ opened }) => opened));
process.stdout.write("watching\n");
// The measurement of stalls starts after a moment, because opening the connections stalls the process. No server closes
// a connection before that: the shutdown delay is two seconds.
setTimeout(() => stalls.reset(), 1_500).unref();
await load();
await Promise.race([Promise.all(watchers.map((watcher) => watcher.caughtUp())), delay(REST_MS)]);
watching.abort();
const reported = watchers.map((watcher) => watcher.told);
const stallMs = Math.round(stalls.max / 1e6);
const report: RestartReport = {
  ...{ requests, failures, undecided, left, acknowledged, reported, watchEnds, goaways, wire, stallMs },
};
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
