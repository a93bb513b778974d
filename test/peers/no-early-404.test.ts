/**
 * Tests that a server returns 503 instead of 404 while it does not know, or cannot know, the resources of its peers
 * (§9-6).
 */
import { describe, expect, test } from "vitest";
import { ROUTING_SOURCES, TestCluster } from "./cluster.ts";

const CLAIMS = "/apis/resource.k8s.io/v1";
/** The paths of a resource, its group version, its group and its OpenAPI schema. */
const PATHS = [`${CLAIMS}/resourceclaims`, CLAIMS, "/apis/resource.k8s.io", `/openapi/v3${CLAIMS}`];

describe.each(ROUTING_SOURCES)("with routing source %s,", (source) => {
  test("a starting server does not return 404 before it knows its peers", async () => {
    await using cluster = new TestCluster(source);
    await cluster.start();
    const starting = await cluster.start({ release: "1.33", isStoreStalled: true, skipReady: true });
    const responses = await Promise.all(PATHS.map((path) => starting.get(path)));
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    starting.resumeStore();
  });

  test("a server that cannot call peers does not return 404 while other servers are live", async () => {
    await using cluster = new TestCluster(source);
    await cluster.start();
    const mute = await cluster.start({ release: "1.33", hasNoCredentials: true });
    const responses = await Promise.all(PATHS.map((path) => mute.get(path)));
    expect(responses.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
  });

  test("a server returns 503 instead of 404 as soon as a new peer has written its lease, even before its watch delivers the lease", async () => {
    await using cluster = new TestCluster(source);
    const member = await cluster.start();
    const unknown = { method: "GET", target: "/apis/nobody.example.com/v1/things" };
    const { items } = await cluster.kv.range({ start: `/registry/leases/kube-system/${member.id}` });
    const own = items[0]!.value.toString();
    expect((await member.listening.server.call(unknown)).status).toBe(404);
    const value = Buffer.from(own.replaceAll(`"${member.id}"`, '"joined"').replaceAll(`"${member.id}_`, '"joined_'));
    await cluster.kv.commit({ kind: "put", key: "/registry/leases/kube-system/joined", value, expectedRevision: 0 });
    const response = await member.listening.server.call(unknown);
    expect([response.status, (await response.json<{ message: string }>()).message]).toEqual([
      503,
      expect.stringContaining("joined has not yet published what it serves"),
    ]);
  });
});
