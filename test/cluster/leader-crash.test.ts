/** Tests the deletion of a namespace after the process that runs the controllers is killed. */
import { expect, test } from "vitest";
import { ETCD_MISSING, hasEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";
import { configMap, type Json } from "../smoke/client.ts";
import { openCluster, type Member } from "./start-cluster.ts";
import { poll } from "./storage-versions.ts";

const NAMESPACE = "/api/v1/namespaces/team";
const LEASE = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/evenkeel-controllers";

const isMissing = !hasEtcd();
if (isMissing) console.warn(ETCD_MISSING);

async function leaderOf(server: Member): Promise<string> {
  const { value } = await poll(
    async () => String((await server.request("GET", LEASE)).body.spec?.holderIdentity ?? ""),
    (holder) => holder !== "",
  );
  return value.split("_")[0]!;
}

async function waits(server: Member): Promise<readonly Json[]> {
  return (await server.request("GET", "/evenkeel/v1/status")).body.waitingFor;
}

test.skipIf(isMissing)(
  "after kill -9 of the leader, another server removes a deleted namespace, and the status shows the wait meanwhile",
  { timeout: 120_000 },
  async () => {
    await using cluster = await openCluster();
    const servers = await Promise.all([
      cluster.start({ id: "a", release: "1.35" }),
      cluster.start({ id: "b", release: "1.36" }),
    ]);
    const leaderId = await leaderOf(servers[0]);
    const [leader, other] = [servers.find(({ id }) => id === leaderId)!, servers.find(({ id }) => id !== leaderId)!];
    await other.request("POST", "/api/v1/namespaces", { metadata: { name: "team" } });
    expect((await other.request("POST", `${NAMESPACE}/configmaps`, configMap("a"))).status).toBe(201);
    await leader.kill9();
    expect((await other.request("DELETE", NAMESPACE)).status).toBe(200);
    const shown: Json[] = [];
    const { polls, ms } = await poll(
      async () => {
        shown.push(...(await waits(other)));
        return (await other.request("GET", NAMESPACE)).status;
      },
      (status) => status === 404,
    );
    console.info(`the namespace was removed ${ms} ms after kill -9 of the leader (${polls} polls)`);
    expect(polls).toBeGreaterThan(1);
    expect(await leaderOf(other)).toBe(other.id);
    expect(shown.filter(({ kind, name }) => kind === "namespace" && name === "team").length).toBeGreaterThan(0);
    const leaders = shown.filter(({ kind }) => kind === "leader").map(({ because }) => because);
    expect(leaders.join()).toContain(`${leaderId} has not renewed the lease`);
    expect(await waits(other)).toEqual([]);
  },
);
