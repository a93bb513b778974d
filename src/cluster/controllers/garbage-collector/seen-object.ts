/** The metadata that the garbage collector needs of an object, parsed from any response. */
import { must } from "../../../base/assert.ts";
import type { KubernetesObject } from "../../../client/objects.ts";
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";

export const ORPHAN = "orphan";
export const FOREGROUND = "foregroundDeletion";

/**
 * How an object is being deleted:
 *
 * - none: it is not being deleted.
 * - orphan: it waits until no dependent references it.
 * - foreground: it waits until its blocking dependents are gone.
 * - plain: it waits for neither, only for other finalizers.
 */
export type DeletionMode = "none" | "orphan" | "foreground" | "plain";

/** An owner reference as it is in the object, even if no object matches it. */
export interface SeenOwner {
  readonly uid: string;
  readonly group: string;
  readonly kind: string;
  readonly name: string;
  readonly blocks: boolean;
}

export interface SeenObject {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly owners: readonly SeenOwner[];
  readonly deletion: DeletionMode;
}

/** The current state of an object that the collector is about to change. */
export interface LiveObject extends SeenObject {
  readonly resourceVersion: string;
  readonly finalizers: readonly string[];
  /** The references as they are in the object, in the order of `owners`. */
  readonly ownerReferences: readonly JsonObject[];
}

const NO_OWNERS: readonly SeenOwner[] = [];

/** Undefined for an object without a uid or name. */
export function toSeenObject(object: KubernetesObject): SeenObject | undefined {
  const metadata = metadataOf(object);
  const uid = stringAt(metadata, "uid");
  const name = stringAt(metadata, "name");
  if (uid === "" || name === "") return undefined;
  const references = referencesOf(metadata);
  return {
    uid,
    name,
    namespace: stringAt(metadata, "namespace"),
    owners: references.length === 0 ? NO_OWNERS : references.map(toSeenOwner),
    deletion: deletionOf(metadata),
  };
}

export function toLiveObject(object: KubernetesObject): LiveObject | undefined {
  const seen = toSeenObject(object);
  const metadata = metadataOf(object);
  const resourceVersion = stringAt(metadata, "resourceVersion");
  if (seen === undefined || resourceVersion === "") return undefined;
  return {
    ...seen,
    resourceVersion,
    finalizers: stringsAt(metadata, "finalizers"),
    ownerReferences: referencesOf(metadata),
  };
}

function toSeenOwner(reference: JsonObject): SeenOwner {
  const apiVersion = stringAt(reference, "apiVersion");
  const slash = apiVersion.indexOf("/");
  return {
    uid: stringAt(reference, "uid"),
    group: slash < 0 ? "" : apiVersion.slice(0, slash),
    kind: stringAt(reference, "kind"),
    name: stringAt(reference, "name"),
    blocks: reference["blockOwnerDeletion"] === true,
  };
}

function deletionOf(metadata: JsonObject): DeletionMode {
  if (stringAt(metadata, "deletionTimestamp") === "") return "none";
  const finalizers = stringsAt(metadata, "finalizers");
  if (finalizers.includes(ORPHAN)) return "orphan";
  return finalizers.includes(FOREGROUND) ? "foreground" : "plain";
}

function metadataOf(object: KubernetesObject): JsonObject {
  return objectAt(object as JsonObject, "metadata");
}

function referencesOf(metadata: JsonObject): JsonObject[] {
  return objectsAt(metadata, "ownerReferences");
}

/** The uid of the owner reference at this index. */
export function uidOfOwner({ owners }: Pick<LiveObject, "owners">, index: number): string {
  return must(owners[index], "each reference names an owner").uid;
}
