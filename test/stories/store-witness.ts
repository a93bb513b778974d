/** Checks every commit to the store of a simulated cluster against the guarantees of its controllers. */
import { collectedIsGarbage } from "../simulator/checkers/collected-is-garbage.ts";
import { namespacesEmpty } from "../simulator/checkers/namespaces-empty.ts";
import type { StoreHistory } from "../../src/tools/simulator/history.ts";
import { NAMESPACES, ObjectRecord } from "../simulator/object-record.ts";

export class StoreWitness {
  /** The violations that the checkers found, as sentences. */
  readonly broken: string[] = [];
  /** The time when each deleted namespace was removed, keyed by name. */
  readonly goneAtMs = new Map<string, number>();
  readonly #record: ObjectRecord;

  constructor(history: StoreHistory) {
    this.#record = new ObjectRecord(history);
    const checkers = [collectedIsGarbage({ record: this.#record }), namespacesEmpty(this.#record)];
    history.onCommit((commit) => {
      const { key, after, atMs } = commit;
      for (const { onCommit } of checkers) this.broken.push(...(onCommit?.(commit) ?? []));
      if (key.startsWith(NAMESPACES) && after === undefined) this.goneAtMs.set(key.slice(NAMESPACES.length), atMs);
    });
  }

  /** The keys of all objects in a namespace, whichever server serves them. */
  keysIn(namespace: string): string[] {
    return this.#record.keysIn(namespace);
  }
}
