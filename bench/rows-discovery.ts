/** Measures responses with the merged discovery of a cluster after it has been computed and cached. */
import type { EtcdProcess } from "../test/testing/storage/kv-etcd/start-etcd.ts";
import { toFloorResponse, type BenchContext } from "./bench-context.ts";
import type { FetchResult, RequestShape } from "./client/protocol.ts";
import { startCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { createHopCertificates } from "./hop-certificates.ts";
import { measureRounds, type RoundsOptions } from "./rounds.ts";
import { atMost, type Row } from "./row.ts";
import { TOKEN } from "./servers.ts";

const RATIO_MAX = 1.2;
const CPU_UNIT = "CPU µs/request";
const AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const MERGED: RequestShape = { method: "GET", path: "/apis", accept: AGGREGATED, expectStatus: 200 };
/** Requests the server's own discovery, which it encodes once and caches. */
const LOCAL: RequestShape = { ...MERGED, accept: `${AGGREGATED};profile=nopeer` };
const FLOOR_PATH = "discovery";
const HITS = /^aggregator_discovery_peer_aggregated_cache_hits_total ([0-9]+)$/m;
const DESCRIBED = /^evenkeel_peers\{state="described"\} ([0-9]+)$/m;
/**
 * Both servers have the same release, so that the merged and the local document have the same size and only the code
 * path differs.
 */
const RELEASES = { source: "1.36", destination: "1.36" };

export async function discoveryRows(context: BenchContext, etcd: EtcdProcess): Promise<Row[]> {
  const { client, floor, options, cores } = context;
  const cluster = await startCluster({
    core: cores?.server,
    etcd: etcd.endpoint,
    certificates: createHopCertificates(Date.now()),
    releases: RELEASES,
  });
  try {
    const { pid, port } = cluster.source;
    const merged = await fetchBoth(context, port);
    await floor.setResponse(FLOOR_PATH, toFloorResponse(merged, MERGED.expectStatus));
    const load: Omit<RoundsOptions, "floor" | "ours"> = {
      client,
      protocol: "http/1.1",
      connections: 16,
      concurrency: 16,
      rounds: options.rounds,
      count: Math.round(6_000 * options.scale),
      warmUp: Math.round(3_000 * options.scale),
    };
    const ours = { pids: [pid], port, request: MERGED };
    const overLocal = await measureRounds({ ...load, ours, floor: { ...ours, request: LOCAL } });
    const overFloor = await measureRounds({
      ...load,
      ours,
      floor: { pids: [floor.pid], port: floor.port, request: { ...MERGED, path: `/${FLOOR_PATH}` } },
    });
    return discoveryRow(overLocal, overFloor, merged.body.length);
  } finally {
    await cluster.stop();
  }
}

type Measured = Awaited<ReturnType<typeof measureRounds>>;

function discoveryRow(overLocal: Measured, overFloor: Measured, bytes: number): Row[] {
  const { helperCpuUs: _first, ...local } = overLocal;
  const { helperCpuUs: _second, ...floor } = overFloor;
  return [
    {
      id: "merge-cached",
      title: `merged discovery at /apis (${Math.round(bytes / 1000)} KB), compared with the local one`,
      unit: CPU_UNIT,
      ...local,
      target: atMost(local.ratio.median, RATIO_MAX, `≤ ${RATIO_MAX}×`),
    },
    { id: "merge-cached-floor", title: "  compared with a plain server", unit: CPU_UNIT, ...floor },
  ];
}

/**
 * Verifies the preconditions of the measurement: the server returns the cached merged discovery, and it is as large as
 * the local one. Returns the merged response.
 */
async function fetchBoth({ client }: BenchContext, port: number): Promise<FetchResult> {
  const name = "discovery";
  await client.open({ name, protocol: "http/1.1", port, connections: 1, token: TOKEN });
  const metric = async (line: RegExp): Promise<number> => {
    const { body } = await client.fetch(name, { method: "GET", path: "/metrics", expectStatus: 200 });
    return Number(line.exec(body)?.[1] ?? "0");
  };
  const merged = await eventually(async () => {
    const before = await metric(HITS);
    const fetched = await client.fetch(name, MERGED);
    if ((await metric(DESCRIBED)) !== 1) throw new Error("the peer is not known yet");
    if ((await metric(HITS)) !== before + 1)
      throw new Error("the response did not come from the cached merged discovery");
    return fetched;
  });
  const local = await client.fetch(name, LOCAL);
  if (merged.body.length !== local.body.length) throw new Error("the merged and the local document differ in size");
  await client.close(name);
  return merged;
}
