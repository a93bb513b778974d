/**
 * Restarts three servers behind a load balancer that checks /readyz, one after the other, as an operator would to
 * change a flag. Meanwhile, clients that retry send watches and requests. If this file is run as a program, it prints
 * the results of the clients.
 */
import { join } from "node:path";
import { createReadinessProbe } from "../../src/tools/cli/up/readiness.ts";
import { openLoadBalancer, type LoadBalancer } from "../../src/tools/cli/up/load-balancer.ts";
import { NODE, ROOT } from "../smoke/built.ts";
import { runProgram, TOKEN } from "../smoke/start-evenkeel.ts";
import { openFollowedStore, type FollowedStore } from "./watched-store.ts";
import { compareStretch } from "./watch-clients.ts";
import { counted, type WireCounts } from "./restarting-clients-wire.ts";
import { openCluster, type Cluster, type Member } from "./start-cluster.ts";

export interface RestartPlan {
  /** The address of the load balancer. */
  readonly url: string;
  readonly ca: string;
  readonly token: string;
  readonly namespaces: readonly string[];
  readonly watches: number;
  readonly perSecond: number;
}

export interface WatchedEvents {
  /** The prefix of the watched keys in the store. */
  readonly prefix: string;
  /** Lists, each with the watch events after it. A 410 starts a new list. */
  readonly stretches: { from: number; listed: [key: string, revision: number][]; events: string[]; to: number }[];
}

export interface RestartReport {
  /** The number of requests that have succeeded, keyed by client and step, for example "h2 create". */
  readonly requests: Readonly<Record<string, number>>;
  readonly failures: readonly string[];
  /** Writes over HTTP/1.1 whose connection closed before the response, so that their result is unknown. */
  readonly undecided: readonly string[];
  /** The longest time for which the event loop of the clients was blocked. */
  readonly stallMs: number;
  /** Requests that were skipped because all workers were waiting. */
  readonly left: number;
  /** The key and revision of each acknowledged creation or update, for example "configmaps/ns/a 17". */
  readonly acknowledged: readonly string[];
  readonly reported: readonly WatchedEvents[];
  readonly watchEnds: Readonly<Record<string, number>>;
  readonly goaways: number;
  readonly wire: WireCounts;
}

export interface RestartResult {
  readonly report: RestartReport;
  /** Differences between the received events and the store, and acknowledged writes that the store does not contain. */
  readonly gaps: readonly string[];
  readonly events: number;
  readonly lists: number;
  readonly summary: string;
}

export const WATCHES = 200;
const PER_SECOND = 200;
const NAMESPACES = Array.from({ length: 10 }, (_, index) => `team-${index}`);
/** Flags of every server. The load balancer checks /readyz twice a second, so four times during the shutdown delay. */
const COMMON = ["--shutdown-delay-duration=2s", "--startup-send-retry-after-if-not-initialized"];
/** Additional flags, which make each server shut down differently. */
const FLAGS: Readonly<Record<string, readonly string[]>> = {
  a: [],
  b: ["--shutdown-send-retry-after"],
  c: ["--shutdown-watch-termination-grace-period=2s", "--goaway-chance=0.01"],
};
const CATCH_UP_MS = 60_000;

export async function rollingRestart(): Promise<RestartResult> {
  await using stack = new AsyncDisposableStack();
  const cluster = stack.use(await openCluster());
  const { ca } = cluster;
  const store = stack.use(await openFollowedStore(cluster.etcd.endpoint));
  const members = await Promise.all(Object.keys(FLAGS).map((id) => start(cluster, id)));
  for (const name of NAMESPACES)
    await members[0]!.request("POST", "/api/v1/namespaces", {
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name },
    });
  const balancer = await balance(stack, ca, members);
  const plan: RestartPlan = {
    url: `https://127.0.0.1:${balancer.port}`,
    ...{ ca, token: TOKEN, namespaces: NAMESPACES, watches: WATCHES, perSecond: PER_SECOND },
  };
  const program = join(ROOT, "test/cluster/rolling-restart-process.ts");
  const clients = stack.use(runProgram(NODE, [program, JSON.stringify(plan)]));
  await clients.printed(/^watching$/m);
  const startedAt = Date.now();
  for (const member of members) await restart(cluster, balancer, member);
  clients.child.kill("SIGTERM");
  const tookMs = Date.now() - startedAt;
  const { code } = await clients.exited;
  const line = clients.stdout.split("\n").find((text) => text.startsWith("{"));
  if (code !== 0 || line === undefined) throw new Error(`the clients ended with ${code}: ${clients.stderr}`);
  await store.catchUp(AbortSignal.timeout(CATCH_UP_MS));
  return resultOf(JSON.parse(line) as RestartReport, store, tookMs);
}

