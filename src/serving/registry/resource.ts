/** The type of a resource: how its objects are stored, and how one API version of it is served. */
import type { Kind } from "../../objects/kinds/kind.ts";
import type { GroupResource, GroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { NameRule } from "../../meta/names.ts";
import type { StructSchema } from "../../objects/schema.ts";
import type { TableRenderer } from "../../objects/table/table.ts";
import type { TypedObject } from "../../objects/typed-decode.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

/** The behavior in which kinds differ. */
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
  /**
   * Deletion lifecycle: namespaces wait for their controller to finalize them, pods terminate gracefully on their node.
   */
  readonly deletionLifecycle: "ordinary" | "namespace" | "pod";
  /** Time after which objects expire; undefined if they do not. */
  readonly ttlSeconds: number | undefined;
  /** If true, a deletion without a propagation policy orphans the dependents. */
  readonly orphansByDefault: boolean;
  /** If true, a deletion never adds the finalizers of the garbage collector. */
  readonly ignoresGarbageCollection: boolean;
}

/**
 * The version in which an object is written now, and the guard by which the store checks that the servers still agree
 * on it.
 */
interface WriteEncoding {
  readonly version: GroupVersion;
  readonly guard?: Guard;
}

export interface Encoding {
  /**
   * Returns the agreed version; waits a short time while servers change it. Throws a 503 if no version may be written.
   * `lost` is the guard that did not hold in the last attempt; the result is newer than this guard.
   */
  current(lost?: Guard): Promise<WriteEncoding>;
  /**
   * Returns the guard of a delete, which does not hold if other servers treat this server as departed; undefined if
   * deletes need none. Throws a 503 while it does not hold.
   */
  deletionGuard(lost?: Guard): Promise<Guard | undefined>;
}

/** The encoding of a resource that no other server stores in another version. */
export function fixedEncoding(version: GroupVersion): Encoding {
  const encoding = Promise.resolve({ version });
  const unguarded = Promise.resolve(undefined);
  return { current: () => encoding, deletionGuard: () => unguarded };
}

export interface StoredResource extends GroupResource {
  readonly namespaced: boolean;
  /** The key prefix of the objects, such as "/registry/pods/". */
  readonly keyPrefix: string;
  /** The version that this release writes if all servers have the same release. */
  readonly storageVersion: GroupVersion;
  readonly encoding: Encoding;
  readonly strategy: Strategy;
}

/** The properties of a custom resource in one version, as its CRD defines them. The CRD may change at any time. */
export interface CustomShape {
  /** Changes whenever these properties change. Values that depend on them are cached under this key. */
  readonly key: string;
  /**
   * The cache key of the encoded objects in this version. It is computed once, because it is needed for every object of
   * a list.
   */
  readonly membersKey: string;
  /** True if objects that are stored in this version can be returned. */
  isKnown(apiVersion: string): boolean;
  /** Decodes a body, for which there is no Go type. Throws a StatusError. */
  decode(value: JsonObject): TypedObject;
  /**
   * Removes unknown fields from a stored object and adds the defaults of its stored version, in place. Returns true if
   * that changed the object.
   */
  finish(object: JsonObject): boolean;
  /**
   * Removes the fields that the new version does not specify from a converted object, in place. As kubernetes: it adds
   * no defaults.
   */
  prune(object: JsonObject): void;
  /** Converts objects by webhook. Undefined if the versions differ only in apiVersion. Throws a StatusError. */
  readonly convert?: ((objects: readonly JsonObject[], to: GroupVersion) => Promise<JsonObject[]>) | undefined;
  /** The value of a field as the text that a selector compares. The object is in this version. */
  fieldValue(object: JsonObject, field: string): string;
  /** Throws if the CRD is being deleted. Otherwise returns a guard on the revision of the CRD. */
  rejectCreation(name: string, looks: "known" | "newest"): Promise<Guard | undefined>;
}

/** JSON paths of the replicas and the selector, such as ".spec.replicas". */
export interface ReplicasPaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** The path of the label selector; "" if there is none. */
  readonly labelSelectorPath: string;
}

export interface ServedResource {
  /** The properties that the CRD defines; undefined for built-in kinds. */
  readonly custom?: CustomShape | undefined;
  /** The paths of the replicas, for a custom resource with the scale subresource. */
  readonly scale?: ReplicasPaths | undefined;
  readonly stored: StoredResource;
  /**
   * The group and resource in requests and messages. The group of events.k8s.io differs from that of the stored
   * objects.
   */
  readonly groupResource: GroupResource;
  readonly groupVersion: GroupVersion;
  readonly apiVersion: string;
  readonly kind: string;
  readonly listKind: string;
  /** The defaults, validation and other behavior of the kind. */
  readonly meaning: Kind;
  /** The gates of the release as which the resource is served. */
  readonly gates: ReleaseGates;
  readonly schema: StructSchema;
  /** The schema of this or another kind in any version of the release, served or not. */
  readonly schemaOf: (groupVersion: GroupVersion, kind?: string) => StructSchema | undefined;
  /** True if a later release has the kind in that version. */
  readonly isOfLaterRelease?: (groupVersion: GroupVersion) => boolean;
  /** Renders the columns of a Table. */
  readonly table: TableRenderer;
  readonly fieldSelectors: readonly string[];
  /** The style of the error message for an unknown field selector. */
  readonly fieldSelectorErrorStyle: "default" | "label" | "kind-label" | "quoted-label";
  /** Other names of selectable fields, such as spec.host for spec.nodeName. */
  readonly fieldSelectorAliases: Readonly<Record<string, string>>;
  /** The beginning of every served object: `{"kind":"Pod","apiVersion":"v1",`. */
  readonly objectHead: Buffer;
}

/**
 * The group and kind in messages about the fields of an object. As kubernetes: events of both groups have the core
 * group.
 */
export function groupKind({ stored, kind }: ServedResource): { group: string; kind: string } {
  return { group: kind === "Event" && stored.group === "events.k8s.io" ? "" : stored.group, kind };
}

export function objectKey(resource: StoredResource, namespace: string, name: string): string {
  return resource.namespaced ? `${resource.keyPrefix}${namespace}/${name}` : resource.keyPrefix + name;
}

/** The key prefix of all objects of the resource, or of those in one namespace. */
export function collectionPrefix(resource: StoredResource, namespace: string): string {
  return resource.namespaced && namespace !== "" ? `${resource.keyPrefix}${namespace}/` : resource.keyPrefix;
}
