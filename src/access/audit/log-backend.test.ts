import { describe, expect, test } from "vitest";
import type { Log } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { World } from "../../tools/simulator/world.ts";
import type { AuditBackend, AuditOutput, LostLine } from "./backend.ts";
import { createLogBackend, type LogBackendParts, type LogOptions } from "./log-backend.ts";
import { createAuditMetrics } from "./metrics.ts";
import { auditEvent } from "../../../test/testing/access/audit/events.ts";

const BATCH: LogOptions["batch"] = { bufferSize: 10_000, sizeMax: 1, waitMaxMs: 0, throttle: undefined };

/** An output that can fail, or wait with each write for release(). */
class HeldOutput implements AuditOutput {
  readonly writes: string[][] = [];
  isHeld = false;
  error: Error | undefined;
  isClosed = false;
  readonly #go: (() => void)[] = [];

  async write(lines: readonly Buffer[]): Promise<readonly LostLine[]> {
    if (this.isHeld) await new Promise<void>((resolve) => this.#go.push(resolve));
    const { error } = this;
    if (error !== undefined) return lines.map((_, index) => ({ index, error }));
    this.writes.push(lines.map((line) => line.toString()));
    return [];
  }

  release(): void {
    this.isHeld = false;
    for (const go of this.#go.splice(0)) go();
  }

  close(): Promise<void> {
    this.isClosed = true;
    return Promise.resolve();
  }

  get ids(): string[][] {
    return this.writes.map((lines) => lines.map((line) => (JSON.parse(line) as { auditID: string }).auditID));
  }
}

class Scene {
  readonly world = new World({ seed: 1 });
  readonly output = new HeldOutput();
  readonly metrics = new MetricsRegistry();
  readonly reported: string[] = [];
  readonly backend: AuditBackend;

  constructor(options: Partial<LogOptions & Pick<LogBackendParts, "waitingBytesMax">> = {}) {
    const say = (message: string): void => void this.reported.push(message);
    const log: Log = { debug: say, info: say, warn: say, error: say };
    const { output, world } = this;
    const given = { format: "json", mode: "batch", batch: BATCH, eventBytesMax: undefined, ...options } as const;
    this.backend = createLogBackend({
      ...{ ...given, output, clock: world.clock, log, metrics: createAuditMetrics(this.metrics) },
    });
  }

  /** The results of process() for the events; "wait" for a promise. */
  take(...ids: string[]): (boolean | "wait")[] {
    return ids.map((auditID) => {
      const response = this.backend.process(auditEvent({ auditID }));
      return typeof response === "boolean" ? response : "wait";
    });
  }

  /** The awaited results of process() for the events. */
  stored(...ids: string[]): Promise<boolean[]> {
    return Promise.all(ids.map(async (auditID) => this.backend.process(auditEvent({ auditID }))));
  }

  lost(plugin: string): number {
    return Number(new RegExp(`error_total\\{plugin="${plugin}"\\} (\\d+)`).exec(this.metrics.render())?.[1] ?? 0);
  }
}

describe("in batch mode", () => {
  test("requests do not wait, and events are written in order even if the disk is slow", async () => {
    const scene = new Scene();
    scene.output.isHeld = true;
    expect(scene.take("1", "2", "3")).toEqual([true, true, true]);
    scene.output.release();
    scene.take("4");
    await scene.backend.close();
    expect(scene.output.ids.flat()).toEqual(["1", "2", "3", "4"]);
    expect(scene.output.isClosed).toBe(true);
  });

  test("events beyond the buffer size are dropped and counted, and the log reports this once", async () => {
    const scene = new Scene({ batch: { ...BATCH, bufferSize: 2 } });
    scene.output.isHeld = true;
    expect(scene.take("1", "2", "3", "4", "5")).toEqual([true, true, true, true, true]);
    expect(scene.lost("buffered")).toBe(2);
    scene.output.release();
    await scene.backend.close();
    expect(scene.output.ids.flat()).toEqual(["1", "2", "3"]);
    expect(scene.reported).toEqual(["audit events are being dropped", "audit log recovered"]);
  });

  test("events after close are dropped and counted", async () => {
    const scene = new Scene();
    await scene.backend.close();
    expect(scene.take("late")).toEqual([true]);
    expect(scene.lost("buffered")).toBe(1);
  });

  test("a batch is written when it is full or an event has waited for the maximum time", async () => {
    const scene = new Scene({ batch: { ...BATCH, sizeMax: 2, waitMaxMs: 100 } });
    scene.take("1", "2", "3");
    await scene.world.advance(99);
    expect(scene.output.ids).toEqual([["1", "2"]]);
    await scene.world.advance(1);
    expect(scene.output.ids).toEqual([["1", "2"], ["3"]]);
    scene.take("4");
    await scene.backend.close();
    expect(scene.output.ids.at(-1)).toEqual(["4"]);
  });

  test("batches are throttled after the initial burst", async () => {
    const scene = new Scene({ batch: { ...BATCH, throttle: { perSecond: 10, burst: 2 } } });
    scene.take("1", "2", "3", "4");
    await scene.world.advance(99);
    expect(scene.output.ids).toEqual([["1"], ["2"]]);
    await scene.world.advance(1);
    expect(scene.output.ids).toHaveLength(3);
    await scene.backend.close();
    expect(scene.output.ids.flat()).toEqual(["1", "2", "3", "4"]);
  });
});

describe("in blocking mode", () => {
  test("requests wait until their events are written, and simultaneous events share a write", async () => {
    const scene = new Scene({ mode: "blocking" });
    scene.output.isHeld = true;
    const all = scene.stored("1", "2", "3");
    let isDone = false;
    void all.then(() => (isDone = true));
    await scene.world.advance(1000);
    expect(isDone).toBe(false);
    scene.output.release();
    expect(await all).toEqual([true, true, true]);
    expect(scene.output.ids).toEqual([["1"], ["2", "3"]]);
  });

  test.each([
    ["blocking", true],
    ["blocking-strict", false],
  ] as const)("write errors are counted, and in %s mode the request is served: %s", async (mode, goesOn) => {
    const scene = new Scene({ mode });
    scene.output.error = new Error("ENOSPC");
    expect(await scene.stored("1", "2")).toEqual([goesOn, goesOn]);
    expect(scene.lost("log")).toBe(2);
    scene.output.error = undefined;
    expect(await scene.stored("3")).toEqual([true]);
    expect(scene.reported).toEqual(["audit events are being dropped", "audit log recovered"]);
  });

  test("events are dropped when too many bytes wait for a hanging disk", async () => {
    const scene = new Scene({ mode: "blocking-strict", waitingBytesMax: 1000 });
    scene.output.isHeld = true;
    expect(scene.take("1", "2", "3")).toEqual(["wait", "wait", false]);
    expect(scene.lost("buffered")).toBe(1);
    scene.output.release();
    await scene.backend.close();
  });
});

test("an output that rejects loses only the lines of this write", async () => {
  const scene = new Scene({ mode: "blocking-strict" });
  scene.output.write = () => Promise.reject(new Error("bug"));
  expect(await scene.stored("1")).toEqual([false]);
});

test("objects are omitted while many bytes are waiting, so that no event is dropped", async () => {
  const scene = new Scene({ mode: "blocking-strict", waitingBytesMax: 20_000 });
  scene.output.isHeld = true;
  const responseObject = JSON.stringify({ x: "y".repeat(5_000) });
  const stored = ["1", "2", "3", "4"].map((auditID) =>
    scene.backend.process(auditEvent({ level: "RequestResponse", auditID, responseObject })),
  );
  expect(scene.take("5")).toEqual(["wait"]);
  scene.output.release();
  for (const isStored of stored) expect(await isStored).toBe(true);
  await scene.backend.close();
  expect(scene.output.ids.flat()).toEqual(["1", "2", "3", "4", "5"]);
  expect(scene.output.writes.flat().map((line) => line.includes("truncated"))).toEqual([
    false,
    false,
    true,
    true,
    false,
  ]);
});

describe("an event that exceeds the maximum size", () => {
  const requestObject = JSON.stringify({ x: "y".repeat(500) });

  test("is written without its objects, with an annotation", async () => {
    const scene = new Scene({ eventBytesMax: 600 });
    expect(scene.backend.process(auditEvent({ level: "Request", requestObject }))).toBe(true);
    await scene.backend.close();
    const event = JSON.parse(scene.output.writes[0]![0]!) as Record<string, unknown>;
    expect(event).not.toHaveProperty("requestObject");
    expect(event["annotations"]).toEqual({ "audit.k8s.io/truncated": "true" });
  });

  test("is dropped if it is still too large, and the request is served", async () => {
    const scene = new Scene({ eventBytesMax: 100, mode: "blocking-strict" });
    expect(scene.take("1")).toEqual([true]);
    expect(scene.lost("truncate")).toBe(1);
    await scene.backend.close();
    expect(scene.output.writes).toEqual([]);
  });

  test("is measured as JSON, even if it is written in the legacy format", async () => {
    const scene = new Scene({ eventBytesMax: 600, format: "legacy" });
    expect(scene.backend.process(auditEvent({ level: "Request", requestObject }))).toBe(true);
    await scene.backend.close();
    expect(scene.output.writes[0]![0]).toContain(" AUDIT: id=");
  });
});
