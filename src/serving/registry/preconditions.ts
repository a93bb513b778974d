/**
 * Checks that the body of a write matches its path, and that the stored object meets the preconditions of the write.
 */
import { objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { parseUintError } from "../../meta/resource-version.ts";
import { badRequest, conflict, StatusError } from "../../meta/status-error.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { ServedResource } from "./resource.ts";

export interface ObjectPlace {
  readonly namespace: string;
  readonly name: string;
}

export const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again";
const FOREIGN_NAMESPACE = "the namespace of the provided object does not match the namespace sent on the request";

export function rejectMisplaced(object: JsonObject, place: ObjectPlace): void {
  const name = stringAt(objectAt(object, "metadata"), "name");
  if (name === "")
    throw badRequest(`the name of the object (${place.name} based on URL) was undeterminable: name must be provided`);
  if (name !== place.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${place.name})`);
  rejectForeignNamespace(object, place.namespace);
}

export function rejectForeignNamespace(object: JsonObject, namespace: string): void {
  const given = stringAt(objectAt(object, "metadata"), "namespace");
  // As kubernetes: the namespace in a cluster-scoped object is ignored.
  if (given !== "" && namespace !== "" && given !== namespace) throw badRequest(FOREIGN_NAMESPACE);
}

/** As kubernetes: an object without a namespace has the namespace of the path when admission receives it. */
export function inNamespace(object: JsonObject, namespace: string): JsonObject {
  const metadata = objectAt(object, "metadata");
  if (namespace === "" || stringAt(metadata, "namespace") !== "") return object;
  return { ...object, metadata: { ...metadata, namespace } };
}

interface WriteCandidate {
  readonly object: JsonObject;
  readonly existing: JsonObject;
  readonly entry: Entry;
  /** True for a patch: a changed uid then makes the object invalid, instead of being a failed precondition. */
  readonly isPatch?: boolean;
}

/** Treats a uid and a resourceVersion in the object as preconditions. Without them the write is unconditional. */
export function rejectOutdated(served: ServedResource, requested: WriteCandidate): void {
  const metadata = objectAt(requested.object, "metadata");
  const existing = objectAt(requested.existing, "metadata");
  const name = stringAt(existing, "name");
  const uid = stringAt(metadata, "uid");
  if (requested.isPatch !== true && uid !== "" && uid !== stringAt(existing, "uid"))
    throw failedPrecondition(served, requested.entry, {
      name,
      what: "UID",
      wanted: uid,
      found: stringAt(existing, "uid"),
    });
  const version = stringAt(metadata, "resourceVersion");
  if (version === "" || version === "0") return;
  const malformed = parseUintError(version);
  if (malformed !== undefined) throw new StatusError("", malformed);
  if (version !== String(requested.entry.modRevision)) throw conflict(served.groupResource, name, MODIFIED);
}

export function failedPrecondition(
  served: ServedResource,
  { key }: Entry,
  {
    name,
    what,
    wanted,
    found,
  }: {
    readonly name: string;
    readonly what: "UID" | "ResourceVersion";
    readonly wanted: string;
    readonly found: string;
  },
): StatusError {
  const why = `Precondition failed: ${what} in precondition: ${wanted}, ${what} in object meta: ${found}`;
  return conflict(
    served.groupResource,
    name,
    `StorageError: invalid object, Code: 4, Key: ${key}, ResourceVersion: 0, AdditionalErrorMsg: ${why}`,
  );
}
