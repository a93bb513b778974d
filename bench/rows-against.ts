/**
 * Measures the same requests on our server and on another API server, such as a kube-apiserver, in alternating rounds.
 * The objects are ConfigMaps, and Deployments without replicas, so that no controller of the other cluster starts pods
 * for them.
 */
import { randomBytes } from "node:crypto";
import type { BenchContext, Subject } from "./bench-context.ts";
import type { AgainstOptions } from "./against-options.ts";
import type { RequestShape } from "./client/protocol.ts";
import { dataName, dataText, deploymentName, deploymentText, namespaceText, NUMBER_MARK } from "./objects.ts";
import type { RowName } from "./options.ts";
import { cpuMs } from "./process-usage.ts";
import { credentialsOf, measureRounds, type MeasuredRounds, type Side } from "./rounds.ts";
import { compared, type Pair, type Row } from "./row.ts";
import { TOKEN } from "./servers.ts";
import { printLine, step } from "./step.ts";

/** The rows that can be measured on any API server. */
export const AGAINST_ROWS: readonly RowName[] = ["create", "get", "list", "deployment", "watch", "merge"];

const CONNECTIONS = 16;
const CONFIG_MAPS = 1_000;
const DEPLOYMENTS = 1_000;
/** Writes before the first round: for the first thousands of a kind, V8 compiles the code of the kind. */
const WARM_UP_WRITES = 6_000;
const LISTED = 5_000;
const WATCHERS = 500;
const EVENTS = 100;
const DISCOVERY = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/** One measured kind of request. */
interface Work {
  readonly id: string;
  readonly title: string;
  readonly only: RowName;
  readonly request: RequestShape;
  /** Requests per round at full scale. */
  readonly count: number;
  /** Requests before the first round, at full scale. Default: as many as in a round. */
  readonly warmUp?: number;
  /** True if requests may address the same objects again. */
  readonly repeats?: true;
  readonly connections?: number;
}

type Server = Omit<Side, "request">;

interface Servers {
  readonly ours: Server;
  readonly other: Server;
  readonly namespace: string;
}

export async function againstRows(
  context: BenchContext,
  subject: Subject,
  { endpoint, token, pids }: AgainstOptions,
): Promise<Row[]> {
  const namespace = `evenkeel-bench-${randomBytes(4).toString("hex")}`;
  const { server, etcdPid } = subject;
  const servers: Servers = {
    namespace,
    ours: { pids: [server.pid], port: server.port, ...(etcdPid === undefined ? {} : { helperPid: etcdPid }) },
    other: { ...endpoint, token, pids },
  };
  await createNamespaces(context, servers);
  try {
    return await measured(context, subject, servers);
  } finally {
    await removeObjects(context, servers);
  }
}

async function measured(context: BenchContext, { store }: Subject, servers: Servers): Promise<Row[]> {
  const { only } = context.options;
  const rows: Row[] = [];
  for (const work of works(servers.namespace)) {
    // The later rows read the ConfigMaps that the first one creates, and change the Deployments.
    if (!only.has(work.only) && work.id !== "create") continue;
    const row = await step(`${work.title}, ${store}`, () => workRow(context, work, { servers, store }));
    if (only.has(work.only)) rows.push(row);
  }
  if (only.has("watch")) rows.push(await step(`watch, ${store}`, () => watchRow(context, servers, store)));
  return rows;
}

