/** A sink for watches of etcd that records events and lets a test wait for them. */
import type { KvEvent, StorageError, WatchSink } from "../../../../src/storage/kv.ts";

export class RecordingSink implements WatchSink {
  readonly seen: KvEvent[] = [];
  readonly signals: string[] = [];
  readonly #waiting = new Set<() => void>();

  events(batch: readonly KvEvent[]): void {
    this.seen.push(...batch);
    this.#wake();
  }

  progress(revision: number): void {
    this.signals.push(`progress ${revision}`);
    this.#wake();
  }

  interrupted(isInterrupted: boolean): void {
    this.signals.push(isInterrupted ? "interrupted" : "following");
    this.#wake();
  }

  closed(error: StorageError): void {
    this.signals.push(`closed ${error.code}`);
    this.#wake();
  }

  async until(condition: (sink: this) => boolean): Promise<void> {
    while (!condition(this)) {
      await new Promise<void>((resolve) => {
        this.#waiting.add(resolve);
      });
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting) resolve();
    this.#waiting.clear();
  }
}
