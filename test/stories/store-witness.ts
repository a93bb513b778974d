/** Holds every commit to the store of a simulated cluster against what its controllers promise. */
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../src/meta/json.ts";
import type { Commit, StoreHistory } from "../../src/simulator/history.ts";

const NAMESPACES = "namespaces/";

export class StoreWitness {
  /** In sentences. */
  readonly broken: string[] = [];
  /** By name: when a namespace that somebody asked to delete was gone. */
  readonly goneAtMs = new Map<string, number>();
  readonly #history: StoreHistory;

  constructor(history: StoreHistory) {
    this.#history = history;
    history.onCommit((commit) => {
      if (commit.key.startsWith(NAMESPACES)) this.#checkNamespace(commit);
      else this.#checkDependent(commit);
    });
  }

  /** The keys of everything that lies in a namespace, whoever serves it. */
  keysIn(namespace: string): string[] {
    return this.#history
      .under("")
      .filter(([, object]) => stringAt(objectAt(object, "metadata"), "namespace") === namespace)
      .map(([key]) => key);
  }

  #checkNamespace({ key, before, after, atMs }: Commit): void {
    const name = key.slice(NAMESPACES.length);
    const isLetGo = after === undefined || (isHeld(before) && !isHeld(after));
    const left = isLetGo ? this.keysIn(name) : [];
    if (left.length > 0) this.broken.push(`namespace ${name} was let go while the store held ${left.join(", ")}`);
    if (after === undefined) this.goneAtMs.set(name, atMs);
  }

  /** No client of the stories deletes a dependent: whatever goes was collected, or its namespace goes. */
  #checkDependent({ key, before, after }: Commit): void {
    const owners = ownersOf(before);
    if (owners.length === 0 || this.#isNamespaceLeaving(before)) return;
    const isCollected = after === undefined || (isLeaving(after) && !isLeaving(before));
    if (isCollected) {
      const living = owners.filter((uid) => this.#isLiving(uid));
      if (living.length > 0) this.broken.push(`${key} was collected although its owner lives`);
      return;
    }
    const kept = new Set(ownersOf(after));
    const lost = owners.filter((uid) => !kept.has(uid) && this.#isLiving(uid));
    if (lost.length > 0) this.broken.push(`${key} was taken away from an owner that lives`);
  }

  #isNamespaceLeaving(object: JsonObject | undefined): boolean {
    const namespace = stringAt(objectAt(object ?? {}, "metadata"), "namespace");
    return isLeaving(this.#history.get(`${NAMESPACES}${namespace}`));
  }

  #isLiving(uid: string): boolean {
    const found = this.#history.under("").find(([, object]) => stringAt(objectAt(object, "metadata"), "uid") === uid);
    return found !== undefined && !isLeaving(found[1]);
  }
}

function isHeld(namespace: JsonObject | undefined): boolean {
  return stringsAt(objectAt(namespace ?? {}, "spec"), "finalizers").includes("kubernetes");
}

function isLeaving(object: JsonObject | undefined): boolean {
  return stringAt(objectAt(object ?? {}, "metadata"), "deletionTimestamp") !== "";
}

function ownersOf(object: JsonObject | undefined): string[] {
  const references = objectAt(object ?? {}, "metadata")["ownerReferences"];
  return Array.isArray(references) ? references.filter(isJsonObject).map((one) => stringAt(one, "uid")) : [];
}
