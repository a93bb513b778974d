import { eitherSignal } from "./either-signal.ts";
import { describe, expect, test } from "vitest";
import { assert, must } from "./assert.ts";
import { sleep, type Clock } from "./clock.ts";
import { MetricsRegistry } from "./metrics.ts";
import { randomInteger, randomItem, randomUuid, type Random } from "./random.ts";
import { someOf } from "./some-of.ts";

describe("someOf", () => {
  test.each([
    [[], ""],
    [["a", "b"], "a, b"],
    [["a", "b", "c", "d"], "a, b and 2 more"],
  ])("names at most two of %j", (names, text) => {
    expect(someOf(names, 2)).toBe(text);
  });
});

describe("the metrics registry", () => {
  test("renders families by name, with help, type and labels", () => {
    const metrics = new MetricsRegistry();
    const counter = metrics.counter({ name: "b_total", help: "Bs.", labels: ["x", "y"] });
    counter.with("1", "2").inc();
    counter.with("1", "2").inc(2);
    counter.with('q"\\\n', "").inc();
    metrics.gauge({ name: "a", help: "A." }).with().set(1.5);
    metrics.gaugeOf({ name: "c", help: "C." }, () => Number.NEGATIVE_INFINITY);
    expect(metrics.render()).toBe(
      [
        "# HELP a A.",
        "# TYPE a gauge",
        "a 1.5",
        "# HELP b_total Bs.",
        "# TYPE b_total counter",
        'b_total{x="1",y="2"} 3',
        String.raw`b_total{x="q\"\\\n",y=""} 1`,
        "# HELP c C.",
        "# TYPE c gauge",
        "c -Inf",
        "",
      ].join("\n"),
    );
  });

  test("the buckets of a histogram are cumulative", () => {
    const metrics = new MetricsRegistry();
    const series = metrics.histogram({ name: "h", help: "H.", labels: ["x"], buckets: [0.1, 1] }).with("v");
    for (const value of [0.1, 0.1, 0.5, 2]) series.observe(value);
    expect(metrics.render().split("\n").slice(2)).toEqual([
      'h_bucket{x="v",le="0.1"} 2',
      'h_bucket{x="v",le="1"} 3',
      'h_bucket{x="v",le="+Inf"} 4',
      'h_sum{x="v"} 2.7',
      'h_count{x="v"} 4',
      "",
    ]);
  });

  test("a histogram without labels has only the le label", () => {
    const metrics = new MetricsRegistry();
    metrics
      .histogram({ name: "h", help: "H.", buckets: [1] })
      .with()
      .observe(0);
    expect(metrics.render()).toContain('h_bucket{le="1"} 1\nh_bucket{le="+Inf"} 1\nh_sum 0\nh_count 1\n');
  });

  test("gauges with the value NaN or Infinity render as valid text", () => {
    const metrics = new MetricsRegistry();
    const gauge = metrics.gauge({ name: "g", help: "G.", labels: ["x"] });
    gauge.with("a").set(Number.NaN);
    gauge.with("b").set(Number.POSITIVE_INFINITY);
    gauge.with("c").add(-2);
    expect(metrics.render()).toContain('g{x="a"} NaN\ng{x="b"} +Inf\ng{x="c"} -2\n');
  });

  test('above the limit, new series are counted together as "other" and existing series keep counting', () => {
    const metrics = new MetricsRegistry();
    const family = metrics.counter({ name: "n_total", help: "N.", labels: ["x"] });
    for (let index = 0; index < 6_000; index++) family.with(`v${index}`).inc();
    family.with("v0").inc();
    const lines = metrics
      .render()
      .split("\n")
      .filter((line) => line.startsWith("n_total{"));
    expect(lines).toHaveLength(5_001);
    expect(lines).toContain('n_total{x="v0"} 2');
    expect(lines).toContain('n_total{x="other"} 1000');
  });
});

describe("sleep", () => {
  function manual(): { clock: Clock; fire: () => void; cancelled: () => number } {
    let due: (() => void) | undefined;
    let count = 0;
    const after = (_delayMs: number, callback: () => void): (() => void) => {
      due = callback;
      return () => void count++;
    };
    return { clock: { now: () => 0, monotonic: () => 0, after }, fire: () => due?.(), cancelled: () => count };
  }

  test("resolves to true after the whole delay", async () => {
    const { clock, fire } = manual();
    const sleeping = sleep(clock, 10);
    fire();
    expect(await sleeping).toBe(true);
  });

  test("resolves early to false on abort, and cancels its timer", async () => {
    const { clock, cancelled } = manual();
    const aborting = new AbortController();
    const sleeping = sleep(clock, 10, aborting.signal);
    aborting.abort();
    expect(await sleeping).toBe(false);
    expect(cancelled()).toBe(1);
    expect(await sleep(clock, 10, aborting.signal)).toBe(false);
  });
});

describe("randomness", () => {
  const of = (float: number, byte: number): Random => ({
    float: () => float,
    bytes: (length) => new Uint8Array(length).fill(byte),
  });

  test("randomUuid sets version and variant", () => {
    expect(randomUuid(of(0, 0))).toBe("00000000-0000-4000-8000-000000000000");
    expect(randomUuid(of(0, 255))).toBe("ffffffff-ffff-4fff-bfff-ffffffffffff");
  });

  test("randomInteger stays below its bound", () => {
    expect([randomInteger(of(0, 0), 5), randomInteger(of(1 - Number.EPSILON, 0), 5)]).toEqual([0, 4]);
  });

  test("randomItem can return every item", () => {
    expect([randomItem(of(0, 0), ["a", "b"]), randomItem(of(1 - Number.EPSILON, 0), ["a", "b"])]).toEqual(["a", "b"]);
  });
});

test("assert names the broken invariant", () => {
  expect(() => assert(false, "two is three")).toThrow("assertion failed: two is three");
  expect(() => assert(true, "")).not.toThrow();
});

test("must returns any value except null and undefined, for which it names the invariant", () => {
  expect([must(0, ""), must("", ""), must(false, "")]).toEqual([0, "", false]);
  expect(() => must(undefined, "there is one")).toThrow("assertion failed: there is one");
  expect(() => must(null, "there is one")).toThrow("assertion failed: there is one");
});

describe("eitherSignal", () => {
  test.each(["left", "right"] as const)("aborts once, with the reason of the %s signal", (side) => {
    const controllers = { left: new AbortController(), right: new AbortController() };
    const either = eitherSignal(controllers.left.signal, controllers.right.signal);
    let aborts = 0;
    either.addEventListener("abort", () => aborts++);
    expect(either.aborted).toBe(false);
    controllers[side].abort("why");
    controllers[side === "left" ? "right" : "left"].abort("too late");
    expect([either.aborted, either.reason, aborts]).toEqual([true, "why", 1]);
  });

  test("is aborted from the start if one of the two signals is already aborted", () => {
    expect(eitherSignal(new AbortController().signal, AbortSignal.abort("before")).reason).toBe("before");
  });
});
