/** The one place where the store's language becomes the API's. */
import {
  serviceUnavailable,
  StatusError,
  tooManyRequests,
  requestEntityTooLarge,
  expired,
} from "../../meta/status-error.ts";
import { StorageError } from "../../storage/kv.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";

const RETRY_AFTER_SECONDS = 1;

export function toStatusError(thrown: unknown): unknown {
  if (!(thrown instanceof StorageError)) return thrown;
  switch (thrown.code) {
    case "revision-compacted":
      return expired(
        "The provided resource version is too old, and the history it needs is gone: list again without it.",
      );
    case "revision-future":
      return new StatusError("Timeout", thrown.message, {
        details: {
          causes: [{ reason: "ResourceVersionTooLarge", message: "Too large resource version" }],
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        },
        cause: thrown,
      });
    case "overloaded":
      return tooManyRequests("the storage has too much work queued, please try again later", RETRY_AFTER_SECONDS);
    case "too-large":
      return requestEntityTooLarge("the object is larger than the storage accepts");
    case "corrupt":
      return new StatusError("InternalError", "Internal error occurred: the stored value cannot be read", {
        cause: thrown,
      });
    case "undecided":
      // Without a time to come again: clients would repeat by themselves what may have happened.
      return new StatusError(
        "Timeout",
        "Timeout: the storage did not answer: whether the request was done is not known",
        {
          cause: thrown,
        },
      );
    case "lease-not-found":
    case "unavailable":
      return serviceUnavailable(
        "the storage is not available right now, please try again later",
        RETRY_AFTER_SECONDS,
        thrown,
      );
  }
}

/** Throws for an object whose stored value cannot be read: an error for it alone. */
export function refuseCorrupt(entry: Entry): void {
  if (entry.corrupt !== undefined) throw unreadable(entry, entry.corrupt);
}

export function unreadable(entry: Entry, why: string, cause?: unknown): StatusError {
  return new StatusError(
    "InternalError",
    `Internal error occurred: the object stored at "${entry.key}" cannot be read: ${why}`,
    {
      details: { causes: [{ reason: "UnexpectedServerResponse", message: why, field: entry.key }] },
      cause,
    },
  );
}

/** Runs a verb, translating what the store throws. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw toStatusError(thrown);
  }
}
