import { expect, test } from "vitest";
import { SILENT_LOG } from "../base/log.ts";
import { StoreEpochs } from "../base/store-epoch.ts";
import { World } from "../tools/simulator/world.ts";
import { compactor } from "./compactor.ts";
import { overlaidKv } from "./overlaid-kv.ts";

const INTERVAL_MS = 60_000;

test("a compactor never compacts to a revision that it has noted in an earlier history of the store", async () => {
  const world = new World({ seed: 1 });
  const kv = world.openKv();
  const compacted: number[] = [];
  const recording = overlaidKv(kv, { compact: async (revision) => void compacted.push(revision) });
  const epochs = new StoreEpochs();
  const stopping = new AbortController();
  const options = { kv: recording, clock: world.clock, log: SILENT_LOG, epoch: epochs, intervalMs: INTERVAL_MS };
  const running = compactor(options).run(stopping.signal);
  const backup = world.backUpStore();
  await world.advance(INTERVAL_MS);
  await world.advance(INTERVAL_MS);
  expect(compacted).toEqual([1]);
  world.restoreStore(backup);
  epochs.advance("test");
  await world.advance(INTERVAL_MS);
  expect(compacted).toEqual([1]);
  await world.advance(INTERVAL_MS);
  expect(compacted).toEqual([1, 1]);
  stopping.abort();
  await world.run(running);
});
