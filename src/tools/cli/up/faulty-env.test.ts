import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../../base/log.ts";
import type { Upstream } from "../../../serving/http/upstream.ts";
import type { Env } from "../../../server/env.ts";
import { Recorder, create, describeEvent } from "../../../../test/testing/storage/conformance/kv-fixture.ts";
import { createManualClock } from "../../../../test/testing/storage/conformance/manual-clock.ts";
import { createMemoryStore } from "../../../storage/kv-memory/kv.ts";
import type { Kv } from "../../../storage/kv.ts";
import { FaultSwitch } from "./fault-switch.ts";
import { faultyEnv } from "./faulty-env.ts";

interface World {
  readonly faults: FaultSwitch;
  readonly env: Env;
  readonly clock: ReturnType<typeof createManualClock>;
  /** The same store, without faults, as another server uses it. */
  readonly other: Kv;
  readonly sent: string[];
  readonly cut: string[];
}

function createWorld(): World {
  const clock = createManualClock();
  const store = createMemoryStore({ clock });
  const faults = new FaultSwitch();
  const sent: string[] = [];
  const cut: string[] = [];
  const upstream: Upstream = {
    send({ address, target }) {
      sent.push(`${address.port}${target}`);
      return Promise.resolve({ status: 200, headers: [], body: { kind: "none" } });
    },
    retire: () => {},
    disconnect: ({ port }) => void cut.push(String(port)),
    close: () => Promise.resolve(),
  };
  const env: Env = {
    clock,
    log: SILENT_LOG,
    random: { float: () => 0, bytes: (length) => new Uint8Array(length) },
    openKv: () => Promise.resolve(store.open()),
    openUpstream: () => upstream,
    onFatal: () => {},
    processUsage: () => ({ residentBytes: 0, cpuSeconds: 0 }),
  };
  return { faults, env: faultyEnv(env, faults), clock, other: store.open(), sent, cut };
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
}

describe("a paused server", () => {
  test("receives nothing until it is resumed, and then all pending events in order", async () => {
    const { faults, env, other } = createWorld();
    const kv = await env.openKv({ kind: "memory" });
    const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
    await create(kv, "/a/0");
    faults.pause();
    const heard: string[] = [];
    const own = create(kv, "/a/own").then(() => heard.push("own commit"));
    await create(other, "/a/1");
    await create(other, "/a/2");
    await settled();
    expect(recorder.all).toHaveLength(1);
    expect(heard).toEqual([]);
    faults.resume();
    await own;
    expect(recorder.all.map((event) => describeEvent(event, "/a/"))).toEqual([
      "put 0@2",
      "put 1@3",
      "put 2@4",
      "put own@5",
    ]);
  });

  test("has clocks that advance, but timers that do not fire", () => {
    const { faults, env, clock } = createWorld();
    const fired: string[] = [];
    env.clock.after(1000, () => fired.push("first"));
    const cancel = env.clock.after(2000, () => fired.push("cancelled"));
    env.clock.after(3000, () => fired.push("last"));
    const before = env.clock.monotonic();
    faults.pause();
    clock.advance(5000);
    expect(fired).toEqual([]);
    expect(env.clock.monotonic() - before).toBe(5000);
    cancel();
    faults.resume();
    expect(fired).toEqual(["first", "last"]);
  });
});

test("a killed server receives nothing and does nothing", async () => {
  const { faults, env, clock, other } = createWorld();
  const kv = await env.openKv({ kind: "memory" });
  const recorder = Recorder.start(kv, { prefix: "/a/", fromRevision: 2 });
  const fired: string[] = [];
  env.clock.after(1000, () => fired.push("timer"));
  faults.kill();
  void create(kv, "/a/x").then(() => fired.push("commit"));
  await create(other, "/a/y");
  clock.advance(5000);
  await settled();
  expect(fired).toEqual([]);
  expect([recorder.all, recorder.closings]).toEqual([[], []]);
  expect((await other.range({ start: "/a/", end: "/a0" })).items.map(({ key }) => key)).toEqual(["/a/y"]);
});

test("a partition closes open connections and lets new ones time out, until it is healed", async () => {
  const { faults, env, clock, sent, cut } = createWorld();
  const upstream = env.openUpstream({
    credentials: { caFile: "", certFile: "", keyFile: "" },
    egress: { kind: "direct" },
  });
  const send = (port: number): ReturnType<Upstream["send"]> =>
    upstream.send({
      address: { host: "127.0.0.1", port },
      method: "GET",
      target: "/readyz",
      headers: [],
      body: undefined,
      contentLength: undefined,
      isUpgrade: false,
      signal: new AbortController().signal,
    });
  faults.setUnreachable(["127.0.0.1:1001"]);
  expect(cut).toEqual(["1001"]);
  const blocked = send(1001);
  await send(1002);
  clock.advance(2000);
  await expect(blocked).rejects.toMatchObject({ failure: "timeout", isSent: false });
  faults.setUnreachable([]);
  await send(1001);
  expect(sent).toEqual(["1002/readyz", "1001/readyz"]);
});
