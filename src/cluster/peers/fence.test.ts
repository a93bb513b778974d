import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { NO_BODY, type ApiResponse } from "../../serving/http/message.ts";
import { errorResponse } from "../../serving/http/respond.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { StatusError } from "../../meta/status-error.ts";
import { World } from "../../tools/simulator/world.ts";
import { Fence, fence, fenceHealthCheck } from "./fence.ts";

const FENCE_AFTER_MS = 10_000;
const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";

function setUp(beforeUnfence?: (signal: AbortSignal) => Promise<void>): { world: World; state: Fence } {
  const world = new World({ seed: 1 });
  const { clock } = world;
  const options = { clock, log: SILENT_LOG, fenceAfterMs: FENCE_AFTER_MS };
  return { world, state: new Fence(beforeUnfence === undefined ? options : { ...options, beforeUnfence }) };
}

async function answer(state: Fence, request: WithInfo, isExempt = false): Promise<ApiResponse> {
  const handler = fence({ fence: state, isExempt: () => isExempt })(() =>
    Promise.resolve({ status: 200, headers: {}, body: NO_BODY }),
  );
  try {
    return await handler(request);
  } catch (thrown) {
    return errorResponse(StatusError.from(thrown));
  }
}

async function status(state: Fence, method: string, url = `${CONFIG_MAPS}/a`): Promise<number> {
  return (await answer(state, infoRequest({ method, url }))).status;
}

describe("the fence", () => {
  test("is closed until the lease has been written for the first time", async () => {
    const { world, state } = setUp();
    expect(fenceHealthCheck(state).check()).toBe("the identity lease of this server has not been written yet");
    expect(await status(state, "PUT")).toBe(503);
    state.renewed(world.clock.monotonic());
    expect(fenceHealthCheck(state).check()).toBeUndefined();
    expect(await status(state, "PUT")).toBe(200);
  });

  test("closes when the lease is not renewed in time, and opens with the next renewal", async () => {
    const { world, state } = setUp();
    state.renewed(0);
    await world.advance(FENCE_AFTER_MS - 1);
    expect(state.isFenced).toBe(false);
    await world.advance(1);
    expect(state.reason).toBe("the identity lease of this server has not been renewed for 10 s");
    state.renewed(world.clock.monotonic());
    expect(state.isFenced).toBe(false);
  });

  test("counts the age of a renewal from when the request was sent, not from when its response arrived", async () => {
    const { world, state } = setUp();
    await world.advance(4_000);
    state.renewed(1_000);
    await world.advance(7_000);
    expect(state.isFenced).toBe(true);
    await world.advance(10_000);
    state.renewed(2_000);
    expect(state.isFenced).toBe(true);
  });

  test("does not depend on a timer: a paused process is fenced as soon as it resumes", async () => {
    let now = 0;
    const clock = { now: () => 0, monotonic: () => now, after: () => () => {} };
    const state = new Fence({ clock, log: SILENT_LOG, fenceAfterMs: FENCE_AFTER_MS });
    state.renewed(0);
    now = 60_000;
    expect(await status(state, "DELETE")).toBe(503);
  });

  test("closes at once when the lease is lost", () => {
    const { world, state } = setUp();
    state.renewed(0);
    state.lost("another server uses the server ID a");
    expect(state.reason).toBe("another server uses the server ID a");
    state.renewed(world.clock.monotonic());
    expect(state.isFenced).toBe(false);
  });

  test("has not lapsed before it first opened, and has lapsed after the lease was lost or has expired", async () => {
    const { world, state } = setUp();
    expect(state.hasLapsed).toBe(false);
    state.renewed(0);
    expect(state.hasLapsed).toBe(false);
    state.lost("another server uses the server ID a");
    expect(state.hasLapsed).toBe(true);
    state.renewed(world.clock.monotonic());
    expect(state.hasLapsed).toBe(false);
    await world.advance(FENCE_AFTER_MS);
    expect(state.hasLapsed).toBe(true);
  });
});

