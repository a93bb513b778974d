/** Holds every commit to the store of a simulated cluster against what its controllers promise. */
import { collectedIsGarbage } from "../simulator/checkers/collected-is-garbage.ts";
import { namespacesEmpty } from "../simulator/checkers/namespaces-empty.ts";
import type { StoreHistory } from "../../src/tools/simulator/history.ts";
import { NAMESPACES, ObjectRecord } from "../simulator/object-record.ts";

export class StoreWitness {
  /** In sentences. */
  readonly broken: string[] = [];
  /** By name: when a namespace that somebody asked to delete was gone. */
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

  /** The keys of everything that lies in a namespace, whoever serves it. */
  keysIn(namespace: string): string[] {
    return this.#record.keysIn(namespace);
  }
}
