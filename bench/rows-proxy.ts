/** Measures a GET that one server proxies to another, compared with a plain pass-through to a plain server. */
import type { EtcdProcess } from "../test/testing/storage/kv-etcd/start-etcd.ts";
import { toFloorResponse, type BenchContext } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { startCluster, type RunningCluster } from "./cluster.ts";
import { eventually } from "./eventually.ts";
import { startFloorHop, type FloorHop } from "./floor-hop.ts";
import { createHopCertificates } from "./hop-certificates.ts";
import { DEVICE_CLASS, deviceClassText } from "./objects.ts";
import { measureRounds, type RoundsOptions } from "./rounds.ts";
import { atMost, type Row } from "./row.ts";
import { TOKEN } from "./servers.ts";

const RATIO_MAX = 1.8;
const CPU_UNIT = "CPU µs/request";
/** The source does not serve the requested DeviceClass in v1. */
const RELEASES = { source: "1.33", destination: "1.36" };
const COLLECTION = "/apis/resource.k8s.io/v1/deviceclasses";
const GET: RequestShape = { method: "GET", path: `${COLLECTION}/${DEVICE_CLASS}`, expectStatus: 200 };
const FLOOR_PATH = "proxied";
const FLOOR_GET: RequestShape = { ...GET, path: `/${FLOOR_PATH}/${DEVICE_CLASS}` };
const SERVED_BY_HEADER = "x-evenkeel-served-by";

export async function proxyRows(context: BenchContext, etcd: EtcdProcess): Promise<Row[]> {
  await using stack = new AsyncDisposableStack();
  const core = context.cores?.server;
  const certificates = createHopCertificates(Date.now());
  const hop = await startFloorHop(certificates, core);
  stack.defer(() => hop.stop());
  const cluster = await startCluster({ core, etcd: etcd.endpoint, certificates, releases: RELEASES });
  stack.defer(() => cluster.stop());
  await prepare(context, cluster, hop);
  return await measure(context, { cluster, hop, etcd });
}

/**
 * Creates the object, verifies that the source proxies a GET of it to the destination, and configures the plain servers
 * to return the same response.
 */
async function prepare({ client, floor }: BenchContext, cluster: RunningCluster, hop: FloorHop): Promise<void> {
  const open = (name: string, port: number): Promise<void> =>
    client.open({ name, protocol: "http/1.1", port, connections: 1, token: TOKEN });
  await open("destination", cluster.destination.port);
  await open("source", cluster.source.port);
  await client.fetch("destination", { method: "POST", path: COLLECTION, body: deviceClassText(), expectStatus: 201 });
  const direct = await client.fetch("destination", GET);
  const proxied = await eventually(() => client.fetch("source", GET));
  if (!proxied.headers.some(([name]) => name === SERVED_BY_HEADER))
    throw new Error("the source served the request itself instead of proxying it");
  if (proxied.body !== direct.body) throw new Error("the responses of source and destination differ");
  await client.close("source");
  await client.close("destination");
  const response = toFloorResponse(direct, GET.expectStatus);
  await hop.setResponse(FLOOR_PATH, response);
  await floor.setResponse(FLOOR_PATH, response);
}

async function measure(
  { client, floor, options }: BenchContext,
  { cluster, hop, etcd }: { readonly cluster: RunningCluster; readonly hop: FloorHop; readonly etcd: EtcdProcess },
): Promise<Row[]> {
  const { source, destination } = cluster;
  const load: Omit<RoundsOptions, "floor" | "ours"> = {
    client,
    protocol: "http/1.1",
    connections: 32,
    concurrency: 32,
    rounds: options.rounds,
    count: Math.round(10_000 * options.scale),
    warmUp: Math.round(8_000 * options.scale),
  };
  const proxied = await measureRounds({
    ...load,
    floor: { pids: hop.pids, port: hop.port, request: FLOOR_GET },
    ours: { pids: [source.pid, destination.pid], port: source.port, request: GET, helperPid: etcd.pid },
  });
  const direct = await measureRounds({
    ...load,
    floor: { pids: [floor.pid], port: floor.port, request: FLOOR_GET },
    ours: { pids: [destination.pid], port: destination.port, request: GET, helperPid: etcd.pid },
  });
  const { helperCpuUs, ...figures } = proxied;
  const { helperCpuUs: _helper, ...directFigures } = direct;
  return [
    {
      id: "proxy",
      title: "GET 3 KB through a peer, both servers",
      unit: CPU_UNIT,
      ...figures,
      target: atMost(figures.ratio.median, RATIO_MAX, `≤ ${RATIO_MAX}×`),
    },
    { id: "proxy/etcd", title: "  CPU of etcd", unit: CPU_UNIT, ours: helperCpuUs },
    { id: "proxy-direct", title: "  the same without the hop", unit: CPU_UNIT, ...directFigures },
  ];
}
