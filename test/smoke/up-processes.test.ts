import { expect, test } from "vitest";
import { configMap, CONFIG_MAPS, Watch } from "./client.ts";
import { startCluster, type ClusterServer } from "./start-cluster.ts";

const DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses";

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function gone(pids: readonly number[]): Promise<void> {
  while (pids.some(isAlive)) await new Promise((resolve) => setTimeout(resolve, 20));
}

test(
  "servers of evenkeel up in separate processes share the embedded store, and fail independently",
  { timeout: 60_000 },
  async () => {
    await using cluster = await startCluster({ flags: ["--servers", "1.33,1.36,1.36", "--processes"] });
    const [older, second, third] = cluster.servers as [ClusterServer, ClusterServer, ClusterServer];
    const pids = cluster.servers.map(({ pid }) => pid);
    expect(new Set([...pids, cluster.command.pid]).size).toBe(4);

    using watch = new Watch(third, `${CONFIG_MAPS}?watch=true`);
    expect(await watch.opened).toBe(200);
    expect((await second.request("POST", CONFIG_MAPS, configMap("shared"))).status).toBe(201);
    expect((await older.request("GET", `${CONFIG_MAPS}/shared`)).status).toBe(200);
    await watch.until((events) => events.some(({ name }) => name === "shared"));

    await cluster.control("fault", "pause", second.id);
    expect((await older.request("GET", DEVICE_CLASSES)).status).toBe(200);
    await cluster.control("fault", "resume", second.id);
    expect((await second.request("GET", `${CONFIG_MAPS}/shared`)).status).toBe(200);

    await cluster.control("fault", "kill", second.id);
    await gone([second.pid]);
    expect((await older.request("GET", DEVICE_CLASSES)).status).toBe(200);
    expect((await cluster.balancer.request("GET", CONFIG_MAPS)).status).toBe(200);

    expect((await cluster.stop()).code).toBe(0);
    await gone(pids);
  },
);

test("servers of evenkeel up do not outlive the process that started them", { timeout: 60_000 }, async () => {
  await using cluster = await startCluster({ flags: ["--servers", "1.36,1.36", "--processes"] });
  cluster.command.child.kill("SIGKILL");
  await cluster.command.exited;
  await gone(cluster.servers.map(({ pid }) => pid));
});
