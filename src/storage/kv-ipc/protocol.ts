/** The messages between the process that owns a store and a client process, over a channel. */
import type { Change, KvEvent, LeaseId, RangeRequest, StorageErrorCode, WatchRequest } from "../kv.ts";

/**
 * An ordered channel that copies values including bytes: Node's IPC with "advanced" serialization, or a MessagePort.
 */
export interface KvChannel {
  send(message: unknown): void;
  /** Called once, before any message can arrive. `closed` is called at most once, and after the last message. */
  receive(handlers: { readonly message: (message: unknown) => void; readonly closed: () => void }): void;
}

export type StoreCall =
  | { readonly kind: "range"; readonly request: RangeRequest }
  | { readonly kind: "commit"; readonly change: Change }
  | { readonly kind: "current-revision" }
  | { readonly kind: "compact"; readonly revision: number }
  | { readonly kind: "lease-grant"; readonly ttlSeconds: number }
  | { readonly kind: "lease-keep-alive"; readonly lease: LeaseId }
  | { readonly kind: "lease-revoke"; readonly lease: LeaseId };

export type ClientMessage =
  | { readonly kind: "call"; readonly id: number; readonly call: StoreCall }
  | { readonly kind: "watch"; readonly id: number; readonly request: WatchRequest }
  | { readonly kind: "unwatch"; readonly id: number }
  /** Acknowledges batches that were delivered to a watch, with their total size in bytes. */
  | { readonly kind: "taken"; readonly id: number; readonly batches: number; readonly bytes: number };

export type ServerMessage =
  | { readonly kind: "result"; readonly id: number; readonly result: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: ChannelError }
  | { readonly kind: "events"; readonly id: number; readonly batch: readonly KvEvent[] }
  | { readonly kind: "progress"; readonly id: number; readonly revision: number }
  | { readonly kind: "interrupted"; readonly id: number; readonly isInterrupted: boolean }
  | { readonly kind: "closed"; readonly id: number; readonly error: ChannelError }
  | { readonly kind: "history-changed"; readonly evidence: string };

export interface ChannelError {
  readonly code: StorageErrorCode;
  readonly message: string;
  readonly revision: number | undefined;
}

/** The size that a batch adds to the unacknowledged bytes of its watch. */
export function batchBytes(batch: readonly KvEvent[]): number {
  let bytes = 0;
  for (const event of batch) bytes += event.key.length + (event.kind === "put" ? event.value.length : 0);
  return bytes;
}
