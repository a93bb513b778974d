import { describe, expect, test } from "vitest";
import { sleep } from "../../../base/clock.ts";
import { formatGroupVersion } from "../../../meta/group-version.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { World } from "../../../tools/simulator/world.ts";
import { parseCrd, type Crd } from "../crd.ts";
import type { CallWebhook } from "../../../access/webhook-client/webhook-client.ts";
import { webhookConversion, type Convert } from "./webhook-conversion.ts";

const V2 = { group: "example.com", version: "v2" };
const TIMEOUT = { timeout: 30_000 };

function definition(conversionReviewVersions: readonly string[] = ["v1"]): Crd {
  const webhook = { clientConfig: { url: "https://hook" }, conversionReviewVersions };
  return parseCrd({ spec: { group: "example.com", conversion: { strategy: "Webhook", webhook } } });
}

/** A fake webhook in virtual time. */
class Hook {
  readonly world = new World({ seed: 3 });
  readonly sizes: number[] = [];
  inFlight = 0;
  inFlightMax = 0;
  tookMs = 100;
  fails: (objects: readonly JsonObject[]) => boolean = () => false;

  readonly call: CallWebhook = async (_clientConfig, body) => {
    const { request, ...review } = JSON.parse(body) as { request: JsonObject; kind: string; apiVersion: string };
    const objects = request["objects"] as JsonObject[];
    this.sizes.push(objects.length);
    this.inFlightMax = Math.max(this.inFlightMax, ++this.inFlight);
    await sleep(this.world.clock, this.tookMs);
    this.inFlight--;
    if (this.fails(objects)) throw new Error("no way");
    const convertedObjects = objects.map((object) => ({ ...object, apiVersion: request["desiredAPIVersion"] }));
    const response = { uid: request["uid"], convertedObjects, result: { status: "Success" } };
    return { status: 200, contentType: "", body: Buffer.from(JSON.stringify({ ...review, response })) };
  };

  conversion(of: Crd = definition()): Convert {
    const { clock, env } = this.world;
    return webhookConversion({ callWebhook: this.call, clock, random: env.random })(of);
  }
}

function thing(name: string, version = "v1", text = ""): JsonObject {
  return { apiVersion: `example.com/${version}`, kind: "Thing", metadata: { name }, spec: { text } };
}

function things(count: number, text = ""): JsonObject[] {
  return Array.from({ length: count }, (_, index) => thing(`thing-${index}`, "v1", text));
}

describe("objects converted by a webhook", () => {
  test("are returned in order, and objects already in the desired version are not sent to the webhook", async () => {
    const hook = new Hook();
    const objects = [thing("a"), thing("b", "v2"), thing("c")];
    const converted = await hook.world.run(hook.conversion()(objects, V2));
    expect(converted.map(({ metadata }) => (metadata as JsonObject)["name"])).toEqual(["a", "b", "c"]);
    expect(converted.every(({ apiVersion }) => apiVersion === formatGroupVersion(V2))).toBe(true);
    expect(hook.sizes).toEqual([2]);
    await hook.world.run(hook.conversion()([thing("b", "v2")], V2));
    expect(hook.sizes).toEqual([2]);
  });

  test("are sent in as few calls as the limits on number and size allow, with limited concurrency", async () => {
    const hook = new Hook();
    await hook.world.run(hook.conversion()(things(2_600), V2));
    expect(hook.sizes).toEqual([500, 500, 500, 500, 500, 100]);
    expect(hook.inFlightMax).toBe(4);
    hook.sizes.length = 0;
    await hook.world.run(hook.conversion()(things(5, "x".repeat(1_000_000)), V2));
    expect(hook.sizes).toEqual([3, 2]);
  });

  test("are sent once if several callers request the same conversion at the same time", async () => {
    const hook = new Hook();
    const convert = hook.conversion();
    const all = await hook.world.run(
      Promise.all(Array.from({ length: 50 }, () => convert([thing("a"), thing("b")], V2))),
    );
    expect(hook.sizes).toEqual([2]);
    expect(new Set(all.map(([first]) => first)).size).toBe(50);
    await hook.world.run(convert([thing("a")], V2));
    expect(hook.sizes).toEqual([2, 1]);
  });
});

describe("calls to a conversion webhook", () => {
  test("are limited to 16 at a time for each CRD; further calls wait", async () => {
    const hook = new Hook();
    const convert = hook.conversion();
    const all = Array.from({ length: 100 }, (_, index) => convert([thing(`thing-${index}`)], V2));
    await hook.world.run(Promise.all(all));
    expect(hook.inFlightMax).toBe(16);
    expect(hook.sizes).toHaveLength(100);
  });

  test("fail if they wait too long for a free slot", TIMEOUT, async () => {
    const hook = new Hook();
    hook.tookMs = 31_000;
    const convert = hook.conversion();
    const all = Array.from({ length: 17 }, (_, index) => convert([thing(`thing-${index}`)], V2));
    const outcomes = await hook.world.run(Promise.allSettled(all));
    expect(outcomes.map(({ status }) => status).filter((status) => status === "rejected")).toHaveLength(1);
    expect(hook.inFlight).toBe(0);
  });

  test("that fail reject all callers that wait for the objects, and the remaining batches are not sent", async () => {
    const hook = new Hook();
    hook.fails = () => true;
    const convert = hook.conversion();
    const outcomes = await hook.world.run(Promise.allSettled([convert(things(3_000), V2), convert(things(1), V2)]));
    const reason = {
      code: 500,
      reason: "",
      message: "conversion webhook for example.com/v1, Kind=Thing failed: no way",
    };
    expect(outcomes).toMatchObject([
      { status: "rejected", reason },
      { status: "rejected", reason },
    ]);
    expect(hook.sizes).toEqual([500, 500, 500, 500]);
    hook.fails = () => false;
    await hook.world.run(convert(things(1), V2));
  });

  test("are not made if the webhook supports no known conversion review version", async () => {
    const hook = new Hook();
    const convert = hook.conversion(definition(["v2"]));
    await expect(convert([thing("a")], V2)).rejects.toMatchObject({
      message: "no supported conversion review versions",
    });
    expect(hook.sizes).toEqual([]);
  });
});
