/**
 * Replaces three kube-apiservers by Evenkeel servers, one at a time, and these by kube-apiservers again, while a real
 * kube-controller-manager and clients work through a load balancer. Each kind serves an API that the other does not.
 */
import { Agent } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { createReadinessProbe } from "../../src/tools/cli/up/readiness.ts";
import { openLoadBalancer, type LoadBalancer } from "../../src/tools/cli/up/load-balancer.ts";
import { ask } from "../smoke/client.ts";
import { TOKEN } from "../smoke/start-evenkeel.ts";
import {
  CONTROLLER_MANAGER,
  errorsByCause,
  startControllerManager,
  whyNoControllerManager,
} from "./real-controller-manager.ts";
import { minorOf, REAL_BINARIES, whySkipped } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer, type ServerKind } from "./real-cluster.ts";
import { NEW_FIELD_MINOR, NewFields } from "./new-fields.ts";
import { NAMESPACE, Work, type Send } from "./replaced-workload.ts";

const SERVERS = 3;
const RELEASE = "1.36";
const ONLY_KUBE = "/apis/autoscaling/v1/namespaces/default/horizontalpodautoscalers";
const ONLY_EVENKEEL = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const READ_EVERY_MS = 50;
/** The pause between two replacements, in which the controllers work on servers of both kinds. */
const BETWEEN_MS = 3_000;

/** The oldest kube-apiserver is replaced. */
const oldest = REAL_BINARIES.toSorted((one, other) => minorOf(one.release) - minorOf(other.release))[0];
const why = whySkipped(oldest, "1.31 or newer") ?? whyNoControllerManager();

describe.skipIf(why !== undefined)("while Evenkeel servers replace kube-apiservers, and are replaced", () => {
  test(
    "no response of Evenkeel is a false 404, no acknowledged write is lost, only kube-apiservers drop fields that they do not know, and the controllers finish their work",
    { timeout: 900_000 },
    async () => {
      await using stack = new AsyncDisposableStack();
      const cluster = stack.use(await openRealCluster(SERVERS + 1));
      const servers: RunningServer[] = [];
      for (let at = 0; at < SERVERS; at++) servers.push(await startAt(cluster, "kube-apiserver", at));
      const balancer = await balance(stack, cluster, servers);
      const url = `https://127.0.0.1:${balancer.port}`;
      const manager = stack.use(startControllerManager(cluster, { path: CONTROLLER_MANAGER, url }));
      const work = await Work.start(sender(url, servers[0]!.ca));
      // After a server has ended, the next one has the same address.
      const running = new Set(servers);
      const reads = new Reads(running, work);
      const fields = new NewFields(running);
      const clients = [reads.run(), fields.run()];
      for (const kind of ["evenkeel", "kube-apiserver"] as const) {
        for (let at = 0; at < SERVERS; at++) {
          await servers[at]!.stop();
          running.delete(servers[at]!);
          servers[at] = await startAt(cluster, kind, at);
          running.add(servers[at]!);
          await delay(BETWEEN_MS);
        }
      }
      reads.isStopped = true;
      fields.isStopped = true;
      await Promise.all(clients);
      const report = await work.stop();
      const reader = await startAt(cluster, "evenkeel", SERVERS);
      const fieldReport = await fields.report(reader);
      console.log(`reads through Evenkeel: ${JSON.stringify(reads.codes)}`);
      console.log(`creations: ${JSON.stringify(report.writes)}; scenes: ${JSON.stringify(report.scenes)}`);
      console.table([...errorsByCause(manager.stderr)].map(([cause, count]) => ({ count, cause })));
      console.log(`updates of objects with a new field: ${JSON.stringify(fieldReport.updates)}`);
      console.table(fieldReport.byWriters);
      expect(reads.wrong).toEqual({});
      expect(fieldReport.lostByEvenkeel).toEqual([]);
      expect(fieldReport.missing).toEqual([]);
      expect(fieldReport.byWriters["created through evenkeel"]?.kept).toBeGreaterThan(0);
      const isKnown = minorOf(oldest!.release) >= NEW_FIELD_MINOR;
      for (const [writers, { objects, kept }] of Object.entries(fieldReport.byWriters))
        expect([writers, kept]).toEqual([writers, writers.includes("kube-apiserver") && !isKnown ? 0 : objects]);
      expect(report.lost).toEqual([]);
      expect(report.failed).toEqual([]);
      expect(Object.keys(report.scenes).sort()).toEqual(["deployment", "job", "namespace"]);
      expect(reads.codes[`${ONLY_KUBE} 200`]).toBeGreaterThan(0);
      expect(reads.codes[`${ONLY_EVENKEEL} 200`]).toBeGreaterThan(0);
    },
  );
});

