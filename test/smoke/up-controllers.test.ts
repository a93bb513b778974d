/**
 * Tests the controllers of `evenkeel up` as kubectl users see them: they delete namespaces with their content, and
 * garbage.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findTools } from "../clients/tools.ts";
import { ask, configMap, type Json } from "./client.ts";
import { startCluster, type RunningCluster } from "./start-cluster.ts";
import { runProgram } from "./start-evenkeel.ts";

const { kubectls, missing } = findTools();
if (missing !== undefined) console.warn(missing);
const kubectlPath = kubectls.findLast(({ path }) => path !== undefined)?.path;

const TEMPLATE = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "nginx:1" }] },
};
const SPEC = { replicas: 1, selector: { matchLabels: { app: "web" } }, template: TEMPLATE };

const CHAIN = "deployment.apps/web\nreplicaset.apps/web\npod/web\n";

/** A Deployment, or an object that the controllers of a Deployment would create. */
function made(kind: "Deployment" | "ReplicaSet" | "Pod", owner?: Json): Json {
  const { apiVersion, kind: ownerKind, metadata: { name = "", uid = "" } = {} } = owner ?? {};
  const reference = { apiVersion, kind: ownerKind, name, uid, controller: true, blockOwnerDeletion: true };
  const metadata = { name: "web", ...(owner === undefined ? {} : { ownerReferences: [reference] }) };
  if (kind === "Pod") return { apiVersion: "v1", kind, metadata, spec: TEMPLATE.spec };
  return { apiVersion: "apps/v1", kind, metadata, spec: SPEC };
}

describe.skipIf(kubectlPath === undefined)("a cluster of 1.35 and 1.36", { timeout: 120_000 }, () => {
  let cluster: RunningCluster;
  beforeAll(async () => {
    cluster = await startCluster({ flags: ["--servers", "1.35,1.36"] });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  async function kubectl(...commandLine: string[]): Promise<string> {
    const home = join(cluster.dataDir, "home");
    mkdirSync(home, { recursive: true });
    await using command = runProgram(kubectlPath!, commandLine, {
      PATH: process.env["PATH"],
      HOME: home,
      KUBECONFIG: cluster.printed.kubeconfig,
    });
    const { code } = await command.exited;
    expect({ commandLine, code, stderr: command.stderr }).toEqual({ commandLine, code: 0, stderr: "" });
    return command.stdout;
  }

  async function create(namespace: string, object: Json): Promise<Json> {
    const file = join(cluster.dataDir, `${namespace}-${object.kind}.json`);
    writeFileSync(file, JSON.stringify(object));
    return JSON.parse(await kubectl("create", "-n", namespace, "-f", file, "-o", "json"));
  }

  const list = (namespace: string): Promise<string> =>
    kubectl("get", "-n", namespace, "deployments,replicasets,pods", "-o", "name", "--ignore-not-found");

  /** Creates a Deployment, its ReplicaSet and its Pod. */
  async function createChain(namespace: string): Promise<void> {
    await kubectl("create", "namespace", namespace);
    const deployment = await create(namespace, made("Deployment"));
    const replicaSet = await create(namespace, made("ReplicaSet", deployment));
    await create(namespace, made("Pod", replicaSet));
    expect(await list(namespace)).toBe(CHAIN);
  }

  test("deletes a namespace and all its content before kubectl returns", async () => {
    await kubectl("create", "namespace", "doomed");
    await create("doomed", configMap("settings"));
    await create("doomed", made("Pod"));
    const at = Date.now();
    expect(await kubectl("delete", "namespace", "doomed")).toBe('namespace "doomed" deleted\n');
    console.info(`kubectl delete namespace returned after ${Date.now() - at} ms`);
    for (const { request } of cluster.servers) {
      expect((await request("GET", "/api/v1/namespaces/doomed")).status).toBe(404);
      for (const resource of ["configmaps", "pods", "serviceaccounts"])
        expect((await request("GET", `/api/v1/namespaces/doomed/${resource}`)).body.items).toEqual([]);
    }
    await kubectl("create", "namespace", "doomed");
    expect(await kubectl("get", "-n", "doomed", "configmaps,pods", "--ignore-not-found", "-o", "name")).not.toContain(
      "/settings",
    );
  });

  test("with background deletion deletes the dependents after their owner", async () => {
    await createChain("background");
    const at = Date.now();
    await kubectl("delete", "-n", "background", "deployment", "web", "--cascade=background");
    await kubectl("wait", "-n", "background", "--for=delete", "replicaset/web", "pod/web", "--timeout=60s");
    console.info(`collected in the background within ${Date.now() - at} ms`);
    expect(await list("background")).toBe("");
  });

  test("with foreground deletion deletes the dependents before their owner", async () => {
    await createChain("foreground");
    const hold = (finalizers: readonly string[]): Promise<string> =>
      kubectl(
        "patch",
        "-n",
        "foreground",
        "pod",
        "web",
        "--type=merge",
        "-p",
        JSON.stringify({ metadata: { finalizers } }),
      );
    await hold(["example.com/hold"]);
    await kubectl("delete", "-n", "foreground", "deployment", "web", "--cascade=foreground", "--wait=false");
    const isGoing = "--for=jsonpath={.metadata.deletionTimestamp}";
    await kubectl("wait", "-n", "foreground", isGoing, "pod/web", "--timeout=60s");
    expect(await list("foreground")).toBe(CHAIN);
    await hold([]);
    const at = Date.now();
    await kubectl("wait", "-n", "foreground", "--for=delete", "deployment/web", "--timeout=60s");
    console.info(`deleted in the foreground ${Date.now() - at} ms after the last dependent was released`);
    expect(await list("foreground")).toBe("");
  });

  test("with orphan deletion removes the owner references of the dependents, and keeps their own dependents", async () => {
    await createChain("orphan");
    await kubectl("delete", "-n", "orphan", "deployment", "web", "--cascade=orphan");
    const owners = (kind: string): Promise<string> =>
      kubectl("get", "-n", "orphan", kind, "web", "-o", "jsonpath={.metadata.ownerReferences[*].kind}");
    expect(await list("orphan")).toBe("replicaset.apps/web\npod/web\n");
    expect([await owners("replicaset"), await owners("pod")]).toEqual(["", "ReplicaSet"]);
    await kubectl("delete", "-n", "orphan", "replicaset", "web");
    await kubectl("wait", "-n", "orphan", "--for=delete", "pod/web", "--timeout=60s");
    expect(await list("orphan")).toBe("");
  });

  test("creates the default ServiceAccount and the CA bundle of a new namespace", async () => {
    await kubectl("create", "namespace", "fresh");
    await kubectl("wait", "-n", "fresh", "--for=create", "serviceaccount/default", "--timeout=60s");
    await kubectl("wait", "-n", "fresh", "--for=create", "configmap/kube-root-ca.crt", "--timeout=60s");
    const ca = await kubectl("get", "-n", "fresh", "configmap", "kube-root-ca.crt", "-o", "jsonpath={.data.ca\\.crt}");
    for (const server of [cluster.balancer, ...cluster.servers]) {
      const agent = new Agent();
      const { status } = await ask({ ...server, ca, agent }, { method: "GET", path: "/readyz" });
      agent.destroy();
      expect(status).toBe(200);
    }
  });
});
