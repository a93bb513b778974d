/**
 * Requests through a server of one kind while servers of the other kind stop, crash and restart. Each kind has an API
 * that the other does not serve: the kube-apiservers run without autoscaling/v2, Evenkeel without batch/v1.
 */
import { describe, expect, test } from "vitest";
import { inWords, startLoad, type Sent } from "./codes.ts";
import { PROXYING, whySkipped, WITH_PROXY, type RealBinary } from "./real-binaries.ts";
import { openRealCluster, type RealCluster, type RunningServer, type ServerKind } from "./real-cluster.ts";

const AUTOSCALERS = "/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers";
const CRON_JOBS = "/apis/batch/v1/namespaces/default/cronjobs";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const UNKNOWN = "/apis/unknown.example.com/v1/things";
const STEADY_MS = 1_000;
/** How long the servers may take to learn about each other. */
const DEADLINE_MS = 60_000;
const DOUBT_MS = 30_000;

const why = whySkipped(PROXYING[0], WITH_PROXY);

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

describe.skipIf(why !== undefined).each(PROXYING)(
  "Evenkeel beside kube-apiserver $release",
  { timeout: 400_000 },
  (binary) => {
    const startAt = (cluster: RealCluster, kind: ServerKind, at: number): Promise<RunningServer> =>
      startServer(cluster, kind, { at, binary });

    test("is found by the kube-apiserver as soon as it is ready: no 404 over a rolling restart of two servers", async () => {
      await using cluster = await openRealCluster(3);
      const kube = await startAt(cluster, "kube-apiserver", 0);
      const servers = [await startAt(cluster, "evenkeel", 1), await startAt(cluster, "evenkeel", 2)];
      await untilStatus(kube, AUTOSCALERS, 200);
      const load = startLoad(() => kube.request("GET", AUTOSCALERS));
      for (const [index, server] of servers.entries()) {
        await pause(STEADY_MS);
        await server.stop();
        servers[index] = await startAt(cluster, "evenkeel", index + 1);
      }
      await pause(STEADY_MS);
      const sent = await load.stop();
      console.log(`GET through the kube-apiserver over a rolling restart of Evenkeel: ${inWords(sent, "200")}`);
      expect(sent.filter(({ code }) => code === "200").length).toBeGreaterThan(50);
      expect(sent.filter(({ code }) => code === "404")).toEqual([]);
    });

    test("loses and repeats no write when a server of either kind stops or crashes under writes through the other kind", async () => {
      await using cluster = await openRealCluster(4);
      const kinds = ["kube-apiserver", "kube-apiserver", "evenkeel", "evenkeel"] as const;
      const servers = await Promise.all(kinds.map((kind, at) => startAt(cluster, kind, at)));
      await untilStatus(servers[0]!, AUTOSCALERS, 200);
      await untilStatus(servers[2]!, CRON_JOBS, 200);
      const rows = [];
      for (const [through, ending] of [
        [0, 3],
        [2, 1],
      ] as const) {
        for (const how of ["stop", "kill9"] as const) {
          const prefix = `${kinds[ending]}-${how.toLowerCase()}`;
          const via = servers[through]!;
          const load = startLoad((number) => create(via, `${prefix}-${number}`));
          await pause(STEADY_MS);
          await servers[ending]![how]();
          servers[ending] = await startAt(cluster, kinds[ending], ending);
          await pause(STEADY_MS);
          const sent = await load.stop();
          const stored = await namesIn(servers[ending], collectionOf(via));
          const has = ({ number }: Sent): boolean => stored.has(`${prefix}-${number}`);
          const created = sent.filter(({ code }) => code === "201");
          rows.push({ through: via.kind, ended: kinds[ending], how, responses: inWords(sent, "201") });
          expect(created.length, `acknowledged writes of ${inWords(sent, "201")}`).toBeGreaterThan(20);
          expect(
            created.filter((one) => !has(one)),
            "acknowledged and lost",
          ).toEqual([]);
          expect(
            sent.filter(({ code }) => code === "409"),
            "executed twice",
          ).toEqual([]);
          expect(
            sent.filter((one) => one.code !== "201" && one.hasRetryAfter && has(one)),
            "rejected, yet stored",
          ).toEqual([]);
        }
      }
      console.table(rows);
    });

    test("returns 503 for unknown resources for at most 30 s because of a forged lease that the kube-apiserver accepts", async () => {
      await using cluster = await openRealCluster(2);
      const kube = await startAt(cluster, "kube-apiserver", 0);
      const evenkeel = await startAt(cluster, "evenkeel", 1);
      await untilStatus(evenkeel, UNKNOWN, 404);
      const metadata = { name: "apiserver-ghost", labels: { "apiserver.kubernetes.io/identity": "kube-apiserver" } };
      const lease = (renewal: number) => ({
        apiVersion: "coordination.k8s.io/v1",
        kind: "Lease",
        metadata,
        spec: {
          holderIdentity: "apiserver-ghost_1",
          leaseDurationSeconds: 3600,
          renewTime: microTime(),
          leaseTransitions: renewal,
        },
      });
      expect((await evenkeel.request("POST", LEASES, lease(0), { "impersonate-user": "mallory" })).status).toBe(403);
      expect((await kube.request("POST", LEASES, lease(0))).status).toBe(201);
      const load = startLoad(() => evenkeel.request("GET", UNKNOWN));
      for (let renewal = 1; renewal <= 10; renewal++) {
        await pause(DOUBT_MS / 8);
        const { status } = await kube.request("PATCH", `${LEASES}/apiserver-ghost`, lease(renewal), {
          "content-type": "application/merge-patch+json",
        });
        expect(status).toBe(200);
      }
      const sent = await load.stop();
      console.log(`GET of an unknown resource with a forged lease: ${inWords(sent, "")}`);
      const doubts = sent.filter(({ code }) => code === "503");
      expect(doubts.length).toBeGreaterThan(0);
      expect(doubts.at(-1)!.atMs - doubts[0]!.atMs).toBeLessThan(DOUBT_MS + 5_000);
      expect(sent.at(-1)!.code).toBe("404");
    });
  },
);

