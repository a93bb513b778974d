import { expect, test } from "vitest";
import { MetricsRegistry } from "../../base/metrics.ts";
import type { Log } from "../../base/log.ts";
import { createEntry, type Entry } from "../../storage/watch-cache/entry.ts";
import { World } from "../../tools/simulator/world.ts";
import { followCorruptValues } from "./corrupt-values.ts";

function junk(key: string): [string, Entry] {
  return [key, createEntry({ key, value: Buffer.from("junk"), modRevision: 1, createRevision: 1 })];
}

test("the log names each new corrupt value once, at most every second, and reports when there is none any more", async () => {
  const world = new World({ seed: 1 });
  const lines: string[] = [];
  const record = (message: string, fields: object = {}): void => {
    lines.push([message, ...Object.values(fields)].join(": "));
  };
  const log: Log = { debug: record, info: record, warn: record, error: record };
  const corrupt = new Map<string, Entry>([junk("/registry/pods/a/1"), junk("/registry/masterleases/10.0.0.1")]);
  const stopping = new AbortController();
  const metrics = new MetricsRegistry();
  const env = { ...world.env, log };
  const task = followCorruptValues({ env, config: { storageRoot: "/registry/" }, cache: { corrupt }, metrics });
  const done = task.run(stopping.signal);
  await world.advance(5_000);
  for (let name = 2; name < 9; name++) corrupt.set(...junk(`/registry/pods/a/${name}`));
  corrupt.delete("/registry/pods/a/1");
  await world.advance(2_000);
  corrupt.clear();
  await world.advance(2_000);
  stopping.abort();
  await world.run(done);
  const second = [2, 3, 4, 5, 6].map((name) => `/registry/pods/a/${name}`).join(", ");
  expect(lines).toEqual([
    "stored values cannot be decoded: /registry/pods/a/1",
    `stored values cannot be decoded: ${second} and 2 more`,
    "all stored values can be decoded again",
  ]);
});

test("the metric has at most 101 series, whatever keys the store holds", () => {
  const corrupt = new Map(Array.from({ length: 300 }, (_, at) => junk(`/registry/g${at}.example.com/widgets/a`)));
  const metrics = new MetricsRegistry();
  const { env } = new World({ seed: 1 });
  followCorruptValues({ env, config: { storageRoot: "/registry/" }, cache: { corrupt }, metrics });
  const series = metrics.render().match(/^evenkeel_storage_corrupt_objects\{.*$/gm) ?? [];
  expect(series).toHaveLength(101);
  expect(series).toContain('evenkeel_storage_corrupt_objects{resource="(others)"} 200');
});