function works(namespace: string): readonly Work[] {
  const configMaps = `/api/v1/namespaces/${namespace}/configmaps`;
  const deployments = `/apis/apps/v1/namespaces/${namespace}/deployments`;
  const deployment = `${deployments}/${deploymentName(NUMBER_MARK)}`;
  const writes = { warmUp: WARM_UP_WRITES };
  const image = {
    spec: { template: { spec: { containers: [{ name: "web", image: "registry.example/team/web:v2" }] } } },
  };
  const patched = (contentType: string, body: string, path = deployment): RequestShape => ({
    ...{ method: "PATCH", path, contentType, body, expectStatus: 200 },
  });
  return [
    {
      ...{ id: "create", title: "create ConfigMap 3 KB", only: "create", count: CONFIG_MAPS, ...writes },
      request: { method: "POST", path: configMaps, body: dataText(), expectStatus: 201 },
    },
    {
      ...{ id: "get", title: "GET ConfigMap 3 KB", only: "get", count: 10 * CONFIG_MAPS, repeats: true },
      request: { method: "GET", path: `${configMaps}/${dataName(NUMBER_MARK)}`, expectStatus: 200 },
    },
    {
      ...{ id: "list", title: "LIST 5,000 ConfigMaps", only: "list", count: 20, repeats: true, connections: 1 },
      request: { method: "GET", path: `${configMaps}?limit=${LISTED}`, expectStatus: 200 },
    },
    {
      ...{ id: "create-deployment", title: "create Deployment", only: "deployment", count: DEPLOYMENTS, ...writes },
      request: { method: "POST", path: deployments, body: idle(deploymentText("v1")), expectStatus: 201 },
    },
    {
      ...{ id: "apply", title: "server-side apply Deployment", only: "deployment", count: DEPLOYMENTS, ...writes },
      request: patched(
        "application/apply-patch+yaml",
        idle(deploymentText("v3")),
        `${deployment}?fieldManager=bench&force=true`,
      ),
    },
    {
      ...{
        id: "strategic-patch",
        title: "strategic merge patch Deployment",
        only: "deployment",
        count: DEPLOYMENTS,
        ...writes,
      },
      request: patched("application/strategic-merge-patch+json", JSON.stringify(image)),
    },
    {
      ...{ id: "delete", title: "delete Deployment", only: "deployment", count: DEPLOYMENTS, ...writes },
      request: { method: "DELETE", path: deployment, expectStatus: 200 },
    },
    {
      ...{ id: "merge", title: "aggregated discovery", only: "merge", count: CONFIG_MAPS, repeats: true },
      request: { method: "GET", path: "/apis", accept: DISCOVERY, expectStatus: 200 },
    },
  ];
}

async function workRow(
  { client, options }: BenchContext,
  work: Work,
  { servers, store }: { readonly servers: Servers; readonly store: string },
): Promise<Row> {
  const count = Math.max(1, Math.round(work.count * options.scale));
  const connections = work.connections ?? CONNECTIONS;
  const { request } = work;
  const rounds = await measureRounds({
    ...{ client, count, connections, rounds: options.rounds, protocol: "http/1.1", concurrency: connections },
    warmUp: Math.max(1, Math.round((work.warmUp ?? work.count) * options.scale)),
    // A repeated request reads the objects of the first round.
    ...(work.repeats === true ? { numbers: Math.max(1, Math.round(CONFIG_MAPS * options.scale)) } : {}),
    floor: { ...servers.other, request },
    ours: { ...servers.ours, request },
  });
  return { id: `against-${work.id}/${store}`, title: `${work.title}, ${store}`, ...figures(rounds, servers) };
}

/** CPU time if it is known of both servers, otherwise latency. */
function figures(rounds: MeasuredRounds, { other }: Servers): Pick<Row, "unit" | "floor" | "ours" | "ratio" | "wall"> {
  const { latency, floor, ours, ratio, wall } = rounds;
  return other.pids.length === 0
    ? { unit: "ms (median)", ...latency, wall }
    : { unit: "CPU µs/request", ...{ floor, ours, ratio, wall } };
}

