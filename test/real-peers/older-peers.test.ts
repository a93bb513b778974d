/**
 * Evenkeel beside kube-apiservers that publish less than release 1.36 does by default: older ones, one whose mixed
 * version proxy is off, and one without --peer-ca-file. Each kind of server has an API that the other does not serve.
 */
import { describe, expect, test } from "vitest";
import { serverId } from "../../src/cluster/peers/server-id.ts";
import type { ServerStorageVersion } from "../../src/cluster/storageversion/objects.ts";
import { inWords, startLoad } from "./codes.ts";
import { BINARIES, minorOf, OLDER, PROXYING, whySkipped, WITH_PROXY, type RealBinary } from "./real-binaries.ts";
import { openRealCluster, type KubeOptions, type RealCluster, type RunningServer } from "./real-cluster.ts";

const AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs";
const UNKNOWN = "/apis/unknown.example.com/v1/things";
const STATUS = "/evenkeel/v1/status";
const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS = "/apis/example.com/v1/widgets";
const POLL_MS = 100;
const DEADLINE_MS = 60_000;
/** The time for which identity leases count that nothing else confirms, and as long again for a busy machine. */
const DOUBT_MS = 2 * 30_000;
const KUBE = serverId("kube-0");

interface Case {
  readonly binary: RealBinary;
  /** Why the test is skipped. */
  readonly why?: string | undefined;
  readonly proxy?: KubeOptions["proxy"];
  readonly isNamed?: boolean;
  readonly lacks: readonly string[];
}

const NO_RECORD = "writes no endpoint record";
const NO_PROXY = "does not proxy requests to other servers";
const NO_VERSIONS = "publishes no storage versions";
const ALL = [NO_RECORD, NO_PROXY, NO_VERSIONS];
const WHY = {
  older: whySkipped(OLDER[0], "before 1.36"),
  proxying: whySkipped(PROXYING[0], WITH_PROXY),
  any: whySkipped(BINARIES[0], "1.31 or newer"),
};

const CASES: readonly (readonly [string, Case])[] = [
  ...OLDER.flatMap((binary) => {
    const older = { binary, why: WHY.older, lacks: ALL };
    return [
      [`of release ${binary.release}`, older],
      [`of release ${binary.release} that --peer-server names`, { ...older, isNamed: true }],
    ] as const;
  }),
  ...PROXYING.flatMap((binary) => {
    const newer = { binary, why: WHY.proxying };
    return [
      [`of release ${binary.release} whose mixed version proxy is off`, { ...newer, proxy: "off", lacks: ALL }],
      [
        `of release ${binary.release} without --peer-ca-file`,
        { ...newer, proxy: "no-ca", lacks: [NO_PROXY, NO_VERSIONS] },
      ],
    ] as const;
  }),
];

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.each(CASES)("beside a kube-apiserver %s", { timeout: 400_000 }, (name, wanted) => {
  test.skipIf(wanted.why !== undefined)(
    "Evenkeel serves what only the kube-apiserver has, and reports what it lacks",
    async () => {
      await using cluster = await openRealCluster(2);
      const startedAt = performance.now();
      const { kube, evenkeel } = await startBoth(cluster, wanted);
      const reachedAfterMs = await untilStatus(evenkeel, CRON_JOBS, 200, DEADLINE_MS);
      const unknownAfterMs = await untilStatus(evenkeel, UNKNOWN, 404, DOUBT_MS);
      const { body } = await evenkeel.request("GET", STATUS);
      const peer = body.servers.find(({ id }: { id: string }) => id === KUBE);
      console.log(`beside a kube-apiserver ${name}, ${JSON.stringify({ reachedAfterMs, unknownAfterMs, peer })}`);
      expect(peer).toMatchObject({ isKubeApiserver: true, release: wanted.binary.release, isReachable: true });
      expect(peer.lacks.map((lack: string) => lack.split(" (")[0])).toEqual(wanted.lacks);
      expect(body.ignoredLeases.count).toBe(0);
      const codes = {
        "the kube-apiserver, unknown resource": (await kube.request("GET", UNKNOWN)).status,
        "the kube-apiserver, resource of Evenkeel": (await kube.request("GET", AUTOSCALERS)).status,
        "Evenkeel, resource of the kube-apiserver": (await evenkeel.request("GET", CRON_JOBS)).status,
      };
      console.table({ ...codes, "seconds in all": Math.round((performance.now() - startedAt) / 1000) });
      expect(Object.values(codes)).toEqual([404, 404, 200]);
    },
  );
});

