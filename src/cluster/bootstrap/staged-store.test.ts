import { expect, test } from "vitest";
import type { ObjectStore } from "../../storage/object-store.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { createStagedStore } from "./staged-store.ts";

/** An empty store. */
function emptyStore(): ObjectStore {
  const cache = { get: () => undefined, toEntry: (item: object) => item as Entry };
  return { cache } as unknown as ObjectStore;
}

test("a staged object that is changed is stored with its newest value, the guards of its creation and those of the change", async () => {
  const { store, writes } = createStagedStore(emptyStore());
  const place = { key: "/namespace", revision: 3 };
  const created = await store.create("/x", Buffer.from("{}"), undefined, [{ key: "/version", revision: 5 }, place]);
  if (!created.committed) throw new Error("the creation was lost");
  const value = Buffer.from('{"a":1}');
  await store.replace(created.entry, value, undefined, [{ key: "/version", revision: 8 }]);
  expect(writes()).toEqual([{ key: "/x", value, guards: [place, { key: "/version", revision: 8 }] }]);
  await store.replace(created.entry, value);
  expect(writes()[0]?.guards).toEqual([place, { key: "/version", revision: 8 }]);
});
