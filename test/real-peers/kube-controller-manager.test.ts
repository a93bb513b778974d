/**
 * Evenkeel's controllers beside a real kube-controller-manager, which publishes another CA bundle. The audit log shows
 * who writes which object how often. KUBE_CONTROLLER_MANAGER names the binary.
 */
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { KUBE_CONTROLLER_MANAGER_CONTROLLERS } from "../../src/cluster/controllers/controller-names.ts";
import { KUBE_CONTROLLER_MANAGER_GRACE_MS } from "../../src/cluster/controllers/kube-controller-manager-lease.ts";
import type { Json } from "../smoke/client.ts";
import { runProgram, startEvenkeel, temporaryDirectory, type Command, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { issueCa } from "../testing/access/auth/certificates.ts";
import { CONTROLLER_MANAGER, whyNoControllerManager } from "./real-controller-manager.ts";

const STATUS = "/evenkeel/v1/status";
const NAMESPACES = "/api/v1/namespaces";
const CONFIG_MAP = "configmaps/kube-root-ca.crt";
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
/** The user agents of Evenkeel's own requests, and of those of kube-controller-manager, without their versions. */
const OURS = "kube-apiserver";
const THEIRS = "kube-controller-manager";
const MINUTE_MS = 60_000;
const DEADLINE_MS = 120_000;
const POLL_MS = 100;
/** It renews its lease every 2 s, so the last renewal is up to 2 s older than its end, and slower if the host is busy. */
const LAST_RENEWAL_MS = 10_000;
/** The first write, a repetition at once, and then after 1, 2, 4, 8, 16 and 32 s; before it, the creation. */
const CONTESTED_WRITES_MAX = 9;

const why = whyNoControllerManager();

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** A server with an audit log, and a kube-controller-manager that is its client. */
class Beside implements AsyncDisposable {
  readonly server: Evenkeel;
  readonly #owned: AsyncDisposableStack;

  private constructor(server: Evenkeel, owned: AsyncDisposableStack) {
    this.server = server;
    this.#owned = owned;
  }

  static async start(...flags: string[]): Promise<Beside> {
    const directory = temporaryDirectory();
    const policy = join(directory, "policy.yaml");
    writeFileSync(policy, "apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{ level: Metadata }]\n");
    const audit = ["--audit-policy-file", policy, "--audit-log-path", join(directory, "audit.log")];
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rmSync(directory, { recursive: true, force: true }));
    const server = stack.use(await startEvenkeel({ dataDir: directory, flags: [...audit, ...flags] }));
    return new Beside(server, stack.move());
  }

  async startManager(): Promise<Command> {
    const { kubeconfig, dataDir } = this.server;
    const rootCa = join(dataDir, "their-ca.crt");
    writeFileSync(rootCa, issueCa("another CA").pem);
    const flags = ["--kubeconfig", kubeconfig, "--root-ca-file", rootCa, "--secure-port=0"];
    const manager = this.#owned.use(runProgram(CONTROLLER_MANAGER, flags));
    await this.until(async () => (await this.get(LEASE)).spec?.holderIdentity);
    return manager;
  }

  async get(path: string): Promise<Json> {
    return (await this.server.request("GET", path)).body;
  }

  async published(namespace = "default"): Promise<string> {
    return (await this.get(`${NAMESPACES}/${namespace}/${CONFIG_MAP}`)).data?.["ca.crt"] ?? "";
  }

  /** Resolves to the first value that is not undefined, null, false or "". */
  async until<T>(read: () => Promise<T>): Promise<NonNullable<T>> {
    const until = Date.now() + DEADLINE_MS;
    do {
      const value = await read();
      if (value !== undefined && value !== null && !NOT_YET.has(value)) return value;
      await pause(POLL_MS);
    } while (Date.now() < until);
    throw new Error(`it did not happen within ${DEADLINE_MS} ms: ${read.toString()}`);
  }

  /** The successful writes since then, without leases and events: how often each client wrote each object. */
  writesSince(atMs: number): Map<string, Record<string, number>> {
    const writes = new Map<string, Record<string, number>>();
    const lines = readFileSync(join(this.server.dataDir, "audit.log"), "utf8").trimEnd().split("\n");
    for (const line of lines) {
      const event: Json = JSON.parse(line);
      const { objectRef = {}, verb, userAgent = "", responseStatus, requestReceivedTimestamp } = event;
      const isWrite = ["create", "update", "patch", "delete"].includes(verb) && responseStatus?.code < 300;
      if (!isWrite || IGNORED.has(objectRef.resource) || Date.parse(requestReceivedTimestamp) < atMs) continue;
      const object = `${objectRef.resource} ${objectRef.namespace ?? ""}/${objectRef.name ?? ""}`;
      const [client] = userAgent.split("/");
      const counts = writes.get(object) ?? {};
      writes.set(object, { ...counts, [client]: (counts[client] ?? 0) + 1 });
    }
    return writes;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#owned.disposeAsync();
  }
}

