/**
 * What clients know about the objects they have made. An acknowledged write is there until somebody asks to delete it,
 * its owner or its namespace; the ledger is what answers are held against.
 */
export type EntryState =
  /** Asked for, and not heard of since. */
  | "perhaps"
  | "there"
  /** Somebody has asked for its deletion, or for that of something it goes with. */
  | "leaving"
  | "gone";

export interface Place {
  readonly group: string;
  readonly resource: string;
  /** "" for what is in none. */
  readonly namespace: string;
  readonly name: string;
}

export interface Entry extends Place {
  /** Below the root of the store. */
  readonly storeKey: string;
  readonly owner: Entry | undefined;
  state: EntryState;
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
  readonly #entries = new Map<string, Entry>();
  readonly #byStoreKey = new Map<string, Entry>();

  /** Somebody is about to ask for it. */
  begin(place: Place, how: { readonly storagePrefix: string; readonly owner?: Entry | undefined }): Entry {
    const { namespace, name } = place;
    const storeKey = [how.storagePrefix, namespace, name].filter((part) => part !== "").join("/");
    const entry: Entry = {
      ...place,
      ...{
        storeKey,
        owner: how.owner,
        state: "perhaps",
        mustGo: false,
        uid: "",
        revision: 0,
        acknowledgedAtMs: 0,
        marks: [],
      },
    };
    this.#entries.set(keyOf(place), entry);
    this.#byStoreKey.set(storeKey, entry);
    return entry;
  }

  acknowledge(entry: Entry, told: { readonly uid: string; readonly revision: number; readonly atMs: number }): void {
    entry.uid = told.uid;
    entry.revision = told.revision;
    entry.acknowledgedAtMs = told.atMs;
    // Its owner or namespace may have been asked to go meanwhile.
    if (entry.state === "perhaps") entry.state = "there";
  }

  find(place: Place): Entry | undefined {
    return this.#entries.get(keyOf(place));
  }

  atStoreKey(key: string): Entry | undefined {
    return this.#byStoreKey.get(key);
  }

  /** In the order in which they were made. */
  all(): Entry[] {
    return [...this.#entries.values()];
  }

  /** Those there of a resource. */
  there(of: Pick<Place, "group" | "resource">): Entry[] {
    return this.all().filter(
      ({ group, resource, state }) => state === "there" && group === of.group && resource === of.resource,
    );
  }

  /** From now on it may be absent, and so may everything that goes with it. */
  leave(entry: Entry): void {
    for (const one of this.#goingWith(entry)) this.leaveAlone(one);
  }

  /** Its deletion was acknowledged: all of it must be gone after a while. */
  mustLeave(entry: Entry): void {
    for (const one of this.#goingWith(entry)) one.mustGo = true;
  }

  /** From now on it may be absent; what goes with it otherwise stays. */
  leaveAlone(entry: Entry): void {
    if (entry.state !== "gone") entry.state = "leaving";
  }

  /** Only what is left of it is forgotten: whoever knows that it is gone does not ask again. */
  forget(entry: Entry): void {
    entry.state = "gone";
    this.#entries.delete(keyOf(entry));
    this.#byStoreKey.delete(entry.storeKey);
  }

  /** Itself, what it owns, and what is in it, down to the last. */
  #goingWith(entry: Entry): Set<Entry> {
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

function keyOf({ group, resource, namespace, name }: Place): string {
  return `${group}/${resource}/${namespace}/${name}`;
}
