/** The endpoints of the kubernetes Service while a real kube-apiserver and Evenkeel keep them on one etcd. */
import { describe, expect, test } from "vitest";
import { REAL_BINARIES, whySkipped } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer, type ServerKind } from "./real-cluster.ts";

const ENDPOINTS = "/api/v1/namespaces/default/endpoints/kubernetes";
const SLICE = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/kubernetes";
/** Every server writes the endpoints every 10 s. */
const ROUND_MS = 10_000;
const ROUNDS = 3;
const POLL_MS = 250;
/** The documented limit is 20 s; a busy machine may need longer. */
const DEADLINE_MS = 60_000;

const [binary] = REAL_BINARIES;
const why = whySkipped(binary, "1.31 or newer");

describe.skipIf(why !== undefined)("the endpoints of the kubernetes Service", { timeout: 400_000 }, () => {
  test("keep the addresses of a kube-apiserver and of Evenkeel until one of them stops or crashes", async () => {
    await using cluster = await openRealCluster(2);
    const both = [...cluster.addresses];
    const servers = {
      "kube-apiserver": await start(cluster, "kube-apiserver"),
      evenkeel: await start(cluster, "evenkeel"),
    };
    await until(servers.evenkeel, both);
    await until(servers["kube-apiserver"], both);
    expect(await observe(Object.values(servers), ROUNDS * ROUND_MS)).toEqual([both.join()]);
    const rows = [];
    for (const ending of ["evenkeel", "kube-apiserver"] as const) {
      const other = servers[ending === "evenkeel" ? "kube-apiserver" : "evenkeel"];
      for (const how of ["stop", "kill9"] as const) {
        const ended = servers[ending][how]();
        const removedAfterMs = await until(other, [other.address]);
        await ended;
        servers[ending] = await start(cluster, ending);
        rows.push({ ending, how, removedAfterMs, addedAgainAfterMs: await until(other, both) });
      }
    }
    console.table(rows);
  });
});

function start(cluster: RealCluster, kind: ServerKind): Promise<RunningServer> {
  return kind === "evenkeel"
    ? cluster.startEvenkeel({ at: 0, release: "1.36" })
    : cluster.startKube({ at: 1, binary: binary! });
}

/** The addresses in the Endpoints and in the EndpointSlice. */
async function addressesOf(server: RunningServer): Promise<string> {
  const [endpoints, slice] = await Promise.all([server.request("GET", ENDPOINTS), server.request("GET", SLICE)]);
  const fromEndpoints: string[] = (endpoints.body?.subsets ?? []).flatMap((subset: { addresses: { ip: string }[] }) =>
    subset.addresses.map(({ ip }) => ip),
  );
  const fromSlice: string[] = (slice.body?.endpoints ?? []).flatMap(
    ({ addresses }: { addresses: string[] }) => addresses,
  );
  const [one, other] = [fromEndpoints.sort().join(), fromSlice.sort().join()];
  return one === other ? one : `Endpoints ${one}, EndpointSlice ${other}`;
}

/** Reads until both objects have these addresses; returns the time in ms. */
async function until(server: RunningServer, wanted: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  let found = "";
  while (performance.now() - startedAt < DEADLINE_MS) {
    found = await addressesOf(server).catch(String);
    if (found === [...wanted].sort().join()) return Math.round(performance.now() - startedAt);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  throw new Error(`the endpoints through ${server.kind} are ${found}, not ${wanted.join()}`);
}

/** All different addresses that the servers return during this time. */
async function observe(servers: readonly RunningServer[], forMs: number): Promise<string[]> {
  const seen = new Set<string>();
  const startedAt = performance.now();
  while (performance.now() - startedAt < forMs) {
    for (const server of servers) seen.add(await addressesOf(server));
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
  return [...seen];
}