describe("a fenced server", () => {
  test("rejects writes with a 503 that has the reason and Retry-After", async () => {
    const { state } = setUp();
    const { headers } = await answer(state, infoRequest({ method: "POST", url: CONFIG_MAPS }));
    expect(headers["retry-after"]).toBe("1");
    expect(() => state.check()).toThrow(
      "this server rejects writes: the identity lease of this server has not been written yet",
    );
  });

  test.each([
    ["POST", CONFIG_MAPS],
    ["PUT", `${CONFIG_MAPS}/a`],
    ["PATCH", `${CONFIG_MAPS}/a/status`],
    ["DELETE", `${CONFIG_MAPS}/a`],
    ["DELETE", CONFIG_MAPS],
  ])("rejects %s %s", async (method, url) => {
    expect(await status(setUp().state, method, url)).toBe(503);
  });

  test.each([
    ["GET", `${CONFIG_MAPS}/a`],
    ["GET", CONFIG_MAPS],
    ["GET", `${CONFIG_MAPS}?watch=1`],
    ["GET", "/readyz"],
    ["POST", "/somewhere"],
  ])("serves %s %s", async (method, url) => {
    expect(await status(setUp().state, method, url)).toBe(200);
  });

  test("performs its own writes; without them it could never renew its lease", async () => {
    const request = infoRequest({ method: "PUT", url: `${CONFIG_MAPS}/a` });
    expect((await answer(setUp().state, request, true)).status).toBe(200);
  });
});

describe("before the fence opens", () => {
  test("the server publishes its records, at its start and after each lapse", async () => {
    const publishing: PromiseWithResolvers<void>[] = [];
    const { world, state } = setUp(() => {
      publishing.push(Promise.withResolvers<void>());
      return publishing.at(-1)!.promise;
    });
    state.renewed(0);
    await world.advance(3_000);
    expect(state.reason).toBe("this server has not yet published the records that its peers need before it writes");
    state.renewed(3_000);
    publishing[0]!.resolve();
    await world.advance(0);
    expect(state.isFenced).toBe(false);
    state.renewed(3_000);
    expect(publishing).toHaveLength(1);
    await world.advance(20_000);
    state.renewed(23_000);
    expect(state.isFenced).toBe(true);
    expect(publishing).toHaveLength(2);
  });

  test("the record of the server is confirmed once, although the lease is late by then", async () => {
    let confirmed = 0;
    const { world, state } = setUp(() => {
      confirmed++;
      state.recordKept(world.clock.monotonic());
      return Promise.resolve();
    });
    await world.advance(20_000);
    state.renewed(0);
    await world.advance(0);
    expect(confirmed).toBe(1);
    expect(state.reason).toBe("the identity lease of this server has not been renewed for 20 s");
  });

  test("the fence closes when the record is not renewed in time, although the lease is", async () => {
    const { world, state } = setUp();
    state.recordKept(0);
    state.renewed(0);
    await world.advance(FENCE_AFTER_MS);
    state.renewed(FENCE_AFTER_MS);
    expect(state.reason).toBe("the record by which peers find this server has not been renewed for 10 s");
    state.recordKept(FENCE_AFTER_MS);
    state.renewed(FENCE_AFTER_MS);
    await world.advance(0);
    expect(state.isFenced).toBe(false);
  });

  test("the server publishes its records again if the lease lapses a second time meanwhile", async () => {
    const publishing: PromiseWithResolvers<void>[] = [];
    const { world, state } = setUp(() => {
      publishing.push(Promise.withResolvers<void>());
      return publishing.at(-1)!.promise;
    });
    state.renewed(0);
    state.lost("another server has it");
    state.renewed(0);
    publishing[0]!.resolve();
    await world.advance(0);
    expect(state.isFenced).toBe(true);
    publishing[1]!.resolve();
    await world.advance(0);
    expect(state.isFenced).toBe(false);
  });

  test.each(["fails", "hangs"])("a step that %s is repeated at the next renewal", async (how) => {
    let attempts = 0;
    const { world, state } = setUp(() => {
      if (++attempts > 1) return Promise.resolve();
      return how === "fails" ? Promise.reject(new Error("no")) : new Promise(() => {});
    });
    for (let at = 0; at <= 12_000; at += 3_000) {
      state.renewed(at);
      await world.advance(3_000);
    }
    expect(attempts).toBe(2);
    expect(state.isFenced).toBe(false);
  });
});
