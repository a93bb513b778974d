import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../../base/log.ts";
import { createClient } from "../../../client/client.ts";
import {
  configMap,
  rejects,
  ScriptedTransport,
  type Reply,
} from "../../../../test/testing/client/scripted-transport.ts";
import { World } from "../../../tools/simulator/world.ts";
import { Holds } from "./holds.ts";
import { LiveObjects } from "./live-objects.ts";
import { ServedResources } from "./served-resources.ts";
import {
  ALL_VERBS,
  ManualResources,
} from "../../../../test/testing/cluster/controllers/garbage-collector/manual-resources.ts";

const RESOURCE = { group: "", resource: "configmaps" };
const PLACE = { resource: RESOURCE, namespace: "default", name: "a" };
const SETS = { group: "apps", resource: "replicasets" };

interface Setup {
  readonly world: World;
  readonly transport: ScriptedTransport;
  readonly objects: LiveObjects;
  readonly holds: Holds;
}

function setup(...replies: Reply[]): Setup {
  const world = new World({ seed: 1 });
  const { clock } = world;
  const transport = new ScriptedTransport(...replies);
  const kinds = { configmaps: "ConfigMap", replicasets: "ReplicaSet" };
  const served = [RESOURCE, SETS].map(({ group, resource }) => ({
    ...{ group, resource, kind: kinds[resource as keyof typeof kinds], namespaced: true, verbs: ALL_VERBS },
    versions: ["v1"],
  }));
  const holds = new Holds({ clock, log: SILENT_LOG });
  const metadata = createClient({ transport, clock, random: world.randomFor("client"), defaults: { retriesMax: 0 } });
  return {
    ...{ world, transport, holds },
    objects: new LiveObjects({ metadata, holds, served: new ServedResources(new ManualResources(served)) }),
  };
}

const SIGNAL = new AbortController().signal;

async function told(reply: Reply, place = PLACE): Promise<string> {
  const { world, objects } = setup(reply);
  const response = await world.run(objects.get(place, SIGNAL));
  return response.kind === "wait" ? `wait: ${response.reason}` : response.kind;
}

describe("an object counts as absent", () => {
  test("if a server that serves its resource responds that it does not exist", async () => {
    expect(await told(rejects(404, "NotFound", { name: "a", kind: "configmaps" }))).toBe("absent");
    const place = { ...PLACE, resource: SETS };
    expect(await told(rejects(404, "NotFound", { name: "a", group: "apps", kind: "replicasets" }), place)).toBe(
      "absent",
    );
  });

  test("after no other response", async () => {
    expect(await told({ status: 404, body: "404 page not found" })).toBe("wait: not-served");
    expect(await told(rejects(404, "NotFound"))).toBe("wait: not-served");
    expect(await told(rejects(404, "NotFound", { name: "b", kind: "configmaps" }))).toBe("wait: not-served");
    expect(await told(rejects(404, "NotFound", { name: "default", kind: "namespaces" }))).toBe("wait: not-served");
    expect(await told(rejects(404, "NotFound", { name: "a", group: "x", kind: "configmaps" }))).toBe(
      "wait: not-served",
    );
    expect(await told(rejects(410, "Gone"))).toBe("wait: conflict");
    expect(await told(rejects(503, "ServiceUnavailable"))).toBe("wait: unavailable");
    expect(await told(rejects(429, "TooManyRequests"))).toBe("wait: unavailable");
    expect(await told(rejects(504, "Timeout"))).toBe("wait: unavailable");
    expect(await told(rejects(500, "InternalError"))).toBe("wait: refused");
    expect(await told(rejects(403, "Forbidden"))).toBe("wait: refused");
    expect(await told({ failure: "reset" })).toBe("wait: unavailable");
    expect(await told({ failure: "refused" })).toBe("wait: unavailable");
    expect(await told({ status: 200, body: "no JSON" })).toBe("wait: unavailable");
    expect(await told({ status: 200, body: { metadata: {} } })).toBe("wait: unavailable");
  });
});

describe("a resource that cannot be read", () => {
  test("is requested again after its delay and not earlier, even for another object", async () => {
    const busy = rejects(503, "ServiceUnavailable", { retryAfterSeconds: 3 });
    const { world, transport, objects } = setup(busy, { status: 200, body: configMap("a", 1) });
    expect(await world.run(objects.get(PLACE, SIGNAL))).toMatchObject({ reason: "unavailable", afterMs: 3_000 });
    await world.advance(1_000);
    expect(await world.run(objects.get({ ...PLACE, name: "b" }, SIGNAL))).toMatchObject({ afterMs: 2_000 });
    expect(transport.requests).toHaveLength(1);
    await world.advance(2_000);
    expect(await world.run(objects.get(PLACE, SIGNAL))).toMatchObject({ kind: "found" });
    expect(await world.run(Promise.resolve(transport.requests.length))).toBe(2);
  });

  test("does not delay other resources, and the delay is limited even if its Retry-After is longer", async () => {
    const busy = rejects(503, "ServiceUnavailable", { retryAfterSeconds: 300 });
    const { world, objects } = setup(busy, { status: 200, body: configMap("a", 1) });
    expect(await world.run(objects.get(PLACE, SIGNAL))).toMatchObject({ afterMs: 5_000 });
    expect(await world.run(objects.get({ ...PLACE, resource: SETS }, SIGNAL))).toMatchObject({ kind: "found" });
  });

  test("is requested at once after the held delays were cleared", async () => {
    const { world, objects, holds } = setup({ failure: "refused" }, { status: 200, body: configMap("a", 1) });
    await world.run(objects.get(PLACE, SIGNAL));
    holds.clear();
    expect(await world.run(objects.get(PLACE, SIGNAL))).toMatchObject({ kind: "found" });
  });

  test("because the server does not respond is unavailable after a timeout", async () => {
    const { world, objects } = setup();
    expect(await world.run(objects.get(PLACE, SIGNAL))).toMatchObject({ reason: "unavailable" });
  });
});