/** One change to a ConfigMap that many clients watch, each over its own connection. */
async function watchRow(context: BenchContext, servers: Servers, store: string): Promise<Row> {
  const { options } = context;
  const events = Math.max(5, Math.round(EVENTS * options.scale));
  const sides = [
    { name: "other", server: servers.other },
    { name: "ours", server: servers.ours },
  ] as const;
  for (const side of sides) await openWatches(context, side, servers.namespace);
  const pairs: { cpu: Pair; latency: Pair }[] = [];
  let number = 0;
  for (let round = 0; round <= options.rounds; round++) {
    const found = { other: { cpu: NaN, latency: NaN }, ours: { cpu: NaN, latency: NaN } };
    for (const side of sides)
      found[side.name] = await measureFanOut(context, side, { events, number, namespace: servers.namespace });
    number += events;
    const pair = (unit: "cpu" | "latency"): Pair => ({ floor: found.other[unit], ours: found.ours[unit] });
    // The first round is the warm-up.
    if (round > 0) pairs.push({ cpu: pair("cpu"), latency: pair("latency") });
  }
  for (const { name } of sides)
    for (const part of ["watchers", "trigger"]) await context.client.close(`${name} ${part}`);
  const knowsCpu = servers.other.pids.length > 0;
  return {
    id: `against-watch/${store}`,
    title: `watch, 1 event to ${WATCHERS}, ${store}`,
    unit: knowsCpu ? "CPU µs/delivery" : "ms to the last watcher",
    ...compared(pairs.map(({ cpu, latency }) => (knowsCpu ? cpu : latency))),
  };
}

interface WatchedSide {
  readonly name: string;
  readonly server: Server;
}

async function openWatches({ client }: BenchContext, { name, server }: WatchedSide, namespace: string): Promise<void> {
  const target = { token: TOKEN, ...credentialsOf(server) };
  const selector = `metadata.name%3D${dataName("00000000")}`;
  const path = `/api/v1/namespaces/${namespace}/configmaps?watch=1&timeoutSeconds=3000&fieldSelector=${selector}&sendInitialEvents=false&resourceVersionMatch=NotOlderThan&resourceVersion=`;
  await client.open({ name: `${name} trigger`, protocol: "http/1.1", ...target, connections: 1 });
  await client.watch({ name: `${name} watchers`, ...target, path, count: WATCHERS });
}

async function measureFanOut(
  { client }: BenchContext,
  { name, server }: WatchedSide,
  { events, number, namespace }: { readonly events: number; readonly number: number; readonly namespace: string },
): Promise<{ readonly cpu: number; readonly latency: number }> {
  const own = (): number => server.pids.reduce((sum, pid) => sum + cpuMs(pid), 0);
  const before = own();
  const { p50Ms } = await client.fanOut({
    watchers: `${name} watchers`,
    trigger: `${name} trigger`,
    request: {
      method: "PATCH",
      path: `/api/v1/namespaces/${namespace}/configmaps/${dataName("00000000")}`,
      contentType: "application/merge-patch+json",
      body: JSON.stringify({ data: { sequence: NUMBER_MARK } }),
      expectStatus: 200,
    },
    events,
    firstNumber: number,
  });
  return { cpu: ((own() - before) * 1000) / (events * WATCHERS), latency: p50Ms };
}

async function createNamespaces({ client }: BenchContext, { ours, other, namespace }: Servers): Promise<void> {
  for (const server of [other, ours])
    await withConnection(client, server, (name) =>
      client.fetch(name, {
        ...{ method: "POST", path: "/api/v1/namespaces", body: namespaceText(namespace), expectStatus: 201 },
      }),
    );
}

/** Also works if no controller of the other cluster removes the content of namespaces. */
async function removeObjects({ client }: BenchContext, { other, namespace }: Servers): Promise<void> {
  const paths = [
    `/apis/apps/v1/namespaces/${namespace}/deployments`,
    `/api/v1/namespaces/${namespace}/configmaps`,
    `/api/v1/namespaces/${namespace}`,
  ];
  try {
    await withConnection(client, other, async (name) => {
      for (const path of paths) await client.fetch(name, { method: "DELETE", path, expectStatus: 200 });
    });
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    printLine(`bench: the namespace ${namespace} of the other server could not be removed, remove it yourself: ${why}`);
  }
}

async function withConnection(
  client: BenchContext["client"],
  server: Server,
  use: (name: string) => Promise<unknown>,
): Promise<void> {
  const name = "against";
  await client.open({ name, protocol: "http/1.1", token: TOKEN, ...credentialsOf(server), connections: 1 });
  try {
    await use(name);
  } finally {
    await client.close(name);
  }
}

/** The Deployment without replicas. */
function idle(deployment: string): string {
  return deployment.replace('"replicas":3', '"replicas":0');
}
