import { describe, expect, test } from "vitest";
import { World } from "../tools/simulator/world.ts";
import { createClient, type ClientOptions } from "./client.ts";
import { readinessHeaders, readyOf, waitForServerMs } from "./readiness.ts";
import {
  CONFIG_MAPS,
  configMap,
  list,
  rejects,
  ScriptedTransport,
  type Reply,
} from "../../test/testing/client/scripted-transport.ts";

test('readyOf returns "not understood" if the header is absent or has an unknown value', () => {
  expect(readyOf({ "x-kubernetes-ready": "true" })).toBe(true);
  expect(readyOf({ "x-kubernetes-ready": "false" })).toBe(false);
  for (const headers of [{}, { "x-kubernetes-ready": "" }, { "x-kubernetes-ready": "true, false" }])
    expect(readyOf(headers)).toBe("not understood");
});

test("an invalid compatibility version is rejected before anything is sent", () => {
  for (const compatibilityVersion of ["", "v1.36", "1.36.1", "1.36\r\nx: y", "latest"])
    expect(() => readinessHeaders({ compatibilityVersion })).toThrow(TypeError);
});

test("a client with ifReadyHeader also waits while connections are refused, unless waitForServerMs is set", () => {
  expect(waitForServerMs({})).toBe(0);
  expect(waitForServerMs({ ifReadyHeader: true })).toBe(60_000);
  expect(waitForServerMs({ ifReadyHeader: true, waitForServerMs: 0 })).toBe(0);
  expect(waitForServerMs({ waitForServerMs: 5 })).toBe(5);
});

describe("a client", () => {
  function start(replies: readonly Reply[], options: Partial<ClientOptions> = {}) {
    const world = new World({ seed: 1 });
    const transport = new ScriptedTransport(...replies);
    const client = createClient({ transport, clock: world.clock, random: world.randomFor("client"), ...options });
    return { world, transport, client, configMaps: client.resource(CONFIG_MAPS) };
  }
  const key = { namespace: "default", name: "a" };
  const read: Reply = { status: 200, headers: { "x-kubernetes-ready": "true" }, body: configMap("a", 1) };
  const early: Reply = {
    status: 503,
    headers: { "retry-after": "5", "x-kubernetes-ready": "false" },
    body: "The APIServer has not fully initialized yet, please try again later.\n",
  };

  test("sends its compatibility version and the if-ready header with every request", async () => {
    const { world, transport, configMaps } = start([read, list(1)], {
      ifReadyHeader: true,
      compatibilityVersion: "1.36",
    });
    await world.run(configMaps.get(key));
    await world.run(configMaps.list());
    expect(transport.requests).toHaveLength(2);
    for (const { headers } of transport.requests)
      expect(headers).toMatchObject({ "x-kubernetes-if-ready": "true", "x-kubernetes-compatibility-version": "1.36" });
  });

  test("sends neither header by default, and reports no readiness", async () => {
    const { world, transport, client, configMaps } = start([read]);
    await world.run(configMaps.get(key));
    expect(Object.keys(transport.requests[0]!.headers)).toEqual(["accept"]);
    expect(client.ready).toBeUndefined();
  });

  test("reports the readiness in the latest response, also while it waits for a retry", async () => {
    const { world, client, configMaps } = start([early, read, list(1)], { ifReadyHeader: true });
    expect(client.ready).toBeUndefined();
    const reading = configMaps.get(key);
    await world.advance(4_999);
    expect(client.ready).toBe(false);
    await world.run(reading);
    expect(client.ready).toBe(true);
    await world.run(configMaps.list());
    expect(client.ready).toBe("not understood");
  });

  test("retries while connections are refused, for the configured time", async () => {
    const rejected: Reply = { failure: "refused" };
    const patient = start([rejected, rejected, early, read], { ifReadyHeader: true });
    expect(await patient.world.run(patient.configMaps.get(key))).toMatchObject({ metadata: { name: "a" } });
    expect(patient.world.clock.monotonic()).toBe(6_000);
    const hasty = start([rejected, rejected, rejected], { waitForServerMs: 600 });
    await expect(hasty.world.run(hasty.configMaps.get(key))).rejects.toMatchObject({ failure: "refused" });
    expect(hasty.transport.requests).toHaveLength(3);
    expect(hasty.world.clock.monotonic()).toBe(600);
  });

  test("throws a server error without Retry-After at once", async () => {
    const { world, client, configMaps } = start([early, rejects(503, "ServiceUnavailable")], { ifReadyHeader: true });
    await expect(world.run(configMaps.get(key))).rejects.toMatchObject({ reason: "ServiceUnavailable" });
    expect(client.ready).toBe("not understood");
  });
});
