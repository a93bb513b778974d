import { expect, test } from "vitest";
import { HistoryMap } from "./history-map.ts";
import type { Restore } from "../../src/tools/simulator/history.ts";

class FakeHistory {
  revision = 1;
  readonly #listeners: ((restore: Restore) => void)[] = [];

  onRestore(listener: (restore: Restore) => void): void {
    this.#listeners.push(listener);
  }

  restore(revision: number): void {
    this.revision = revision;
    for (const listener of this.#listeners) listener({ revision, atMs: 0 });
  }
}

test("after a restore a map has the entries that it had at the revision of the backup", () => {
  const history = new FakeHistory();
  const map = new HistoryMap<string, number>(history);
  map.set("changed", 1);
  map.set("deleted", 1);
  history.revision = 2;
  map.set("kept", 2);
  history.revision = 3;
  map.set("changed", 3);
  map.set("changed", 4);
  map.delete("deleted");
  map.set("new", 3);
  history.restore(2);
  expect([...map.keys()].map((key) => [key, map.get(key)])).toEqual([
    ["changed", 1],
    ["kept", 2],
    ["deleted", 1],
  ]);
  expect(map.has("new")).toBe(false);
});

test("a second restore takes back the entries of the second history, not those of the first one", () => {
  const history = new FakeHistory();
  const map = new HistoryMap<string, number>(history);
  map.set("one", 1);
  history.revision = 5;
  map.set("one", 5);
  history.restore(1);
  history.revision = 3;
  map.set("one", 3);
  history.restore(2);
  expect(map.get("one")).toBe(1);
});
