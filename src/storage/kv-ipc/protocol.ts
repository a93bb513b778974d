/** What the two ends of a store that is reached through a channel of messages say to each other. */
import type { Change, KvEvent, LeaseId, RangeRequest, StorageErrorCode, WatchRequest } from "../kv.ts";

/** An ordered channel that copies values, bytes included: Node's IPC with "advanced" serialization, a MessagePort. */
export interface KvChannel {
  send(message: unknown): void;
  /** Called once, before anything can arrive. `closed` comes at most once, and last. */
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
  /** So much of what was sent for a watch has been delivered. */
  | { readonly kind: "taken"; readonly id: number; readonly batches: number; readonly bytes: number };

export type ServerMessage =
  | { readonly kind: "result"; readonly id: number; readonly result: unknown }
  | { readonly kind: "error"; readonly id: number; readonly error: ChannelError }
  | { readonly kind: "events"; readonly id: number; readonly batch: readonly KvEvent[] }
  | { readonly kind: "progress"; readonly id: number; readonly revision: number }
  | { readonly kind: "interrupted"; readonly id: number; readonly isInterrupted: boolean }
  | { readonly kind: "closed"; readonly id: number; readonly error: ChannelError };

export interface ChannelError {
  readonly code: StorageErrorCode;
  readonly message: string;
  readonly revision: number | undefined;
}

/** What a batch counts for in the account of what was sent and not yet delivered. */
export function batchBytes(batch: readonly KvEvent[]): number {
  let bytes = 0;
  for (const event of batch) bytes += event.key.length + (event.kind === "put" ? event.value.length : 0);
  return bytes;
}