const NOT_YET: ReadonlySet<unknown> = new Set([false, ""]);
const IGNORED: ReadonlySet<string> = new Set(["leases", "events"]);

/** Work for the controllers: a namespace with a quota, and a role with an aggregation rule. */
async function makeWork({ server }: Beside, name: string): Promise<void> {
  const make = async (path: string, body: object): Promise<void> => {
    const { status, text } = await server.request("POST", path, body);
    expect([status, text]).toEqual([201, expect.anything()]);
  };
  await make(NAMESPACES, { apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name }, spec: { hard: { configmaps: "9" } } };
  await make(`${NAMESPACES}/${name}/resourcequotas`, quota);
  const role = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole" };
  const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
  const rules = [{ verbs: ["get"], apiGroups: ["example.com"], resources: [name] }];
  await make("/apis/rbac.authorization.k8s.io/v1/clusterroles", { ...role, metadata: { name, labels }, rules });
}

function ofConfigMaps(writes: ReadonlyMap<string, Record<string, number>>): Record<string, number>[] {
  return [...writes].filter(([object]) => object.endsWith("/kube-root-ca.crt")).map(([, counts]) => counts);
}

describe
  .skipIf(why !== undefined)
  .concurrent("beside a real kube-controller-manager", { timeout: 4 * MINUTE_MS + DEADLINE_MS }, () => {
    test("controllers stand back, and take over 60 s after its last renewal", async () => {
      await using beside = await Beside.start();
      const { server } = beside;
      const ours = await beside.until(() => beside.published());
      const manager = await beside.startManager();
      await beside.until(async () => (await beside.published()) !== ours);
      await beside.until(async () => (await beside.get(STATUS)).heldByKubeControllerManager);
      await pause(5_000);
      const startedAt = Date.now();
      await makeWork(beside, "while-it-runs");
      await pause(MINUTE_MS);
      const writes = beside.writesSince(startedAt);
      console.log(`writes within a minute with --controllers=auto: ${inWords(writes)}`);
      expect(writes.get("configmaps while-it-runs/kube-root-ca.crt")).toEqual({ [THEIRS]: 1 });
      expect(ofConfigMaps(writes)).toHaveLength(1);
      expect(writes.get("serviceaccounts while-it-runs/default")?.[OURS]).toBeUndefined();
      const { holder, controllers } = (await beside.get(STATUS)).heldByKubeControllerManager;
      expect(holder).toBe((await beside.get(LEASE)).spec.holderIdentity);
      expect(controllers).toEqual(KUBE_CONTROLLER_MANAGER_CONTROLLERS);

      manager.child.kill("SIGKILL");
      const endedAt = Date.now();
      await manager.exited;
      await beside.until(async () => (await beside.published()) === ours);
      const tookMs = Date.now() - endedAt;
      console.log(`takeover ${tookMs} ms after the end of kube-controller-manager`);
      expect(tookMs).toBeGreaterThan(KUBE_CONTROLLER_MANAGER_GRACE_MS - LAST_RENEWAL_MS);
      expect((await beside.get(STATUS)).heldByKubeControllerManager).toBeNull();
      expect(server.stderr).not.toContain("overwrites an object again and again");
    });

    test("controllers that do not stand back write a contested object a few times per minute, and name the other client", async () => {
      await using beside = await Beside.start("--controllers=*");
      await beside.until(() => beside.published());
      const startedAt = Date.now();
      await beside.startManager();
      await makeWork(beside, "contested");
      await beside.until(() => Promise.resolve(beside.server.stderr.includes("again and again")));
      const contested = await beside.until(async () =>
        (await beside.get(STATUS)).waitingFor.find(({ kind }: Json) => kind === "object"),
      );
      await pause(startedAt + MINUTE_MS - Date.now());
      const writes = beside.writesSince(startedAt);
      console.log(`writes within a minute with --controllers=*: ${inWords(writes)}`);
      const counts = ofConfigMaps(writes);
      expect(counts.length).toBeGreaterThan(3);
      for (const { [OURS]: own = 0 } of counts) expect(own).toBeLessThanOrEqual(CONTESTED_WRITES_MAX);
      expect(contested.because).toContain("kube-controller-manager overwrites it");
      expect(beside.server.stderr).toMatch(/again and again.*kube-root-ca\.crt.*kube-controller-manager/);
      console.log(
        beside.server.stderr
          .split("\n")
          .filter((line) => line.includes("again and again"))
          .join("\n"),
      );
    });
  });

function inWords(writes: ReadonlyMap<string, Record<string, number>>): string {
  return [...writes]
    .map(
      ([object, counts]) =>
        `${object}: ${Object.entries(counts)
          .map(([client, count]) => `${client} ${count}`)
          .join(", ")}`,
    )
    .sort()
    .join("\n  ");
}
