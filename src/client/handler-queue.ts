/**
 * A queue of notifications for one handler. It delivers them in order, and each only after the handler has returned
 * from the previous one.
 */
import { HANDLER_BACKLOG } from "./client-limits.ts";

export interface InformerHandler<T> {
  onAdd?(object: T, about: { readonly isInInitialList: boolean }): void | Promise<void>;
  /** At a resync, `object` and `before` are the same object. */
  onUpdate?(object: T, before: T): void | Promise<void>;
  /**
   * If `isFinalStateUnknown` is true, the informer missed the DELETED event, and `object` is the last state that it
   * saw.
   */
  onDelete?(object: T, about: { readonly isFinalStateUnknown: boolean }): void | Promise<void>;
}

export type Notification<T> =
  | { readonly kind: "add"; readonly object: T; readonly isInInitialList: boolean }
  | { readonly kind: "update"; readonly object: T; readonly before: T }
  | { readonly kind: "delete"; readonly object: T; readonly isFinalStateUnknown: boolean };

export class HandlerQueue<T> {
  readonly #handler: InformerHandler<T>;
  readonly #onError: (thrown: unknown) => void;
  #waiting: (Notification<T> | (() => void))[] = [];
  /** Number of entries in `#waiting` and in the batch being delivered. */
  #backlog = 0;
  #draining: Promise<void> | undefined;
  #onRoom: (() => void)[] = [];
  #isClosed = false;
  #isPaused = false;

  constructor(handler: InformerHandler<T>, onError: (thrown: unknown) => void) {
    this.#handler = handler;
    this.#onError = onError;
  }

  get isIdle(): boolean {
    return this.#draining === undefined;
  }

  push(notification: Notification<T>): void {
    this.#enqueue(notification);
  }

  /** Runs the callback after all notifications pushed so far have been delivered. */
  mark(callback: () => void): void {
    this.#enqueue(callback);
  }

  /**
   * Returns undefined if the backlog is short enough; otherwise a promise that resolves when it is, or when the queue
   * is closed or paused.
   */
  room(): Promise<void> | undefined {
    if (this.#isClosed || this.#isPaused || this.#backlog <= HANDLER_BACKLOG) return undefined;
    return new Promise((resolve) => {
      this.#onRoom.push(resolve);
    });
  }

  /** Keeps pending notifications until `resume`. Resolves when the handler has returned from its current call. */
  async pause(): Promise<void> {
    this.#isPaused = true;
    this.#makeRoom();
    await this.#draining;
  }

  resume(): void {
    this.#isPaused = false;
    if (this.#waiting.length > 0) this.#draining ??= this.#drain();
  }

  /** Drops pending notifications. Resolves when the handler has returned from its current call. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#waiting = [];
    this.#makeRoom();
    await this.#draining;
  }

  #enqueue(entry: Notification<T> | (() => void)): void {
    if (this.#isClosed) return;
    this.#waiting.push(entry);
    this.#backlog++;
    if (!this.#isPaused) this.#draining ??= this.#drain();
  }

  async #drain(): Promise<void> {
    // Lets the caller of `push` finish its current step, so that handlers see a cache that contains the change.
    await Promise.resolve();
    while (this.#waiting.length > 0 && !this.#isPaused) await this.#deliver();
    this.#draining = undefined;
  }

  async #deliver(): Promise<void> {
    const batch = this.#waiting;
    this.#waiting = [];
    for (const [index, entry] of batch.entries()) {
      if (this.#isClosed) return;
      if (this.#isPaused) {
        this.#waiting = [...batch.slice(index), ...this.#waiting];
        return;
      }
      if (typeof entry === "function") entry();
      else await this.#tell(entry);
      if (--this.#backlog <= HANDLER_BACKLOG) this.#makeRoom();
    }
  }

  async #tell(notification: Notification<T>): Promise<void> {
    const handler = this.#handler;
    try {
      switch (notification.kind) {
        case "add":
          return await handler.onAdd?.(notification.object, { isInInitialList: notification.isInInitialList });
        case "update":
          return await handler.onUpdate?.(notification.object, notification.before);
        case "delete":
          return await handler.onDelete?.(notification.object, {
            isFinalStateUnknown: notification.isFinalStateUnknown,
          });
      }
    } catch (thrown) {
      this.#onError(thrown);
    }
  }

  #makeRoom(): void {
    if (this.#onRoom.length === 0) return;
    const callbacks = this.#onRoom;
    this.#onRoom = [];
    for (const callback of callbacks) callback();
  }
}
