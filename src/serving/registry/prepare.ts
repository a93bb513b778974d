/**
 * Sets the fields that only the server writes, and resets fields that the request may not write, before an object is
 * stored.
 */
import { randomUuid } from "../../base/random.ts";
import { jsonEquals, objectAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { timestamp, type RegistryContext } from "./context.ts";
import type { ServedResource } from "./resource.ts";
import { kindContext } from "./defaults.ts";

/** Metadata fields that only the server writes; updates by clients leave them unchanged. */
export const SERVER_OWNED: readonly string[] = [
  "uid",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "generation",
  "resourceVersion",
  "namespace",
];

/**
 * The endpoint of an update: "main" writes the desired state, "status" the observed state, "finalize" the finalizers of
 * a namespace.
 */
export type UpdateEndpoint = "main" | "status" | "finalize";

export function prepareForCreate(context: RegistryContext, served: ServedResource, object: JsonObject): JsonObject {
  const { strategy } = served.stored;
  const prepared: JsonObject = {
    ...withoutEmptyLists(served, object),
    kind: served.kind,
    apiVersion: served.apiVersion,
    metadata: {
      ...objectAt(object, "metadata"),
      uid: randomUuid(context.random),
      creationTimestamp: timestamp(context.clock),
    },
  };
  if (strategy.tracksGeneration) objectAt(prepared, "metadata")["generation"] = 1;
  if (strategy.hasStatus && !strategy.createsWithStatus) delete prepared["status"];
  served.meaning.prepareCreate?.(prepared, kindContext(context, served));
  return prepared;
}

/** Returns the object as it will be stored. `existing` is in the served version. */
export function prepareForUpdate(
  context: RegistryContext,
  served: ServedResource,
  object: JsonObject,
  { existing, endpoint }: { existing: JsonObject; endpoint: UpdateEndpoint },
): JsonObject {
  const { strategy } = served.stored;
  const before = objectAt(existing, "metadata");
  const metadata: JsonObject = { ...objectAt(object, "metadata") };
  for (const field of SERVER_OWNED) {
    if (before[field] === undefined) delete metadata[field];
    else metadata[field] = before[field];
  }
  delete metadata["selfLink"];
  const sent = withoutEmptyLists(served, object);
  const prepared = throughEndpoint({ ...sent, kind: served.kind, apiVersion: served.apiVersion, metadata }, existing, {
    endpoint,
    hasStatus: strategy.hasStatus,
  });
  if (endpoint === "main") served.meaning.prepareUpdate?.(prepared, existing, kindContext(context, served));
  if (endpoint === "status") served.meaning.prepareStatusUpdate?.(prepared, existing, kindContext(context, served));
  if (strategy.tracksGeneration && endpoint === "main" && hasNewDesiredState(prepared, existing, strategy.hasStatus)) {
    metadata["generation"] = Number(before["generation"] ?? 0) + 1;
  }
  return prepared;
}

/** As kubernetes: an empty top-level list is stored as null. */
function withoutEmptyLists({ schema }: ServedResource, object: JsonObject): JsonObject {
  if (schema.isCustom === true) return object;
  const empty = Object.keys(object).filter((key) => Array.isArray(object[key]) && object[key].length === 0);
  return empty.length === 0 ? object : { ...object, ...Object.fromEntries(empty.map((key) => [key, null])) };
}

/**
 * As kubernetes: admission receives an empty top-level list as the client sent it, although the stored object has null.
 */
export function withSentLists(prepared: JsonObject, sent: JsonObject): JsonObject {
  const empty = Object.keys(sent).filter((key) => prepared[key] === null && Array.isArray(sent[key]));
  return empty.length === 0 ? prepared : { ...prepared, ...Object.fromEntries(empty.map((key) => [key, []])) };
}

function throughEndpoint(
  object: JsonObject,
  existing: JsonObject,
  through: { endpoint: UpdateEndpoint; hasStatus: boolean },
): JsonObject {
  if (through.endpoint === "main") return through.hasStatus ? withMember(object, "status", existing["status"]) : object;
  if (through.endpoint === "status")
    return withMember({ ...existing, metadata: object["metadata"] }, "status", object["status"]);
  const finalizers = stringsAt(objectAt(object, "spec"), "finalizers");
  return { ...existing, metadata: object["metadata"], spec: finalizers.length === 0 ? {} : { finalizers } };
}

function withMember(object: JsonObject, key: string, value: unknown): JsonObject {
  const { [key]: _replaced, ...rest } = object;
  return value === undefined ? rest : { ...rest, [key]: value };
}

/**
 * True if a field of the desired state has changed: any field except metadata, and except status if the kind has the
 * status subresource.
 */
function hasNewDesiredState(object: JsonObject, existing: JsonObject, hasStatus: boolean): boolean {
  const { metadata: _metadata, status, ...desired } = object;
  const { metadata: _oldMetadata, status: oldStatus, ...before } = existing;
  return !jsonEquals(desired, before) || (!hasStatus && !jsonEquals(status, oldStatus));
}
