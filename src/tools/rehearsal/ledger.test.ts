import { describe, expect, test } from "vitest";
import { Ledger, type LedgerEntry } from "./ledger.ts";

function made(
  ledger: Ledger,
  resource: string,
  name: string,
  more: { namespace?: string; owner?: LedgerEntry } = {},
): LedgerEntry {
  const { namespace = "", owner } = more;
  const entry = ledger.begin({ group: "", resource, namespace, name }, { storagePrefix: resource, owner });
  ledger.acknowledge(entry, { uid: `uid-${name}`, revision: 5, atMs: 100 });
  return entry;
}

describe("the ledger", () => {
  test("expects an object to exist only after its creation is acknowledged", () => {
    const ledger = new Ledger();
    const place = { group: "", resource: "configmaps", namespace: "default", name: "a" };
    const entry = ledger.begin(place, { storagePrefix: "configmaps" });
    expect(entry).toMatchObject({ state: "perhaps", storeKey: "configmaps/default/a" });
    expect(ledger.present(place)).toEqual([]);
    ledger.acknowledge(entry, { uid: "u", revision: 7, atMs: 3 });
    expect(ledger.present(place)).toEqual([entry]);
    expect(ledger.atStoreKey("configmaps/default/a")).toBe(entry);
  });

  test("marks dependents as leaving with their owner, transitively", () => {
    const ledger = new Ledger();
    const owner = made(ledger, "configmaps", "owner");
    const owned = made(ledger, "configmaps", "owned", { owner });
    const last = made(ledger, "configmaps", "last", { owner: owned });
    const other = made(ledger, "configmaps", "other");
    ledger.markDeleting(owner);
    expect([owner, owned, last, other].map(({ state }) => state)).toEqual(["leaving", "leaving", "leaving", "there"]);
  });

  test("expects orphaned dependents to stay", () => {
    const ledger = new Ledger();
    const owner = made(ledger, "configmaps", "owner");
    const owned = made(ledger, "configmaps", "owned", { owner });
    ledger.markDeletingAlone(owner);
    expect([owner.state, owned.state]).toEqual(["leaving", "there"]);
  });

  test("marks objects as leaving with their namespace, even if their creation is acknowledged later", () => {
    const ledger = new Ledger();
    const namespace = made(ledger, "namespaces", "n");
    const inside = made(ledger, "configmaps", "a", { namespace: "n" });
    const asked = ledger.begin(
      { group: "", resource: "secrets", namespace: "n", name: "b" },
      { storagePrefix: "secrets" },
    );
    const outside = made(ledger, "configmaps", "a", { namespace: "m" });
    ledger.markDeleting(namespace);
    ledger.acknowledge(asked, { uid: "u", revision: 9, atMs: 9 });
    expect([inside, asked, outside].map(({ state }) => state)).toEqual(["leaving", "leaving", "there"]);
  });

  test("expects an object and everything deleted with it to disappear only after the deletion is acknowledged", () => {
    const ledger = new Ledger();
    const owner = made(ledger, "configmaps", "owner");
    const owned = made(ledger, "configmaps", "owned", { owner });
    ledger.markDeleting(owner);
    expect([owner.mustGo, owned.mustGo]).toEqual([false, false]);
    ledger.markMustGo(owner);
    expect([owner.mustGo, owned.mustGo]).toEqual([true, true]);
  });

  test("accepts a new object with the name of a deleted one", () => {
    const ledger = new Ledger();
    const first = made(ledger, "configmaps", "a");
    ledger.forget(first);
    expect(ledger.all()).toEqual([]);
    expect(made(ledger, "configmaps", "a").state).toBe("there");
  });
});
