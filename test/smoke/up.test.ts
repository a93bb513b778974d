import { existsSync, readFileSync, statSync } from "node:fs";
import { Agent } from "node:https";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { configMap, CONFIG_MAPS, Watch, ask, type Json } from "./client.ts";
import { startCluster, type ClusterServer } from "./start-cluster.ts";
import { disposableDirectory, run } from "./start-evenkeel.ts";

const DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";
const JOBS = "/apis/batch/v1/namespaces/default/jobs";

function deviceClass(name: string): Json {
  return { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name }, spec: {} };
}

function job(name: string): Json {
  const containers = [{ name: "c", image: "i" }];
  const spec = { template: { spec: { containers, restartPolicy: "Never" } } };
  return { apiVersion: "batch/v1", kind: "Job", metadata: { name }, spec };
}

async function names(server: ClusterServer, path: string): Promise<string[]> {
  const { status, body } = await server.request("GET", path);
  expect(status).toBe(200);
  return body.items.map(({ metadata }: Json) => metadata.name);
}

describe("a cluster of 1.33 and 1.36", { timeout: 60_000 }, () => {
  test("proxies requests for resources that only the newer server serves", async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.33,1.36"] });
    const [older, newer] = cluster.servers as [ClusterServer, ClusterServer];
    expect([older.release, newer.release]).toEqual(["1.33", "1.36"]);
    using watch = new Watch(older, `${DEVICE_CLASSES}?watch=true`);
    expect(await watch.opened).toBe(200);
    expect((await older.request("POST", DEVICE_CLASSES, deviceClass("gpu"))).status).toBe(201);
    expect(await names(older, DEVICE_CLASSES)).toEqual(["gpu"]);
    expect(await names(newer, DEVICE_CLASSES)).toEqual(["gpu"]);
    expect((await older.request("DELETE", `${DEVICE_CLASSES}/gpu`)).status).toBe(200);
    await watch.until((events) => events.length === 2);
    expect(watch.events.map(({ type, name }) => `${type} ${name}`)).toEqual(["ADDED gpu", "DELETED gpu"]);
    expect(await names(cluster.balancer, DEVICE_CLASSES)).toEqual([]);
  });

  test("writes credentials to its directory that clients can use and other users cannot read", async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.33,1.36"] });
    const config: Json = JSON.parse(readFileSync(cluster.printed.kubeconfig, "utf8"));
    expect(config.contexts.map(({ name }: Json) => name)).toEqual(["evenkeel", "apiserver-1", "apiserver-2"]);
    expect(config["current-context"]).toBe("evenkeel");
    const decoded = (text: string): string => Buffer.from(text, "base64").toString();
    const { user } = config.users.find(({ name }: Json) => name === "admin");
    for (const { cluster: at } of config.clusters) {
      const agent = new Agent({
        cert: decoded(user["client-certificate-data"]),
        key: decoded(user["client-key-data"]),
      });
      const ca = decoded(at["certificate-authority-data"]);
      const headers = { authorization: "" };
      const target = { url: at.server, port: 0, ca, token: "", agent };
      const { status } = await ask(target, { method: "GET", path: CONFIG_MAPS, headers });
      agent.destroy();
      expect(status).toBe(200);
    }
    const keys = ["ca.key", "serving.key", "front-proxy-client.key", "admin.key"].map((file) => join("up", file));
    for (const file of ["up", ...keys, "kubeconfig", "control.sock"])
      expect(statSync(join(cluster.dataDir, file)).mode & 0o077, file).toBe(0);
  });
});

test("a server that does not serve jobs proxies requests for jobs", async () => {
  await using cluster = await startCluster({ flags: ["--servers", "1.36,1.36+batch/v1=false"] });
  const [, without] = cluster.servers as [ClusterServer, ClusterServer];
  expect((await without.request("POST", JOBS, job("j"))).status).toBe(201);
  expect(await names(without, JOBS)).toEqual(["j"]);
});

test("flags for routing and discovery apply to all servers of the cluster", async () => {
  const flags = ["--discovery-mode", "local", "--field-loss", "refuse", "--peer-routing-source", "storageversion"];
  await using cluster = await startCluster({ flags: ["--servers", "1.31,1.33", ...flags] });
  const [old] = cluster.servers as [ClusterServer];
  const { resources } = (await old.request("GET", "/apis/networking.k8s.io/v1")).body;
  expect(resources.map(({ name }: { name: string }) => name)).not.toContain("servicecidrs");
  const spec = { containers: [{ name: "a", image: "a" }], resources: { limits: { cpu: "1" } } };
  const pod = { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec };
  expect(await old.request("POST", "/api/v1/namespaces/default/pods", pod)).toMatchObject({
    status: 422,
    body: { message: expect.stringContaining("spec.resources: Forbidden: apiserver-1 (1.31) does not know it") },
  });
});

