/**
 * Divides the reading of a large file into slices, so that the event loop handles signals and prints progress in
 * between. A promise per entry would cost more than the entry.
 */

/** How long the reader works before it lets the event loop run. */
const SLICE_MS = 10;

export interface SliceOptions {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: { readonly done: number; readonly total: number }) => void;
}

export class Slices {
  readonly #options: SliceOptions;
  #end = performance.now() + SLICE_MS;

  constructor(options: SliceOptions) {
    this.#options = options;
    options.signal.throwIfAborted();
  }

  get isOver(): boolean {
    return performance.now() >= this.#end;
  }

  /** Rejects with the reason of the signal. */
  async next(done: number, total: number): Promise<void> {
    this.#options.onProgress({ done, total });
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#options.signal.throwIfAborted();
    this.#end = performance.now() + SLICE_MS;
  }
}
