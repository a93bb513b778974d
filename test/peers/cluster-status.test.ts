import { expect, test } from "vitest";
import { SHORT_LEASES, startCluster, type Member } from "./cluster.ts";
import type { Json } from "./client.ts";
import { eventually, until } from "./wait.ts";

const ONLY_IN_B = "/apis/batch/v1/namespaces/default/jobs";

async function status(member: Member): Promise<Json> {
  return (await member.get("/evenkeel/v1/status")).body;
}

async function routeOf(member: Member, path: string): Promise<Json> {
  return (await member.get(`/evenkeel/v1/route?verb=get&path=${encodeURIComponent(path)}`)).body.route;
}

test("the status of each server reports for every server its release, its reachability and the resources that only it serves", async () => {
  await using cluster = await startCluster([{ runtimeConfig: "batch/v1=false", release: "1.34" }, { release: "1.36" }]);
  const [a, b] = cluster.members as [Member, Member];
  for (const member of [a, b]) {
    const { servers } = await status(member);
    const byId = new Map<string, Json>(servers.map((server: Json) => [server.id, server]));
    expect(servers[0].id).toBe(member.id);
    expect(byId.get("a")).toMatchObject({ release: "1.34", compatibilityVersion: "1.34", isReachable: true });
    expect(byId.get("b")).toMatchObject({ release: "1.36", isReachable: true, isDescribed: true, isDraining: false });
    expect(byId.get("b").incarnation).toMatch(/^[0-9a-f-]{36}$/);
    expect(byId.get("b").onlyServes).toContainEqual({
      groupVersion: "batch/v1",
      resources: ["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
    });
  }
  const [, seen] = (await status(a)).servers;
  expect(seen.documentAgeSeconds).toBeGreaterThanOrEqual(0);
});

test("an explained route matches the real request: both name the same peer, or the same error message", async () => {
  await using cluster = await startCluster([{ runtimeConfig: "batch/v1=false" }, {}]);
  const [a, b] = cluster.members as [Member, Member];
  expect(await routeOf(a, ONLY_IN_B)).toMatchObject({ kind: "peer", rule: "served-by-peer", candidates: [["b"]] });
  expect((await a.get(ONLY_IN_B)).headers["x-evenkeel-served-by"]).toMatch(/^b .*reason=served-by-peer$/);
  expect(await routeOf(a, "/apis/nope.io/v1/things")).toMatchObject({
    kind: "unknown",
    message: (await a.get("/apis/nope.io/v1/things")).body.message,
  });

  await b.stop();
  const departed = await eventually(
    () => routeOf(a, ONLY_IN_B),
    ({ rule }) => rule === "departed",
  );
  const rejected = await a.get(ONLY_IN_B);
  expect(departed).toMatchObject({ kind: "unavailable", reason: rejected.body.message, peer: "b" });
  expect(rejected.headers["retry-after"]).toBe(String(departed.retryAfterSeconds));
  const { departed: left, servers } = await status(a);
  expect(servers.map(({ id }: Json) => id)).toEqual(["a"]);
  expect(left).toMatchObject([
    { server: "b", isGone: true, isGraceful: true, resourceCount: 4, resources: [{ groupVersion: "batch/v1" }] },
  ]);
});

test("a crashed server is listed as unreachable with the reason, then as gone, until it returns", async () => {
  const peers = { timing: SHORT_LEASES };
  await using cluster = await startCluster([{ peers }, { peers }, { peers }]);
  const [a, b, c] = cluster.members as [Member, Member, Member];
  b.crash();
  const reports = await until(
    () => status(a),
    ({ departed }) => departed.length > 0,
  );
  const isListed = ({ servers, departed }: Json): boolean =>
    [...servers.map(({ id }: Json) => id), ...departed.map(({ server }: Json) => server)].includes("b");
  expect(reports.every(isListed)).toBe(true);
  const reasons = reports.flatMap(({ servers }) => servers.map((server: Json) => server.unreachableBecause ?? []));
  expect(reasons.flat()).toContain("connection refused");
  expect(reports.at(-1).departed).toMatchObject([{ server: "b", isGone: true, isGraceful: false, resourceCount: 0 }]);
  await c.stop();
  const { departed } = await eventually(
    () => status(a),
    ({ departed: { length } }) => length === 2,
  );
  expect(departed).toMatchObject([
    { server: "b", isGraceful: false },
    { server: "c", isGone: true, isGraceful: true },
  ]);
  await cluster.start({ id: "b", peers });
  const returned = await eventually(
    () => status(a),
    (report) => report.departed.length === 1,
  );
  expect(returned.departed).toMatchObject([{ server: "c" }]);
});
