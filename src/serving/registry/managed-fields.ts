/** Computes metadata.managedFields for every write. */
import { parseGroupVersion } from "../../meta/group-version.ts";
import { isJsonObject, jsonEquals, objectAt, type JsonObject } from "../../meta/json.ts";
import { convertObject, isConvertible } from "../../objects/conversion/convert.ts";
import type { AbsentFields } from "../../objects/managed-fields/absent-fields.ts";
import { checkApplied } from "../../objects/managed-fields/applied-check.ts";
import { trackCreate, trackUpdate } from "../../objects/managed-fields/manager.ts";
import type { UnfitObject, VersionedObject } from "../../objects/managed-fields/tracking.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import type { UpdateEndpoint } from "./prepare.ts";
import { resetFields } from "./reset-fields.ts";
import type { ServedResource } from "./resource.ts";

interface TrackedWrite {
  readonly live: JsonObject;
  /** The object as the client sent it, before the server sets its own fields. */
  readonly next: JsonObject;
  readonly manager: string;
  readonly endpoint: UpdateEndpoint;
}

/** Returns the object with updated managedFields. */
export function withManagedFields(context: RegistryContext, served: ServedResource, write: TrackedWrite): JsonObject {
  const managedFields = trackUpdate({
    live: write.live,
    next: write.next,
    schema: served.schema,
    apiVersion: served.apiVersion,
    manager: write.manager,
    subresource: write.endpoint === "main" ? "" : write.endpoint,
    time: timestamp(context.clock),
    resetFields: resetFields(served, write.endpoint),
    absentFields: absentFields(served),
    inVersion: (object, apiVersion) => inVersion(object, served, apiVersion),
  });
  const { managedFields: _sent, ...metadata } = objectAt(write.next, "metadata");
  return { ...write.next, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/** The JSON text of the managedFields of a new object; undefined if it has none. */
export function createdManagedFields(
  context: RegistryContext,
  served: ServedResource,
  { next, manager }: Pick<TrackedWrite, "next" | "manager">,
): string | undefined {
  return trackCreate({
    next,
    schema: served.schema,
    apiVersion: served.apiVersion,
    manager,
    time: timestamp(context.clock),
    resetFields: resetFields(served, "main"),
    absentFields: absentFields(served),
    inVersion: (object, apiVersion) => inVersion(object, served, apiVersion),
  });
}

export function absentFields({ schema }: ServedResource): AbsentFields {
  return schema.isCustom === true ? "none" : "zero";
}

/**
 * Converts the object to another version, in which a manager has written. Returns undefined if the version no longer
 * exists or the object cannot be converted to it, and "unknown" if only a later release has the version.
 */
export function inVersion(
  object: JsonObject,
  served: ServedResource,
  apiVersion: string,
): VersionedObject | UnfitObject | "unknown" | undefined {
  const target = parseGroupVersion(apiVersion);
  const schema = served.schemaOf(target);
  // DIFFERS: a manager that has written in a version of a later release keeps its fields; kubernetes drops them.
  if (schema === undefined && served.isOfLaterRelease?.(target) === true) return "unknown";
  if (schema !== undefined && served.custom !== undefined)
    return customInVersion({ object, schema }, served, apiVersion);
  if (schema === undefined || !isConvertible(served.kind, served.groupVersion, target)) return undefined;
  try {
    return { object: convertObject(object, served.groupVersion, target), schema };
  } catch {
    // The object cannot be converted, so the managedFields entry of that version is dropped.
    return undefined;
  }
}

/**
 * DIFFERS: if the CRD has a conversion webhook, a manager that has written in another version keeps its fields, because
 * the webhook is not called.
 */
function customInVersion(
  { object, schema }: VersionedObject,
  { custom, apiVersion: from }: ServedResource,
  apiVersion: string,
): VersionedObject | UnfitObject | "unknown" {
  if (apiVersion === from) return { object, schema };
  if (custom?.convert !== undefined) return "unknown";
  const converted = { ...object, apiVersion };
  const { problem } = checkApplied(converted, schema);
  return problem === undefined ? { object: converted, schema } : { problem };
}

/** Converts the object back from the version of `inVersion`. */
export function fromVersion(object: JsonObject, served: ServedResource, apiVersion: string): JsonObject | undefined {
  if (served.custom !== undefined) return { ...object, apiVersion: served.apiVersion };
  const source = parseGroupVersion(apiVersion);
  if (!isConvertible(served.kind, source, served.groupVersion)) return undefined;
  try {
    return convertObject(object, source, served.groupVersion);
  } catch {
    return undefined;
  }
}

/**
 * Restores the existing managedFields if the objects differ only in the times of managedFields, so that the write
 * changes nothing.
 */
export function withoutTimeChanges(object: JsonObject, existing: JsonObject): JsonObject {
  const { managedFields: now, ...metadata } = objectAt(object, "metadata");
  const { managedFields: before, ...metadataBefore } = objectAt(existing, "metadata");
  if (now === before || !Array.isArray(now) || !Array.isArray(before) || now.length !== before.length) return object;
  const isSame =
    now.every((entry, index) => isSameButTime(entry, before[index])) &&
    jsonEquals(metadata, metadataBefore) &&
    jsonEquals({ ...object, metadata: {} }, { ...existing, metadata: {} });
  return isSame ? { ...object, metadata: { ...metadata, managedFields: before } } : object;
}

function isSameButTime(entry: unknown, before: unknown): boolean {
  if (entry === before || !isJsonObject(entry) || !isJsonObject(before)) return entry === before;
  return jsonEquals({ ...entry, time: "" }, { ...before, time: "" });
}
