import { describe, expect, test } from "vitest";
import { sleep } from "../../base/clock.ts";
import { SILENT_LOG, type Log, type LogFields } from "../../base/log.ts";
import { World } from "../../tools/simulator/world.ts";
import { WriteBackOff } from "./contested-writes.ts";
import { ControllerRun, type ReconcileOutcome } from "./controller-run.ts";
import type { Reconcile, ReconcileResult, KeySource } from "./controller.ts";
import { ManualSource } from "../../../test/testing/cluster/controller-runtime/manual-source.ts";

interface Options {
  readonly reconcile: Reconcile;
  readonly sources?: readonly KeySource[];
  readonly workers?: number;
  readonly mayWork?: () => boolean;
}

class Running {
  readonly world = new World({ seed: 1 });
  readonly outcomes: ReconcileOutcome[] = [];
  readonly warnings: (LogFields | undefined)[] = [];
  readonly run: ControllerRun;
  /** Undefined while the controller runs, null after it ended without error. */
  ended: unknown;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(options: Options) {
    const { reconcile, sources = [new ManualSource("a")], workers, mayWork = () => true } = options;
    const log: Log = { ...SILENT_LOG, warn: (_message, fields) => void this.warnings.push(fields) };
    const { clock } = this.world;
    this.run = new ControllerRun(
      { name: "test", reconcile, sources: () => sources, ...(workers === undefined ? {} : { workers }) },
      {
        clock,
        random: this.world.randomFor("queue"),
        log,
        mayWork,
        queueHooks: {},
        onReconciled: (outcome) => void this.outcomes.push(outcome),
      },
    );
    this.#running = this.run.run(this.#stop.signal).then(
      () => void (this.ended = null),
      (thrown: unknown) => void (this.ended = thrown),
    );
  }

  stop(): void {
    this.#stop.abort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stop();
    await this.world.run(this.#running);
    const stoppedAt = this.world.clock.monotonic();
    await this.world.run(new Promise(() => {})).catch(() => {});
    if (this.world.clock.monotonic() > stoppedAt) throw new Error("a timer was left behind");
  }
}