function start(cluster: Cluster, id: string, port?: number): Promise<Member> {
  const flags = [...COMMON, ...FLAGS[id]!];
  return cluster.start({ id, release: "1.36", flags, ...(port === undefined ? {} : { port }) });
}

async function balance(stack: AsyncDisposableStack, ca: string, members: readonly Member[]): Promise<LoadBalancer> {
  const readiness = createReadinessProbe({ ca, token: TOKEN });
  stack.defer(() => readiness.close());
  const balancer = await openLoadBalancer({
    ...{ host: "127.0.0.1", port: 0, onChange: () => {} },
    isReady: (backend) => readiness.isReady(backend),
  });
  stack.defer(() => balancer.close());
  await balancer.setBackends(members.map(({ id, port }) => ({ id, host: "127.0.0.1", port })));
  return balancer;
}

/** Restarts the server, and waits until the load balancer has seen it ready. */
async function restart(
  cluster: Cluster,
  balancer: LoadBalancer,
  { id, port, command, ...member }: Member,
): Promise<void> {
  const { code } = await member.stop();
  if (code !== 0) throw new Error(`${id} did not stop cleanly: ${command.stderr}`);
  await start(cluster, id, port);
  while (!balancer.isReady(id)) await balancer.checkAll();
}

function resultOf(report: RestartReport, store: FollowedStore, tookMs: number): RestartResult {
  const { reported, acknowledged, requests, wire, watchEnds, goaways, left, failures, undecided, stallMs } = report;
  const commits = store.commits.filter(({ key }) => key.startsWith("configmaps/"));
  const committed = new Set(commits.map(({ key, revision }) => `${key} ${revision}`));
  const gaps = [
    ...reported.flatMap(({ prefix, stretches }, index) => {
      const here = commits.filter(({ key }) => key.startsWith(prefix));
      return stretches.flatMap((stretch) =>
        compareStretch(`watch ${index} of ${prefix}`, { ...stretch, listed: new Map(stretch.listed) }, here),
      );
    }),
    ...acknowledged.filter((write) => !committed.has(write)).map((write) => `${write} was acknowledged and is lost`),
    ...store.failures,
  ];
  const stretches = reported.flatMap((one) => one.stretches);
  const events = stretches.reduce((sum, stretch) => sum + stretch.events.length, 0);
  const asked = Object.values(requests).reduce((sum, count) => sum + count, 0);
  const summary = [
    `three restarts in ${(tookMs / 1000).toFixed(1)} s: ${asked} requests (${counted(requests)}), ${failures.length} failed, ${undecided.length} undecided, ${left} skipped; the clients stalled for at most ${stallMs} ms`,
    `${reported.length} watches, ${events} events, ${stretches.length} lists, ${gaps.length} gaps; watches ended: ${counted(watchEnds)}`,
    `on the wire ${counted(wire.answers)}; GOAWAY: ${goaways}; no response ${counted(wire.failures)}; ${wire.wrong.length} wrong`,
  ].join("\n");
  return { report, gaps, events, lists: stretches.length, summary };
}

if (import.meta.main) {
  const { summary, gaps, report } = await rollingRestart();
  console.info(summary, gaps.slice(0, 10), report.failures, report.wire.wrong);
}
