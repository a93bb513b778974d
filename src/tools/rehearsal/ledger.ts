/**
 * The objects that clients have created. An acknowledged object exists until a client asks to delete it, its owner or
 * its namespace; responses are checked against the ledger.
 */
type LedgerEntryState =
  /** Asked for, and not heard of since. */
  | "perhaps"
  | "there"
  /** Somebody has asked for its deletion, or for that of something it goes with. */
  | "leaving"
  | "gone";

export interface LedgerKey {
  readonly group: string;
  readonly resource: string;
  /** "" for what is in none. */
  readonly namespace: string;
  readonly name: string;
}

export interface LedgerEntry extends LedgerKey {
  /** Below the root of the store. */
  readonly storeKey: string;
  readonly owner: LedgerEntry | undefined;
  state: LedgerEntryState;
  /** Its deletion, or that of something it goes with, was acknowledged. */
  mustGo: boolean;
  uid: string;
  /** At which it was created. */
  revision: number;
  acknowledgedAtMs: number;
  /** Of acknowledged updates: annotations that must all be there. */
  readonly marks: string[];
}

export class Ledger {
  readonly #entries = new Map<string, LedgerEntry>();
  readonly #byStoreKey = new Map<string, LedgerEntry>();

  /** Somebody is about to ask for it. */
  begin(
    place: LedgerKey,
    how: { readonly storagePrefix: string; readonly owner?: LedgerEntry | undefined },
  ): LedgerEntry {
    const { namespace, name } = place;
    const storeKey = [how.storagePrefix, namespace, name].filter((part) => part !== "").join("/");
    const entry: LedgerEntry = {
      ...place,
      storeKey,
      owner: how.owner,
      state: "perhaps",
      mustGo: false,
      uid: "",
      revision: 0,
      acknowledgedAtMs: 0,
      marks: [],
    };
    this.#entries.set(keyOf(place), entry);
    this.#byStoreKey.set(storeKey, entry);
    return entry;
  }

  acknowledge(
    entry: LedgerEntry,
    created: { readonly uid: string; readonly revision: number; readonly atMs: number },
  ): void {
    entry.uid = created.uid;
    entry.revision = created.revision;
    entry.acknowledgedAtMs = created.atMs;
    // Its owner or namespace may have been asked to go meanwhile.
    if (entry.state === "perhaps") entry.state = "there";
  }

  find(place: LedgerKey): LedgerEntry | undefined {
    return this.#entries.get(keyOf(place));
  }

  atStoreKey(key: string): LedgerEntry | undefined {
    return this.#byStoreKey.get(key);
  }

  /** In the order in which they were made. */
  all(): LedgerEntry[] {
    return [...this.#entries.values()];
  }

  /** Those there of a resource. */
  present(of: Pick<LedgerKey, "group" | "resource">): LedgerEntry[] {
    return this.all().filter(
      ({ group, resource, state }) => state === "there" && group === of.group && resource === of.resource,
    );
  }

  /** From now on it may be absent, and so may everything that goes with it. */
  markDeleting(entry: LedgerEntry): void {
    for (const one of this.#goingWith(entry)) this.markDeletingAlone(one);
  }

  /** Its deletion was acknowledged: all of it must be gone after a while. */
  markMustGo(entry: LedgerEntry): void {
    for (const one of this.#goingWith(entry)) one.mustGo = true;
  }

  /** From now on it may be absent; what goes with it otherwise stays. */
  markDeletingAlone(entry: LedgerEntry): void {
    if (entry.state !== "gone") entry.state = "leaving";
  }

  /** Only what is left of it is forgotten: whoever knows that it is gone does not ask again. */
  forget(entry: LedgerEntry): void {
    entry.state = "gone";
    this.#entries.delete(keyOf(entry));
    this.#byStoreKey.delete(entry.storeKey);
  }

  /** Itself, what it owns, and what is in it, down to the last. */
  #goingWith(entry: LedgerEntry): Set<LedgerEntry> {
    const going = new Set([entry]);
    // A set is walked in the order in which it grows.
    for (const one of going) {
      const isNamespace = one.resource === "namespaces" && one.group === "";
      for (const other of this.#entries.values())
        if (other.owner === one || (isNamespace && other.namespace === one.name)) going.add(other);
    }
    return going;
  }
}

function keyOf({ group, resource, namespace, name }: LedgerKey): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