/** A kube-apiserver deletes an identity lease without a renewTime. */
function microTime(): string {
  return new Date().toISOString().replace("Z", "000Z");
}

function startServer(
  cluster: RealCluster,
  kind: ServerKind,
  { at, binary }: { readonly at: number; readonly binary: RealBinary },
): Promise<RunningServer> {
  return kind === "evenkeel"
    ? cluster.startEvenkeel({ at, release: "1.36", flags: ["--runtime-config=batch/v1=false"] })
    : cluster.startKube({ at, binary, flags: ["--runtime-config=autoscaling/v2=false"] });
}

async function untilStatus(server: RunningServer, path: string, status: number): Promise<void> {
  const until = Date.now() + DEADLINE_MS;
  let last;
  do {
    last = await server.request("GET", path);
    if (last.status === status) return;
    await pause(100);
  } while (Date.now() < until);
  throw new Error(`GET ${path} through ${server.kind} returns ${last.status}: ${last.text.slice(0, 500)}`);
}

/** The collection that only servers of the other kind serve. */
function collectionOf({ kind }: RunningServer): string {
  return kind === "kube-apiserver" ? AUTOSCALERS : CRON_JOBS;
}

function create(server: RunningServer, name: string) {
  const template = { spec: { restartPolicy: "Never", containers: [{ name: "main", image: "main" }] } };
  const [apiVersion, kind, spec] =
    server.kind === "kube-apiserver"
      ? [
          "autoscaling/v2",
          "HorizontalPodAutoscaler",
          { maxReplicas: 2, scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name } },
        ]
      : ["batch/v1", "CronJob", { schedule: "0 0 1 1 *", jobTemplate: { spec: { template } } }];
  return server.request("POST", collectionOf(server), { apiVersion, kind, metadata: { name }, spec });
}

async function namesIn(server: RunningServer, collection: string): Promise<ReadonlySet<string>> {
  const { body } = await server.request("GET", collection);
  return new Set(body.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name));
}