describe.skipIf(WHY.older !== undefined).each(OLDER)("beside kube-apiserver $release", (binary) => {
  test("Evenkeel stores objects in versions that the kube-apiserver can read", { timeout: 400_000 }, async () => {
    await using cluster = await openRealCluster(2);
    const kube = await cluster.startKube({
      ...{ at: 0, binary },
      flags: ["--feature-gates=DynamicResourceAllocation=true", "--runtime-config=resource.k8s.io/v1beta1=true"],
    });
    const evenkeel = await cluster.startEvenkeel({ at: 1, release: "1.36" });
    const name = "resource.k8s.io.deviceclasses";
    const entries = await eventually(
      async () => (await evenkeel.request("GET", `${STORAGE_VERSIONS}/${name}`)).body.status?.storageVersions ?? [],
      (found: ServerStorageVersion[]) => found.length === 2,
    );
    console.log(`entries of ${name}: ${JSON.stringify(entries)}`);
    const readable = entries.find(({ apiServerID }) => apiServerID === KUBE)!.decodableVersions;
    expect(entries.every(({ encodingVersion }) => readable.includes(encodingVersion))).toBe(true);
    const gpu = { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", metadata: { name: "gpu" }, spec: {} };
    expect((await evenkeel.request("POST", "/apis/resource.k8s.io/v1/deviceclasses", gpu)).status).toBe(201);
    const read = await kube.request("GET", "/apis/resource.k8s.io/v1beta1/deviceclasses/gpu");
    expect([read.status, read.body.metadata?.name]).toEqual([200, "gpu"]);
  });

  test(
    "Evenkeel calls two of them, and returns no 404 for their resources after one of them has departed",
    { timeout: 400_000 },
    async () => {
      await using cluster = await openRealCluster(3);
      const without = (api: string) => ({ binary, flags: [`--runtime-config=${api}=false`] });
      const leaving = await cluster.startKube({ at: 0, ...without("autoscaling/v2") });
      await cluster.startKube({ at: 1, ...without("batch/v1") });
      const flags = ["--runtime-config=batch/v1=false,autoscaling/v2=false"];
      const evenkeel = await cluster.startEvenkeel({ at: 2, release: "1.36", flags });
      await untilStatus(evenkeel, CRON_JOBS, 200, DEADLINE_MS);
      await untilStatus(evenkeel, AUTOSCALERS, 200, DEADLINE_MS);
      const departed = startLoad(() => evenkeel.request("GET", CRON_JOBS));
      const remaining = startLoad(() => evenkeel.request("GET", AUTOSCALERS));
      await leaving.stop();
      // The identity lease of a server without endpoint record counts for 30 s after its last renewal.
      await pause(45_000);
      const [ofDeparted, ofRemaining] = [await departed.stop(), await remaining.stop()];
      console.log(`GET of a resource of the departed server: ${inWords(ofDeparted, "")}`);
      console.log(`GET of a resource of the remaining server: ${inWords(ofRemaining, "200")}`);
      expect([...ofDeparted, ...ofRemaining].filter(({ code }) => code === "404")).toEqual([]);
      expect([ofDeparted.at(-1)!.code, ofRemaining.at(-1)!.code]).toEqual(["503", "200"]);
    },
  );
});

describe.skipIf(WHY.any !== undefined).each(BINARIES)("after kube-apiserver $release has departed", (binary) => {
  test(
    "its built-in resources get a 503 that stays the same over a restart of Evenkeel, and a deleted custom resource gets 404",
    { timeout: 400_000 },
    async () => {
      await using cluster = await openRealCluster(2);
      const { kube, evenkeel } = await startBoth(cluster, { binary, lacks: [] });
      await untilStatus(evenkeel, CRON_JOBS, 200, DEADLINE_MS);
      expect((await kube.request("POST", DEFINITIONS, widgets())).status).toBe(201);
      await untilStatus(kube, WIDGETS, 200, DEADLINE_MS);
      await untilStatus(evenkeel, WIDGETS, 200, DEADLINE_MS);
      await kube.stop();
      const departed = await eventually(
        async () => (await evenkeel.request("GET", CRON_JOBS)).body?.message ?? "",
        (message: string) => message.includes("which departed at"),
      );
      // The ID of a server without an endpoint record is a guess.
      const name = minorOf(binary.release) < 36 ? "the kube-apiserver at [\\d.]+:6443" : KUBE;
      expect(departed).toMatch(new RegExp(`was last served by ${name} \\(${binary.release}\\), which departed at`));
      expect((await evenkeel.request("DELETE", `${DEFINITIONS}/widgets.example.com`)).status).toBe(200);
      await untilStatus(evenkeel, WIDGETS, 404, DEADLINE_MS);
      await evenkeel.stop();
      const again = await startEvenkeel(cluster);
      const seen = new Set<string>();
      for (let round = 0; round < 50; round++) {
        seen.add((await again.request("GET", CRON_JOBS)).body.message);
        seen.add(String((await again.request("GET", WIDGETS)).status));
        await pause(POLL_MS);
      }
      expect([...seen].sort()).toEqual(["404", departed]);
    },
  );
});

async function startBoth(cluster: RealCluster, { binary, proxy, isNamed }: Case) {
  const flags = ["--runtime-config=autoscaling/v2=false"];
  const kube = await cluster.startKube({ at: 0, binary, flags, ...(proxy === undefined ? {} : { proxy }) });
  const named = isNamed === true ? [`--peer-server=${KUBE}=${kube.address}:6443`] : [];
  return { kube, evenkeel: await startEvenkeel(cluster, named) };
}

function startEvenkeel(cluster: RealCluster, flags: readonly string[] = []): Promise<RunningServer> {
  return cluster.startEvenkeel({ at: 1, release: "1.36", flags: ["--runtime-config=batch/v1=false", ...flags] });
}

function widgets(): object {
  const schema = { openAPIV3Schema: { type: "object" } };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: "widgets.example.com" },
    spec: {
      group: "example.com",
      names: { kind: "Widget", plural: "widgets", singular: "widget", listKind: "WidgetList" },
      scope: "Cluster",
      versions: [{ name: "v1", served: true, storage: true, schema }],
    },
  };
}

/** Returns the time in ms after which the response has this status. */
async function untilStatus(server: RunningServer, path: string, status: number, withinMs: number): Promise<number> {
  const startedAt = performance.now();
  let last;
  do {
    last = await server.request("GET", path);
    if (last.status === status) return Math.round(performance.now() - startedAt);
    await pause(POLL_MS);
  } while (performance.now() - startedAt < withinMs);
  throw new Error(`GET ${path} through ${server.kind} returns ${last.status}: ${last.text.slice(0, 500)}`);
}

async function eventually<Found>(ask: () => Promise<Found>, isAccepted: (found: Found) => boolean): Promise<Found> {
  const until = Date.now() + DEADLINE_MS;
  for (;;) {
    const found = await ask();
    if (isAccepted(found)) return found;
    if (Date.now() > until) throw new Error(`not accepted in time: ${JSON.stringify(found)}`);
    await pause(POLL_MS);
  }
}
