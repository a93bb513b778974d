import { expect, test } from "vitest";
import { SILENT_LOG, type LogFields } from "../../../base/log.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { UnwatchedLog, watchFailure, type UnwatchedResource } from "./unwatched-resources.ts";

const WIDGETS: UnwatchedResource = {
  group: "example.com",
  resource: "widgets",
  since: { monotonicMs: 0, wallMs: 0 },
  because: "HTTP 503: no",
  isVanished: false,
};

/** The log lines of one run; `examine` is called with the resources that are not watched at that time. */
function examined(...steps: (readonly [nowMs: number, unwatched: readonly UnwatchedResource[]])[]): string[] {
  const lines: string[] = [];
  const at =
    (level: string) =>
    (message: string, fields: LogFields = {}) =>
      void lines.push(`${level} ${message} ${String(fields["forSeconds"] ?? "")}`.trim());
  const log = new UnwatchedLog({ ...SILENT_LOG, info: at("info"), warn: at("warn") });
  for (const [nowMs, unwatched] of steps) log.examine(unwatched, () => true, nowMs);
  return lines;
}

function since(monotonicMs: number): UnwatchedResource[] {
  return [{ ...WIDGETS, since: { monotonicMs, wallMs: 0 } }];
}

test("a resource is not logged before it has been unwatched for 5 s", () => {
  expect(examined([4_900, since(0)])).toEqual([]);
  expect(examined([5_000, since(0)])).toEqual(["warn garbage collector cannot watch a resource 5"]);
});

test("a resource that is watched again is logged once, and only if it was logged before", () => {
  expect(examined([1_000, since(0)], [2_000, []])).toEqual([]);
  expect(examined([5_000, since(0)], [6_000, []], [7_000, []]).slice(1)).toEqual([
    "info garbage collector watches a resource again",
  ]);
});

test("a resource that flaps is not logged again before its interval has passed", () => {
  const flapping = Array.from({ length: 30 }, (_, index) =>
    index % 2 === 0 ? ([index * 10_000 + 5_000, since(index * 10_000)] as const) : ([index * 10_000, []] as const),
  );
  const lines = examined(...flapping);
  expect(lines.filter((line) => line.startsWith("warn")).length).toBeLessThanOrEqual(4);
});

test("a resource that fails again after its interval has passed counts as new", () => {
  const lines = examined([5_000, since(0)], [120_000, []], [205_000, since(200_000)], [266_000, since(200_000)]);
  expect(lines.filter((line) => line.startsWith("warn"))).toHaveLength(3);
});

test("a resource that no server serves is logged without a warning, because its CRD may have been deleted", () => {
  expect(examined([5_000, [{ ...WIDGETS, isVanished: true }]])).toEqual([
    "info garbage collector cannot watch a resource that no server serves 5",
  ]);
});

test("the reason of a failed watch has the status code, and the server if the proxy names it", () => {
  const details = { causes: [{ field: "peer", message: "apiserver-2" }] };
  expect(watchFailure(new StatusError("ServiceUnavailable", "no response", { details }))).toBe(
    "HTTP 503: no response (peer apiserver-2)",
  );
  expect(watchFailure(new Error("broken"))).toBe("broken");
});
