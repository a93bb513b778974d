/**
 * Cluster IPs and node ports of Services that clients create through a real kube-apiserver and through Evenkeel, on one
 * etcd. Two kube-apiservers show which lines kube-apiserver logs about its own allocations.
 */
import { describe, expect, test } from "vitest";
import { BINARIES, whySkipped, type RealBinary } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer } from "./real-cluster.ts";

const SERVICES = "/api/v1/namespaces/default/services";
const COUNT = 1_000;
const THREADS = 8;
const FREED = 40;
const FREED_MS = 1_000;
/** Room for all Services; node ports have their default range. */
const RANGE = "--service-cluster-ip-range=10.0.0.0/16,fd00:10::/112";

const why = whySkipped(BINARIES[0], "1.31 or newer");

interface Pair {
  readonly binary: RealBinary;
  /** The release of Evenkeel; undefined for a second kube-apiserver. */
  readonly release: string | undefined;
}

const pairs: readonly Pair[] = BINARIES.flatMap((binary) =>
  [...new Set(["1.36", "1.33", binary.release, undefined])].map((release) => ({ binary, release })),
);

describe.skipIf(why !== undefined)("service numbers beside a real kube-apiserver", { timeout: 600_000 }, () => {
  test.each(
    pairs.map(
      (pair) =>
        [pair.binary.release, pair.release === undefined ? "a second one" : `Evenkeel ${pair.release}`, pair] as const,
    ),
  )(
    "kube-apiserver %s and %s allocate no number twice, and one reuses at once what the other releases",
    async (_, beside, { binary, release }) => {
      await using cluster = await openRealCluster(2);
      const first = await cluster.startKube({ at: 0, binary, flags: [RANGE] });
      const servers = [first, await startSecond(cluster, { binary, release })];
      const created = await createMany(servers);
      expect(created.filter(({ status }) => status !== 201).map(({ text }) => text)).toEqual([]);
      const specs: Spec[] = created.map(({ body }) => body.spec);
      const ips = specs.flatMap(({ clusterIPs }) => clusterIPs);
      const ports = specs.flatMap((spec) => spec.ports.map(({ nodePort }) => nodePort));
      expect(await repairedIps(first, created)).toEqual([]);
      const slowestMs = await reuseThroughOther(servers, created.slice(0, FREED));
      console.table([
        {
          "kube-apiserver": binary.release,
          beside,
          services: created.length,
          "duplicate IPs": ips.length - new Set(ips).size,
          "duplicate ports": ports.length - new Set(ports).size,
          "slowest reuse (ms)": slowestMs,
          ...linesIn(servers),
        },
      ]);
      expect([ips.length, new Set(ips).size]).toEqual([2 * COUNT, 2 * COUNT]);
      expect(new Set(ports).size).toBe(COUNT);
      expect(slowestMs).toBeLessThan(FREED_MS);
      expect(servers.map(({ log }) => /assigned to (multiple|other) services/.exec(log)?.[0])).toEqual([
        undefined,
        undefined,
      ]);
    },
  );
});

interface Spec {
  readonly clusterIPs: readonly string[];
  readonly ports: readonly { readonly nodePort: number }[];
}

function startSecond(cluster: RealCluster, { binary, release }: Pair): Promise<RunningServer> {
  return release === undefined
    ? cluster.startKube({ at: 1, binary, flags: [RANGE] })
    : cluster.startEvenkeel({ at: 1, release, flags: [RANGE] });
}

type Response = Awaited<ReturnType<RunningServer["request"]>>;

/** Each thread creates one Service after the other, through both servers in turn. */
async function createMany(servers: readonly RunningServer[]): Promise<Response[]> {
  const created: Response[] = [];
  let next = 0;
  const thread = async (): Promise<void> => {
    while (next < COUNT) {
      const number = next++;
      const spec = { type: "NodePort", ipFamilyPolicy: "RequireDualStack", ports: [{ port: 80 }] };
      created.push(await create(servers[number % servers.length]!, `web-${number}`, spec));
    }
  };
  await Promise.all(Array.from({ length: THREADS }, thread));
  return created;
}

function create(server: RunningServer, name: string, spec: unknown): Promise<Response> {
  return server.request("POST", SERVICES, { apiVersion: "v1", kind: "Service", metadata: { name }, spec });
}

/** Deletes each Service through one server and creates it with the same numbers through the other. */
async function reuseThroughOther(servers: readonly RunningServer[], created: readonly Response[]): Promise<number> {
  let slowestMs = 0;
  for (const [index, { body }] of created.entries()) {
    const [releasing, allocating] = index % 2 === 0 ? servers : servers.toReversed();
    const { type, clusterIP, clusterIPs, ipFamilyPolicy, ports } = body.spec;
    expect((await releasing!.request("DELETE", `${SERVICES}/${body.metadata.name}`)).status).toBe(200);
    const startedAt = performance.now();
    const spec = { type, clusterIP, clusterIPs, ipFamilyPolicy, ports };
    let last: Response;
    do last = await create(allocating!, `again-${index}`, spec);
    while (last.status !== 201 && performance.now() - startedAt < 10 * FREED_MS);
    expect(last.status, last.text).toBe(201);
    slowestMs = Math.max(slowestMs, Math.round(performance.now() - startedAt));
  }
  return slowestMs;
}

/**
 * How often the kube-apiservers report a disagreement between the records and the Services. A kube-apiserver watches
 * Services and IPAddresses separately. If the event of a Service arrives before that of its IPAddress, it logs that the
 * address is not allocated, and finds that it is when it tries to create the IPAddress.
 */
function linesIn(servers: readonly RunningServer[]): Record<string, number> {
  const lines = servers.flatMap(({ kind, log }) => (kind === "evenkeel" ? [] : log.split("\n")));
  const count = (pattern: RegExp): number => lines.filter((line) => pattern.test(line)).length;
  return {
    "not allocated": count(/is not allocated; repairing/),
    "wrong reference": count(/wrong reference/),
    leaked: count(/leaked/),
  };
}

/** The cluster IPs whose IPAddress is missing or was created after its Service, so that a repair has created it. */
async function repairedIps(server: RunningServer, created: readonly Response[]): Promise<string[]> {
  const { items } = (await server.request("GET", "/apis/networking.k8s.io/v1/ipaddresses")).body;
  const revisions = new Map<string, number>(
    items.map(({ metadata }: { metadata: { name: string; resourceVersion: string } }) => [
      metadata.name,
      Number(metadata.resourceVersion),
    ]),
  );
  return created.flatMap(({ body }) =>
    body.spec.clusterIPs.filter((ip: string) => !(revisions.get(ip)! < Number(body.metadata.resourceVersion))),
  );
}
