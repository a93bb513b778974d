/** The interface with which a built-in kind defines its own rules: defaults, preparation, validation and warnings. */
import type { IpFamily } from "../../meta/ip-address.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { FieldError } from "../../meta/status-error.ts";
import type { ReleaseGates } from "../release-gates.ts";

export interface KindContext {
  /** The gates of the release: fields and checks that the release does not have are neither defaulted nor applied. */
  readonly gates: ReleaseGates;
  /** The current time, as the server writes times. */
  readonly time: string;
  /** The IP families of cluster IPs; the first is the default. */
  readonly ipFamilies: readonly IpFamily[];
  /** True if pods must not have privileged containers. Default false. */
  readonly forbidsPrivileged?: boolean;
}

/**
 * The rules of one kind. All objects are in the served version and have passed typed decoding. If a function is absent,
 * the kind adds nothing to the rules that all kinds share. The prepare functions may set fields of the object, its spec
 * and its status; values deeper inside may be shared with `existing` and must be copied before a change. Errors may be
 * generated lazily, because callers read only the first ones.
 */
export interface Kind {
  /** Sets defaults in place, right after decoding, also in stored objects. It is idempotent. */
  setDefaults?(object: JsonObject, context: KindContext): void;
  /**
   * Changes a stored object with defaults in place, as kubernetes' decorators do when an object is read: fields that the
   * server derives on a create, for objects that were created before the server derived them.
   */
  completeStored?(object: JsonObject, context: KindContext): void;
  prepareCreate?(object: JsonObject, context: KindContext): void;
  prepareUpdate?(object: JsonObject, existing: JsonObject, context: KindContext): void;
  prepareStatusUpdate?(object: JsonObject, existing: JsonObject, context: KindContext): void;
  /** Validates everything but the metadata, which the rules that all kinds share have validated before. */
  createErrors?(object: JsonObject, context: KindContext): Iterable<FieldError>;
  updateErrors?(object: JsonObject, existing: JsonObject, context: KindContext): Iterable<FieldError>;
  statusUpdateErrors?(object: JsonObject, existing: JsonObject, context: KindContext): Iterable<FieldError>;
  /** Warnings that the client receives with a successful response; `existing` is absent on a create. */
  warnings?(object: JsonObject, existing: JsonObject | undefined, context: KindContext): Iterable<string>;
  /**
   * The object after the first delete request, for kinds with a deletion of their own; undefined for the usual
   * deletion.
   */
  beginDeletion?(existing: JsonObject, context: KindContext): JsonObject | undefined;
  /** The warning for a client that deletes an object without a propagation policy, which orphans its dependents. */
  readonly orphaningWarning?: string;
  /** As kubernetes ResetObjectMetaForStatus: a status update cannot change the metadata. */
  readonly keepsMetadataInStatus?: boolean;
}

/** The key is "group/Kind", or "group/version/Kind" if a version has rules of its own; the core group is "". */
export type KindEntry = readonly [key: string, kind: Kind];
