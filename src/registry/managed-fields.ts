/** Who wrote what: metadata.managedFields, kept on every write that is not an apply. */
import { parseGroupVersion } from "../meta/group-version.ts";
import { objectAt, type JsonObject } from "../meta/json.ts";
import { convertObject, isConvertible } from "../object/conversion/convert.ts";
import { trackCreate, trackUpdate, type VersionedObject } from "../object/managed-fields/manager.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import type { Door } from "./prepare.ts";
import type { ServedResource } from "./resource.ts";

export interface TrackedWrite {
  readonly live: JsonObject;
  /** As the client wants it, before the server's own changes. */
  readonly next: JsonObject;
  readonly manager: string;
  readonly door: Door;
}

/** The object with its managedFields brought up to date. */
export function withManagedFields(context: RegistryContext, served: ServedResource, write: TrackedWrite): JsonObject {
  const managedFields = trackUpdate({
    live: write.live,
    next: write.next,
    schema: served.schema,
    apiVersion: served.apiVersion,
    manager: write.manager,
    subresource: write.door === "main" ? "" : write.door,
    time: timestamp(context.clock),
    resetFields: resetFields(served, write.door),
    inVersion: (object, apiVersion) => inVersion(object, served, apiVersion),
  });
  const { managedFields: _sent, ...metadata } = objectAt(write.next, "metadata");
  return { ...write.next, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/** The JSON text of a new object's managedFields; undefined for none. */
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
    inVersion: (object, apiVersion) => inVersion(object, served, apiVersion),
  });
}

/** What a door cannot write, nobody comes to own through it. */
function resetFields(served: ServedResource, door: Door): readonly (readonly string[])[] {
  if (door === "main") return served.stored.strategy.hasStatus ? [["status"]] : [];
  return door === "status" ? [["spec"]] : [["status"]];
}

function inVersion(
  object: JsonObject,
  served: ServedResource,
  apiVersion: string,
): VersionedObject | "unknown" | undefined {
  const target = parseGroupVersion(apiVersion);
  const schema = served.schemaOf(target);
  // DIFFERS: who has written in a version of a later release keeps what it owns.
  if (schema === undefined && served.isOfLaterRelease?.(target) === true) return "unknown";
  if (schema === undefined || !isConvertible(served.kind, served.groupVersion, target)) return undefined;
  try {
    return { object: convertObject(object, served.groupVersion, target), schema };
  } catch {
    // An object too odd to be converted: its entry in that version ends.
    return undefined;
  }
}
