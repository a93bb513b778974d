/** What a single kind means beyond its shape: what is taken as said, what the server decides, and what is wrong. */
import type { JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import type { ReleaseGates } from "../release-gates.ts";

export interface KindContext {
  /** What the release does: what it does not know it neither fills in nor checks. */
  readonly gates: ReleaseGates;
  /** Now, as the server writes times. */
  readonly time: string;
}

/**
 * All objects are in the served version and have passed typed decoding. Absent members mean: nothing beyond what holds
 * for every kind. What prepares may set members of the object, its spec and its status; whatever lies deeper may be
 * shared with `existing` and is copied to be changed. Errors may be told lazily: only the first are asked for.
 */
export interface Kind {
  /** In place, right after decoding, also of what is stored: doing it twice changes nothing. */
  setDefaults?(object: JsonObject, context: KindContext): void;
  prepareCreate?(object: JsonObject, context: KindContext): void;
  prepareUpdate?(object: JsonObject, existing: JsonObject, context: KindContext): void;
  prepareStatusUpdate?(object: JsonObject, existing: JsonObject, context: KindContext): void;
  /** Metadata is checked for every kind alike, before these. */
  createErrors?(object: JsonObject, context: KindContext): Iterable<FieldError>;
  updateErrors?(object: JsonObject, existing: JsonObject, context: KindContext): Iterable<FieldError>;
  statusUpdateErrors?(object: JsonObject, existing: JsonObject, context: KindContext): Iterable<FieldError>;
  /** Told to the client beside a success; `existing` is absent for a creation. */
  warnings?(object: JsonObject, existing: JsonObject | undefined, context: KindContext): Iterable<string>;
  /** What the first request to delete one makes of it, in place of the usual; undefined: the usual. */
  beginDeletion?(existing: JsonObject, context: KindContext): JsonObject | undefined;
  /** Told to who deletes one without saying what becomes of its dependents. */
  readonly orphaningWarning?: string;
  /** As kubernetes ResetObjectMetaForStatus: whoever writes the status says nothing about the object itself. */
  readonly keepsMetadataInStatus?: boolean;
}

/** The key is "group/Kind", or "group/version/Kind" where a version has a meaning of its own; the core group is "". */
export type KindEntry = readonly [key: string, kind: Kind];
