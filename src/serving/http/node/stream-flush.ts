/**
 * Sends the frames of streams before the responses to writes. Node passes a frame to its socket at once only if the
 * stream uses HTTP/1.1 and nothing else was written to it in this turn of the event loop; all other frames leave at the
 * end of the turn. Without this file, the response to a write would overtake the watch event of the write.
 */
export class StreamFlush {
  #flushing: PromiseWithResolvers<void> | undefined;

  /** Called for each frame that a stream writes. */
  written(): void {
    if (this.#flushing !== undefined) return;
    const flushing = Promise.withResolvers<void>();
    this.#flushing = flushing;
    // Node sends the frames of a turn before it calls the callbacks of `setImmediate`.
    setImmediate(() => {
      this.#flushing = undefined;
      flushing.resolve();
    });
  }

  /** Resolves when Node has passed the frames of this turn to the sockets. Undefined if there are none. */
  get flushed(): Promise<void> | undefined {
    return this.#flushing?.promise;
  }
}
