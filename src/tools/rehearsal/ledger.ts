/**
 * Keeps the objects that clients have created. An acknowledged object must exist until a client requests the deletion
 * of the object, its owner or its namespace. Responses are checked against this ledger.
 */
type LedgerEntryState =
  /** Its creation was requested, but no response shows whether it exists. */
  | "perhaps"
  | "there"
  /** A client has requested its deletion, or that of its owner or namespace. */
  | "leaving"
  | "gone";

export interface LedgerKey {
  readonly group: string;
  readonly resource: string;
  /** Namespace; "" for cluster-scoped objects. */
  readonly namespace: string;
  readonly name: string;
}

export interface LedgerEntry extends LedgerKey {
  /** Key in the store, relative to its root. */
  readonly storeKey: string;
  readonly owner: LedgerEntry | undefined;
  state: LedgerEntryState;
  /** True if its deletion, or that of its owner or namespace, was acknowledged. */
  mustGo: boolean;
  uid: string;
  /** Revision of its creation. */
  revision: number;
  acknowledgedAtMs: number;
  /** Names of the annotations that acknowledged updates have added; all of them must be stored. */
  readonly marks: string[];
}

export class Ledger {
  readonly #entries = new Map<string, LedgerEntry>();
  readonly #byStoreKey = new Map<string, LedgerEntry>();

  /** Adds an object whose creation is about to be requested. */
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
    // If its state is another one, the deletion of its owner or namespace has been requested in the meantime.
    if (entry.state === "perhaps") entry.state = "there";
  }

  find(place: LedgerKey): LedgerEntry | undefined {
    return this.#entries.get(keyOf(place));
  }

  atStoreKey(key: string): LedgerEntry | undefined {
    return this.#byStoreKey.get(key);
  }

  /** All entries, in the order of their creation. */
  all(): LedgerEntry[] {
    return [...this.#entries.values()];
  }

  /** The objects of a resource that must exist. */
  present(of: Pick<LedgerKey, "group" | "resource">): LedgerEntry[] {
    return this.all().filter(
      ({ group, resource, state }) => state === "there" && group === of.group && resource === of.resource,
    );
  }

  /**
   * Called before the deletion is requested: from now on the object, and everything that is deleted with it, may be
   * absent.
   */
  markDeleting(entry: LedgerEntry): void {
    for (const one of this.#goingWith(entry)) this.markDeletingAlone(one);
  }

  /** Called when the deletion was acknowledged: the object, and everything that is deleted with it, must disappear. */
  markMustGo(entry: LedgerEntry): void {
    for (const one of this.#goingWith(entry)) one.mustGo = true;
  }

  /** Like `markDeleting`, but the dependents of the object must stay. */
  markDeletingAlone(entry: LedgerEntry): void {
    if (entry.state !== "gone") entry.state = "leaving";
  }

  /** Removes the entry: the object does not exist, so its name can be used again. */
  forget(entry: LedgerEntry): void {
    entry.state = "gone";
    this.#entries.delete(keyOf(entry));
    this.#byStoreKey.delete(entry.storeKey);
  }

  /** The object itself, its dependents and the content of its namespace, transitively. */
  #goingWith(entry: LedgerEntry): Set<LedgerEntry> {
    const going = new Set([entry]);
    // The loop also visits the elements that it adds to the set.
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
