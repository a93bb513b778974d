/** Indexes the current content of the store by UID, namespace and owner, whether or not a server serves the objects. */
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../src/meta/json.ts";
import type { Commit, StoreHistory } from "../../src/tools/simulator/history.ts";

export const NAMESPACES = "namespaces/";
const FOREGROUND = "foregroundDeletion";
const ORPHAN = "orphan";

/** How an object is deleted: not at all, in the background, in the foreground, or with orphaned dependents. */
export type Leaving = "no" | "plain" | "foreground" | "orphan";

export interface Owner {
  readonly uid: string;
  readonly apiVersion: string;
  readonly kind: string;
}

export class ObjectRecord {
  readonly #history: StoreHistory;
  readonly #keys = new Map<string, string>();
  readonly #inNamespace = new Map<string, Set<string>>();
  readonly #dependents = new Map<string, Set<string>>();

  /** The record must be created before any other listener of the history that reads it during a commit. */
  constructor(history: StoreHistory) {
    this.#history = history;
    history.onCommit((commit) => this.#observe(commit));
    history.onRestore(() => this.#rebuild());
  }

  get history(): StoreHistory {
    return this.#history;
  }

  at(key: string): JsonObject | undefined {
    return this.#history.get(key);
  }

  withUid(uid: string): JsonObject | undefined {
    const key = this.#keys.get(uid);
    return key === undefined ? undefined : this.#history.get(key);
  }

  /** The keys of all objects in a namespace. */
  keysIn(namespace: string): string[] {
    return [...(this.#inNamespace.get(namespace) ?? [])];
  }

  /** The keys of all objects that reference this owner. */
  keysOwnedBy(uid: string): string[] {
    return [...(this.#dependents.get(uid) ?? [])];
  }

  /** All objects with owner references, by key. */
  get owned(): [key: string, object: JsonObject][] {
    const keys = new Set([...this.#dependents.values()].flatMap((dependents) => [...dependents]));
    return [...keys].map((key) => [key, this.#history.get(key)!]);
  }

  /** All objects that are being deleted, by key. */
  get leaving(): [key: string, object: JsonObject][] {
    return this.#history.under("").filter(([, object]) => leavingOf(object) !== "no");
  }

  namespace(name: string): JsonObject | undefined {
    return this.#history.get(`${NAMESPACES}${name}`);
  }

  /** Whether the namespace of the object is being deleted. */
  goesWithNamespace(object: JsonObject | undefined): boolean {
    return leavingOf(this.namespace(namespaceOf(object))) !== "no";
  }

  #observe({ key, before, after }: Commit): void {
    remove(this.#inNamespace, namespaceOf(before), key);
    for (const { uid } of ownersOf(before)) remove(this.#dependents, uid, key);
    this.#keys.delete(uidOf(before));
    if (after !== undefined) this.#add(key, after);
  }

  #add(key: string, object: JsonObject): void {
    add(this.#inNamespace, namespaceOf(object), key);
    for (const { uid } of ownersOf(object)) add(this.#dependents, uid, key);
    this.#keys.set(uidOf(object), key);
  }

  #rebuild(): void {
    for (const index of [this.#keys, this.#inNamespace, this.#dependents]) index.clear();
    for (const [key, object] of this.#history.under("")) this.#add(key, object);
  }
}

export function uidOf(object: JsonObject | undefined): string {
  return stringAt(objectAt(object ?? {}, "metadata"), "uid");
}

/** The namespace of an object; "" for cluster-scoped objects. */
export function namespaceOf(object: JsonObject | undefined): string {
  return stringAt(objectAt(object ?? {}, "metadata"), "namespace");
}

export function ownersOf(object: JsonObject | undefined): Owner[] {
  const references = objectAt(object ?? {}, "metadata")["ownerReferences"];
  if (!Array.isArray(references)) return [];
  return references.filter(isJsonObject).map((reference) => ({
    uid: stringAt(reference, "uid"),
    apiVersion: stringAt(reference, "apiVersion"),
    kind: stringAt(reference, "kind"),
  }));
}

export function leavingOf(object: JsonObject | undefined): Leaving {
  const metadata = objectAt(object ?? {}, "metadata");
  if (stringAt(metadata, "deletionTimestamp") === "") return "no";
  const finalizers = stringsAt(metadata, "finalizers");
  if (finalizers.includes(ORPHAN)) return "orphan";
  return finalizers.includes(FOREGROUND) ? "foreground" : "plain";
}

function add(index: Map<string, Set<string>>, name: string, key: string): void {
  if (name === "") return;
  const keys = index.get(name);
  if (keys === undefined) index.set(name, new Set([key]));
  else keys.add(key);
}

function remove(index: Map<string, Set<string>>, name: string, key: string): void {
  const keys = index.get(name);
  if (keys?.delete(key) === true && keys.size === 0) index.delete(name);
}
