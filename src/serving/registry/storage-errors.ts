/**
 * Translates storage errors into API errors. Only list.ts creates such errors itself, for lists at an exact revision or
 * with a continue token, which need other messages.
 */
import {
  serviceUnavailable,
  StatusError,
  tooManyRequests,
  requestEntityTooLarge,
  expired,
  type StatusCause,
} from "../../meta/status-error.ts";
import { formatGroupResource, type GroupResource } from "../../meta/group-version.ts";
import { StorageError } from "../../storage/kv.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";

const RETRY_AFTER_SECONDS = 1;

export function toStatusError(thrown: unknown): unknown {
  if (!(thrown instanceof StorageError)) return thrown;
  switch (thrown.code) {
    case "revision-compacted":
      return expired(
        "The provided resource version is too old: its history has been compacted. List again without a resource version.",
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
      return tooManyRequests("the storage has too many queued requests, please try again later", RETRY_AFTER_SECONDS);
    case "too-large":
      return requestEntityTooLarge("the object is larger than the storage accepts");
    case "no-encryption-key":
      return serviceUnavailable(thrown.message, RETRY_AFTER_SECONDS, thrown);
    case "corrupt":
      return new StatusError("InternalError", "Internal error occurred: the stored value cannot be read", {
        cause: thrown,
      });
    case "undecided":
      // The error has no Retry-After, because clients would automatically repeat a request that may have succeeded.
      return new StatusError(
        "Timeout",
        "Timeout: the storage neither confirmed nor rejected the write; it is unknown whether the request was executed",
        {
          cause: thrown,
        },
      );
    case "history-changed":
    case "lease-not-found":
    case "unavailable":
      return serviceUnavailable(
        "the storage is not available right now, please try again later",
        RETRY_AFTER_SECONDS,
        thrown,
      );
  }
}

/** Throws if the stored value of this object cannot be decoded. Other objects are not affected. */
export function rejectCorrupt(entry: Entry): void {
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

/** An entry and the reason why it cannot be read. */
export interface Unreadable {
  readonly entry: Entry;
  readonly why: string;
}

/** Number of unreadable objects that the error of a list names, as kubernetes. */
export const UNREADABLE_NAMED_MAX = 100;

/**
 * The error of a list that contains unreadable objects. `found` has one object more than the error may name if there
 * are more.
 */
export function storageReadError(
  resource: GroupResource,
  found: readonly Unreadable[],
  isCauseNamed: boolean,
): StatusError {
  const { group, resource: kind } = resource;
  const named = found.slice(0, UNREADABLE_NAMED_MAX);
  const causes: StatusCause[] = named.map(({ entry, why }) => ({
    reason: "UnexpectedServerResponse",
    message: `StorageError: corrupt object, Code: 7, Key: ${entry.key}, ResourceVersion: 0, AdditionalErrorMsg: ${undecodable(entry, why)}`,
    field: entry.key,
  }));
  const more = named.length > 1 ? ` (and ${named.length - 1} more)` : "";
  const cause = isCauseNamed ? `: ${causes[0]?.message}${more}` : "";
  if (found.length > named.length)
    causes.push({ reason: "FieldValueTooMany", message: "too many errors, the list is truncated" });
  return new StatusError(
    "StorageReadError",
    `failed to read one or more ${formatGroupResource(resource)} from the storage${cause}`,
    { details: { name: "list", ...(group === "" ? {} : { group }), kind, causes } },
  );
}

/** The error of a watch that would have to send the last state of a deleted object, which cannot be read. */
export function unreadableDeletion({ entry, why }: Unreadable): StatusError {
  return new StatusError(
    "StorageReadError",
    `saw a DELETED event, but object data is corrupt - ${undecodable(entry, why)}`,
  );
}

function undecodable({ modRevision }: Entry, why: string): string {
  return `object not decodable revision=${modRevision}: ${why}`;
}

/** Runs `work` and translates storage errors. */
export async function translated<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    throw toStatusError(thrown);
  }
}
