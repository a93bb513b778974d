import { expect, test } from "vitest";
import { MetricsRegistry } from "../base/metrics.ts";
import type { Log } from "../base/log.ts";
import { StoreEpochs } from "../base/store-epoch.ts";
import { World } from "../tools/simulator/world.ts";
import { HistoryRecovery } from "./history-recovery.ts";

interface Fixture extends Disposable {
  readonly world: World;
  readonly epochs: StoreEpochs;
  readonly recovery: HistoryRecovery;
  readonly metrics: MetricsRegistry;
  readonly logged: string[];
}

function open(): Fixture {
  const world = new World({ seed: 1 });
  const epochs = new StoreEpochs();
  const metrics = new MetricsRegistry();
  const logged: string[] = [];
  const add = (message: string): void => void logged.push(message);
  const log: Log = { debug: add, info: add, warn: add, error: add };
  const recovery = new HistoryRecovery({ clock: world.clock, log, metrics, epochs });
  const stopping = new AbortController();
  void recovery.task.run(stopping.signal);
  return { world, epochs, recovery, metrics, logged, [Symbol.dispose]: () => stopping.abort() };
}

test("a recovery lasts until every step is complete and every copy is reloaded, and names what it waits for", async () => {
  using fixture = open();
  const { world, epochs, recovery, metrics, logged } = fixture;
  let missing: string | undefined = "watch cache is loading";
  recovery.addStep(() => missing);
  const copy = { epoch: 0 };
  epochs.register(copy);
  expect([recovery.status(), recovery.check()]).toEqual([undefined, undefined]);
  epochs.advance("etcd is at revision 5, and was at 9 before");
  expect(recovery.check()).toMatch(
    /was restored or replaced: etcd is at revision 5.*recovering: watch cache is loading/,
  );
  expect(metrics.render()).toContain("evenkeel_store_history_recovering 1\n");
  missing = undefined;
  expect(recovery.status()).toMatchObject({ changes: 1, waitsFor: "1 informers have not listed their objects again" });
  await world.advance(2_000);
  copy.epoch = 1;
  await world.advance(10);
  expect(recovery.check()).toBeUndefined();
  expect(recovery.status()?.recoveredAfterSeconds).toBeCloseTo(2, 1);
  expect(recovery.status()?.waitsFor).toBeUndefined();
  expect(metrics.render()).toContain("evenkeel_store_history_changes 1\n");
  expect(metrics.render()).toContain("evenkeel_store_history_recovering 0\n");
  expect(logged).toEqual([
    "the history of the store has changed, reloading everything",
    "recovered from a change of the store's history",
  ]);
});

test("a recovery does not wait for ever for a copy that cannot be read, and a second change begins a new recovery", async () => {
  using fixture = open();
  const { world, epochs, recovery } = fixture;
  epochs.register({ epoch: 0 });
  epochs.advance("first");
  await world.advance(29_000);
  expect(recovery.status()?.waitsFor).toBeDefined();
  epochs.advance("second");
  await world.advance(29_000);
  expect(recovery.status()).toMatchObject({ changes: 2, evidence: "second", waitsFor: expect.any(String) });
  await world.advance(2_000);
  expect(recovery.check()).toBeUndefined();
});