/** Each kind of server lacks a version that the other serves. */
function startAt(cluster: RealCluster, kind: ServerKind, at: number): Promise<RunningServer> {
  return kind === "evenkeel"
    ? cluster.startEvenkeel({ at, release: RELEASE, flags: ["--runtime-config=autoscaling/v1=false"] })
    : cluster.startKube({ at, binary: oldest!, flags: ["--runtime-config=autoscaling/v2=false"] });
}

async function balance(
  stack: AsyncDisposableStack,
  { addresses }: RealCluster,
  servers: readonly RunningServer[],
): Promise<LoadBalancer> {
  const [{ ca, port }] = servers as readonly [RunningServer];
  const readiness = createReadinessProbe({ ca, token: TOKEN });
  stack.defer(() => readiness.close());
  const balancer = await openLoadBalancer({
    ...{ host: "127.0.0.1", port: 0, onChange: () => {} },
    isReady: (backend) => readiness.isReady(backend),
  });
  stack.defer(() => balancer.close());
  await balancer.setBackends(addresses.slice(0, SERVERS).map((host, index) => ({ id: String(index), host, port })));
  return balancer;
}

/** Each request has its own connection, so that it reaches a ready server. */
function sender(url: string, ca: string): Send {
  const agent = new Agent({ keepAlive: false });
  return (method, path, body) => ask({ url, port: 0, ca, token: TOKEN, agent }, { method, path, body });
}

/** Reads through every Evenkeel server objects and collections that exist. */
class Reads {
  isStopped = false;
  readonly codes: Record<string, number> = {};
  /** The false 404s, by server and message. */
  readonly wrong: Record<string, number> = {};
  readonly #servers: ReadonlySet<RunningServer>;
  readonly #work: Work;

  constructor(servers: ReadonlySet<RunningServer>, work: Work) {
    this.#servers = servers;
    this.#work = work;
  }

  async run(): Promise<void> {
    for (let turn = 0; !this.isStopped; turn++) {
      const { acknowledged } = this.#work;
      const name = acknowledged[Math.floor((turn * 7) % Math.max(1, acknowledged.length))] ?? "kube-root-ca.crt";
      const paths = [`/api/v1/namespaces/${NAMESPACE}/configmaps/${name}`, ONLY_KUBE, ONLY_EVENKEEL];
      const path = paths[turn % paths.length]!;
      const evenkeels = [...this.#servers].filter(({ kind }) => kind === "evenkeel");
      await Promise.all(evenkeels.map((server) => this.#read(server, path)));
      await delay(READ_EVERY_MS);
    }
  }

  async #read(server: RunningServer, path: string): Promise<void> {
    const response = await server.request("GET", path).catch(() => undefined);
    const shown = path.includes("/configmaps/") ? "a ConfigMap" : path;
    const key = `${shown} ${response?.status ?? "no response"}`;
    this.codes[key] = (this.codes[key] ?? 0) + 1;
    if (response?.status !== 404) return;
    const message = `${server.address}: ${response.body?.message}`;
    this.wrong[message] = (this.wrong[message] ?? 0) + 1;
  }
}