describe("a controller", () => {
  test("that must not write yet reconciles the key after the wait, and does not count as failed", async () => {
    let isContested = true;
    const reconcile = (): Promise<void> =>
      isContested ? Promise.reject(new WriteBackOff("another client overwrites it", 8_000)) : Promise.resolve();
    await using running = new Running({ reconcile });
    await running.world.advance(1_000);
    expect(running.outcomes).toEqual(["requeue"]);
    expect([running.run.failuresInRow, running.warnings]).toEqual([0, []]);
    isContested = false;
    await running.world.advance(6_000);
    expect(running.outcomes).toEqual(["requeue"]);
    await running.world.advance(1_000);
    expect(running.outcomes).toEqual(["requeue", "success"]);
  });

  test("reconciles nothing before all of its sources have synced", async () => {
    const late = new ManualSource("b");
    late.hasSynced = false;
    const seen: string[] = [];
    const reconcile = async (key: string): Promise<void> => void seen.push(key);
    await using running = new Running({ reconcile, sources: [new ManualSource("a"), late] });
    await running.world.advance(60_000);
    expect(seen).toEqual([]);
    expect(running.run.hasSynced).toBe(false);
    expect(running.run.queueLength).toBe(2);
    late.hasSynced = true;
    await running.world.advance(100);
    expect(running.run.hasSynced).toBe(true);
    expect(seen).toEqual(["a", "b"]);
    expect(running.outcomes).toEqual(["success", "success"]);
  });

  test.each([
    [undefined, 1],
    [1, 1],
    [3, 3],
  ])(
    "with %s workers reconciles %i keys at a time, and never one key twice at the same time",
    async (workers, atATime) => {
      const source = new ManualSource(..."abcdef");
      const inWork = new Set<string>();
      const seen: string[] = [];
      let most = 0;
      const clockOf = (): World["clock"] => running.world.clock;
      const reconcile = async (key: string): Promise<void> => {
        expect(inWork.has(key)).toBe(false);
        inWork.add(key);
        most = Math.max(most, inWork.size);
        await sleep(clockOf(), 100);
        inWork.delete(key);
        seen.push(key);
      };
      await using running: Running = new Running({
        reconcile,
        sources: [source],
        ...(workers === undefined ? {} : { workers }),
      });
      await running.world.advance(50);
      source.enqueue!("a");
      await running.world.advance(2_000);
      expect(most).toBe(atATime);
      expect(seen.join("")).toHaveLength(7);
      expect(running.outcomes).toEqual(Array.from({ length: 7 }, () => "success"));
    },
  );

  test("retries a failed key with increasing delays and logs it", async () => {
    const at: number[] = [];
    const reconcile = async (): Promise<void> => {
      at.push(running.world.clock.monotonic());
      if (at.length < 8) throw new Error("broken");
    };
    await using running: Running = new Running({ reconcile });
    await running.world.advance(100);
    expect(running.run.failuresInRow).toBe(at.length);
    expect(running.run.lastError).toBe("broken");
    await running.world.advance(10_000);
    expect(at).toHaveLength(8);
    expect(running.outcomes.at(-1)).toBe("success");
    expect(running.run.failuresInRow).toBe(0);
    expect(running.warnings).toHaveLength(7);
    expect(running.warnings[6]).toEqual({ controller: "test", key: "a", error: "broken", failures: 7 });
  });

  test("starts with short delays again after the key was reconciled successfully", async () => {
    const source = new ManualSource("a");
    let isBroken = true;
    let count = 0;
    const reconcile = async (): Promise<void> => {
      count++;
      if (isBroken) throw new Error("broken");
    };
    await using running = new Running({ reconcile, sources: [source] });
    await running.world.advance(30_000);
    isBroken = false;
    await running.world.advance(60_000);
    isBroken = true;
    count = 0;
    source.enqueue!("a");
    await running.world.advance(5);
    expect(count).toBe(2);
  });

  test("reconciles a key again after the delay that the result requests", async () => {
    const at: number[] = [];
    const results: ReconcileResult[] = [{ requeueAfterMs: 5_000 }, { requeueAfterMs: 0 }, {}];
    const reconcile = async (): Promise<ReconcileResult | undefined> => {
      at.push(running.world.clock.monotonic());
      return results.shift();
    };
    await using running: Running = new Running({ reconcile });
    await running.world.advance(60_000);
    expect(at).toEqual([0, 5_000, 5_000]);
    expect(running.outcomes).toEqual(["requeue", "requeue", "success"]);
  });

  test("reconciles nothing once leadership is lost, even if the signal has not aborted yet", async () => {
    const source = new ManualSource("a");
    const seen: string[] = [];
    let mayWork = true;
    const reconcile = async (key: string): Promise<void> => void seen.push(key);
    await using running = new Running({ reconcile, sources: [source], mayWork: () => mayWork });
    await running.world.advance(0);
    mayWork = false;
    source.enqueue!("b");
    await running.world.advance(1_000);
    expect(seen).toEqual(["a"]);
    expect(running.ended).toBeUndefined();
  });
});

describe("the end of a controller", () => {
  test("waits for the running reconcile, and ignores an error of that reconcile", async () => {
    let wasTold = false;
    const reconcile: Reconcile = async (_key, signal) => {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      wasTold = true;
      await sleep(running.world.clock, 5_000);
      throw new Error("aborted");
    };
    await using running: Running = new Running({ reconcile, sources: [new ManualSource("a", "b")] });
    await running.world.advance(1_000);
    expect(running.run.stoppingSinceMs).toBeUndefined();
    running.stop();
    await running.world.advance(4_999);
    expect(wasTold).toBe(true);
    expect(running.ended).toBeUndefined();
    expect(running.run.stoppingSinceMs).toBe(1_000);
    await running.world.advance(1);
    expect(running.ended).toBeNull();
    expect(running.outcomes).toEqual([]);
    expect(running.warnings).toEqual([]);
  });

  test("is possible before its sources have synced", async () => {
    const source = new ManualSource();
    source.hasSynced = false;
    await using running = new Running({ reconcile: async () => {}, sources: [source] });
    await running.world.advance(1_000);
    running.stop();
    await running.world.advance(0);
    expect(running.ended).toBeNull();
  });

  test.each([
    ["ends", (source: ManualSource): void => source.end(), "a key source has ended"],
    ["fails", (source: ManualSource): void => source.fail("broken"), "broken"],
  ])("is an error if one of its sources %s, and the other sources are ended", async (_what, spoil, message) => {
    const [one, two] = [new ManualSource("a"), new ManualSource("b")];
    await using running = new Running({ reconcile: async () => {}, sources: [one, two] });
    await running.world.advance(0);
    spoil(one);
    await running.world.advance(0);
    expect(running.ended).toMatchObject({ message });
    expect(two.enqueue).toBeUndefined();
  });
});