describe("a restart of evenkeel up on the same directory", { timeout: 60_000 }, () => {
  test("starts the same servers with the same ports and objects, including servers that were added, upgraded or removed later", async () => {
    using directory = disposableDirectory();
    const dataDir = directory.path;
    const first = await startCluster({ dataDir, flags: ["--servers", "1.35,1.36"] });
    try {
      await first.balancer.request("POST", CONFIG_MAPS, configMap("kept"));
      await first.control("upgrade", "apiserver-1", "1.36");
      await first.control("add-server", "1.37");
      await first.control("remove-server", "apiserver-2");
      expect((await first.stop()).code).toBe(0);
    } finally {
      await first[Symbol.asyncDispose]();
    }
    expect(existsSync(join(dataDir, "control.sock"))).toBe(false);
    await using second = await startCluster({ dataDir });
    expect(second.servers.map(({ id, release }) => `${id} ${release}`)).toEqual([
      "apiserver-1 1.36",
      "apiserver-3 1.37",
    ]);
    expect(second.servers[0]!.url).toBe(first.servers[0]!.url);
    expect(second.balancer.url).toBe(first.balancer.url);
    expect(await names(second.servers[1]!, CONFIG_MAPS)).toContain("kept");
  });

  test("is rejected with the ID of the running process while the cluster is running", async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.36"] });
    await using second = run("up", "--data-dir", cluster.dataDir, "--port", "0");
    expect((await second.exited).code).toBe(1);
    expect(second.stderr).toBe(
      `evenkeel: The directory ${cluster.dataDir} is in use by evenkeel up, process ${cluster.command.pid}: stop that server or choose another directory.\n`,
    );
    expect((await cluster.balancer.request("GET", "/readyz")).status).toBe(200);
  });

  test("works after a kill -9", async () => {
    using directory = disposableDirectory();
    const dataDir = directory.path;
    const first = await startCluster({ dataDir, flags: ["--servers", "1.36"] });
    await first.balancer.request("POST", CONFIG_MAPS, configMap("kept"));
    first.command.child.kill("SIGKILL");
    await first[Symbol.asyncDispose]();
    await using second = await startCluster({ dataDir });
    expect(await names(second.balancer, CONFIG_MAPS)).toContain("kept");
  });
});

describe("evenkeel fault", { timeout: 60_000 }, () => {
  test("kill ends a server without affecting clients of the other servers", async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.33,1.36,1.36"] });
    const [older, killed] = cluster.servers as [ClusterServer, ClusterServer, ClusterServer];
    expect(await cluster.control("fault", "kill", "apiserver-2")).toMatchObject({ state: "killed", pid: null });
    await expect(killed.request("GET", "/readyz")).rejects.toThrow();
    for (let turn = 0; turn < 6; turn++) {
      const read = await cluster.balancer.request("GET", DEVICE_CLASSES);
      expect(read.status).toBe(200);
    }
    expect(await names(older, DEVICE_CLASSES)).toEqual([]);
    await expect(cluster.control("fault", "pause", "apiserver-2")).rejects.toThrow("apiserver-2 was killed");
    const again = await cluster.control("upgrade", "apiserver-2", "1.37");
    expect(again).toMatchObject({ release: "1.37", url: killed.url, state: "running" });
    expect((await killed.request("GET", "/version")).body.minor).toBe("37");
  });

  test("pause stops a server, which serves no request until it is resumed", async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.36,1.36"] });
    const [paused, other] = cluster.servers as [ClusterServer, ClusterServer];
    await cluster.control("fault", "pause", "apiserver-1");
    let isAnswered = false;
    const asked = paused.request("GET", CONFIG_MAPS).finally(() => (isAnswered = true));
    expect((await other.request("POST", CONFIG_MAPS, configMap("meanwhile"))).status).toBe(201);
    expect(isAnswered).toBe(false);
    await cluster.control("fault", "resume", "apiserver-1");
    expect((await asked).status).toBe(200);
    expect(await names(paused, CONFIG_MAPS)).toContain("meanwhile");
  });

  test("partition separates a server from its peers: it serves its own resources, and proxies again after heal", async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.33,1.36"] });
    const [older, newer] = cluster.servers as [ClusterServer, ClusterServer];
    await cluster.control("fault", "partition", "apiserver-1");
    const rejected = await older.request("GET", DEVICE_CLASSES);
    expect(rejected.status).toBe(503);
    expect(rejected.headers["retry-after"]).toBeDefined();
    for (const server of [older, newer]) expect((await server.request("GET", CONFIG_MAPS)).status).toBe(200);
    await cluster.control("fault", "heal", "apiserver-1");
    let response = await older.request("GET", DEVICE_CLASSES);
    while (response.status === 503) {
      await new Promise((resolve) => setTimeout(resolve, 100));
      response = await older.request("GET", DEVICE_CLASSES);
    }
    expect(response.status).toBe(200);
  });
});

describe("an error of evenkeel up or fault", () => {
  test.each([
    [["--servers", "1.99"], /^evenkeel: server 1\.99: the release must be one of/],
    [["--servers", "1.36+nonsense"], /^evenkeel: server 1\.36\+nonsense: /],
    [["--servers", ""], /^evenkeel: --servers must name at least one server/],
    [["--port", "70000"], /70000.* is not a port number/],
  ])("in the flags %j is one sentence, and no files are created", async (flags, sentence) => {
    using directory = disposableDirectory();
    const dataDir = join(directory.path, "data");
    await using command = run("up", "--data-dir", dataDir, ...flags);
    expect((await command.exited).code).toBe(2);
    expect(command.stderr).toMatch(sentence);
    expect(existsSync(dataDir)).toBe(false);
  });

  test("is one sentence if no cluster is running", async () => {
    using directory = disposableDirectory();
    await using command = run("fault", "kill", "apiserver-1", "--data-dir", directory.path);
    expect((await command.exited).code).toBe(1);
    expect(command.stderr).toMatch(/^evenkeel: no cluster is running in /);
  });
});
