/** A resource as stored, and as shown in one served version. */
import type { Kind } from "../../objects/kinds/kind.ts";
import type { GroupResource, GroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { NameRule } from "../../meta/names.ts";
import type { StructSchema } from "../../objects/schema.ts";
import type { TableRenderer } from "../../objects/table/table.ts";
import type { TypedObject } from "../../objects/typed-decode.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

/** The behavior in which kinds differ. Everything else is the same for all kinds. */
export interface Strategy {
  readonly nameRule: NameRule;
  /** If true, the server counts changes of the desired state in metadata.generation. */
  readonly tracksGeneration: boolean;
  /** If true, PUT of an absent object creates it. */
  readonly allowsCreateOnUpdate: boolean;
  /** If true, PUT without resourceVersion overwrites the object; otherwise it is invalid. */
  readonly allowsUnconditionalUpdate: boolean;
  /** If true, DELETE returns the object even if it has been removed. */
  readonly returnsDeletedObject: boolean;
  /** If true, the status is written through the status subresource only. */
  readonly hasStatus: boolean;
  /** If true, a creation may set the status, as nodes do when they register themselves. */
  readonly createsWithStatus: boolean;
  /** Deletion lifecycle: namespaces are finalized by their controller, pods terminate gracefully on their node. */
  readonly deletionLifecycle: "ordinary" | "namespace" | "pod";
  /** Objects expire after this many seconds. */
  readonly ttlSeconds: number | undefined;
  /** If true, deletion without a propagation policy orphans the dependents. */
  readonly orphansByDefault: boolean;
  /** If true, the garbage collector's finalizers are never added. */
  readonly ignoresGarbageCollection: boolean;
}

/**
 * The version in which an object is written now, and the guards by which the store checks that it is still the agreed
 * one.
 */
interface WriteEncoding {
  readonly version: GroupVersion;
  readonly guard?: Guard;
}

export interface Encoding {
  /**
   * Waits a moment while servers agree on a version; throws a 503 if nothing may be written. `lost` is the guard of a
   * failed attempt: the result is newer.
   */
  current(lost?: Guard): Promise<WriteEncoding>;
}

export interface StoredResource extends GroupResource {
  readonly namespaced: boolean;
  /** Such as "/registry/pods/". */
  readonly keyPrefix: string;
  /** The version that the release writes if it is alone. */
  readonly storageVersion: GroupVersion;
  readonly encoding: Encoding;
  readonly strategy: Strategy;
}

/** The shape of a custom resource as its CRD defines it, which may change at any time. */
export interface CustomShape {
  /** Changes whenever the CRD's shape changes: derived values are cached under this key. */
  readonly key: string;
  /** The cache key of the bytes in this version, computed once because it is needed for every object of a list. */
  readonly membersKey: string;
  /** Whether objects stored in this version can be returned. */
  isKnown(apiVersion: string): boolean;
  /** Decodes without a Go type. Throws a StatusError. */
  decode(value: JsonObject): TypedObject;
  /** Works in place: adds the defaults of the stored version to a stored object. True if that changed it. */
  finish(object: JsonObject): boolean;
  /**
   * Works in place: prunes a converted object of the fields that its new version does not specify. As kubernetes,
   * without defaults.
   */
  prune(object: JsonObject): void;
  /** Converts by the CRD's strategy; undefined if the versions differ only in name. Throws a StatusError. */
  readonly convert?: ((objects: readonly JsonObject[], to: GroupVersion) => Promise<JsonObject[]>) | undefined;
  /** The value of a field of an object in this version, as in a selector. */
  fieldValue(object: JsonObject, field: string): string;
  /**
   * Throws if the CRD is being deleted; otherwise returns the guard that holds while the CRD has the revision that was
   * checked.
   */
  rejectCreation(name: string, looks: "known" | "newest"): Promise<Guard | undefined>;
}

/** JSON paths of the replicas, such as ".spec.replicas". */
export interface ReplicasPaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** "": none. */
  readonly labelSelectorPath: string;
}

export interface ServedResource {
  /** Undefined for built-in kinds. */
  readonly custom?: CustomShape | undefined;
  /** Set for a custom resource that can be scaled. */
  readonly scale?: ReplicasPaths | undefined;
  readonly stored: StoredResource;
  /** As in requests and messages: for events.k8s.io the group differs from the stored one. */
  readonly groupResource: GroupResource;
  readonly groupVersion: GroupVersion;
  readonly apiVersion: string;
  readonly kind: string;
  readonly listKind: string;
  /** The kind's validation and defaults beyond its schema. */
  readonly meaning: Kind;
  /** The gates of the release as which the resource is served. */
  readonly gates: ReleaseGates;
  readonly schema: StructSchema;
  /** The schema of this or another kind in any version of the release, served or not. */
  readonly schemaOf: (groupVersion: GroupVersion, kind?: string) => StructSchema | undefined;
  /** Whether a release after this one has the kind in that version. */
  readonly isOfLaterRelease?: (groupVersion: GroupVersion) => boolean;
  /** Renders the table columns. */
  readonly table: TableRenderer;
  readonly fieldSelectors: readonly string[];
  /** The style of the error message for an unknown field selector. */
  readonly fieldSelectorErrorStyle: "default" | "label" | "kind-label" | "quoted-label";
  /** Other names of selectable fields, such as spec.host for spec.nodeName. */
  readonly fieldSelectorAliases: Readonly<Record<string, string>>;
  /** `{"kind":"Pod","apiVersion":"v1",`: the start of every served object. */
  readonly objectHead: Buffer;
}

/** The kind as in messages about an object's fields: the same for events of both groups. */
export function groupKind({ stored, kind }: ServedResource): { group: string; kind: string } {
  return { group: kind === "Event" && stored.group === "events.k8s.io" ? "" : stored.group, kind };
}

export function objectKey(resource: StoredResource, namespace: string, name: string): string {
  return resource.namespaced ? `${resource.keyPrefix}${namespace}/${name}` : resource.keyPrefix + name;
}

/** The prefix of all objects of the resource, or of those in one namespace. */
export function collectionPrefix(resource: StoredResource, namespace: string): string {
  return resource.namespaced && namespace !== "" ? `${resource.keyPrefix}${namespace}/` : resource.keyPrefix;
}
