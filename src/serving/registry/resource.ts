/** A resource as it is stored, and as one served version shows it. */
import type { Kind } from "../../objects/kinds/kind.ts";
import type { GroupResource, GroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { NameRule } from "../../meta/names.ts";
import type { StructSchema } from "../../objects/schema.ts";
import type { TableRenderer } from "../../objects/table/table.ts";
import type { TypedObject } from "../../objects/typed-decode.ts";
import type { Guard } from "../../storage/kv.ts";
import type { ReleaseGates } from "../../objects/release-gates.ts";

/** What distinguishes one kind's life from another's. Everything else is the same for all kinds. */
export interface Strategy {
  readonly nameRule: NameRule;
  /** The server counts changes of the desired state in metadata.generation. */
  readonly tracksGeneration: boolean;
  /** PUT of an absent object creates it. */
  readonly allowsCreateOnUpdate: boolean;
  /** PUT without resourceVersion overwrites; otherwise it is invalid. */
  readonly allowsUnconditionalUpdate: boolean;
  /** DELETE answers with the object even when it is gone. */
  readonly returnsDeletedObject: boolean;
  /** The status is written through the status subresource only. */
  readonly hasStatus: boolean;
  /** Whoever registers itself says at once how it is. */
  readonly createsWithStatus: boolean;
  /** Special lives: namespaces are finalized by their controller, pods end gracefully on their node. */
  readonly life: "ordinary" | "namespace" | "pod";
  /** Objects vanish by themselves after this many seconds. */
  readonly ttlSeconds: number | undefined;
  /** Deleting without a propagation policy leaves the dependents alone. */
  readonly orphansByDefault: boolean;
  /** Never takes the garbage collector's finalizers. */
  readonly ignoresGarbageCollection: boolean;
}

/** In which version an object is written now, and by what the store knows that this still holds when it is. */
interface WriteEncoding {
  readonly version: GroupVersion;
  readonly guard?: Guard;
}

export interface Encoding {
  /**
   * Waits a moment for what servers are agreeing on; throws a 503 when nothing may be written. `lost` is the guard of an
   * attempt that came too late: the answer is newer.
   */
  current(lost?: Guard): Promise<WriteEncoding>;
}

export interface StoredResource extends GroupResource {
  readonly namespaced: boolean;
  /** Such as "/registry/pods/". */
  readonly keyPrefix: string;
  /** What the release writes when it is alone. */
  readonly storageVersion: GroupVersion;
  readonly encoding: Encoding;
  readonly strategy: Strategy;
}

/** A custom resource: its objects are what a definition says, and that may be something else the next moment. */
export interface CustomShape {
  /** Another one whenever the definition says something else: what is derived by it is kept under this name. */
  readonly key: string;
  /** Under which the bytes of this version are kept: made once, because it is looked up for every object of a list. */
  readonly membersKey: string;
  /** Whether objects that lie there in this version can be shown. */
  isKnown(apiVersion: string): boolean;
  /** In the place of typed decoding. Throws a StatusError. */
  decode(value: JsonObject): TypedObject;
  /** In place: a stored object as the version means it in which it is stored, with its defaults. True when that changed it. */
  finish(object: JsonObject): boolean;
  /** In place: what has been converted, without what its new version does not name. As kubernetes, without defaults. */
  prune(object: JsonObject): void;
  /** Asks whoever knows how; undefined where versions differ in nothing but their name. Throws a StatusError. */
  readonly convert?: ((objects: readonly JsonObject[], to: GroupVersion) => Promise<JsonObject[]>) | undefined;
  /** Of an object of this version, as a selector spells it. */
  fieldValue(object: JsonObject, field: string): string;
  /**
   * Throws when the definition, as known here, is on its way out; else returns the guard that holds as long as the
   * definition is the one that was looked at.
   */
  refuseCreation(name: string, looks: "known" | "newest"): Promise<Guard | undefined>;
}

/** Where replicas stand, such as ".spec.replicas". */
export interface ReplicasPaths {
  readonly specReplicasPath: string;
  readonly statusReplicasPath: string;
  /** "": nowhere. */
  readonly labelSelectorPath: string;
}

export interface ServedResource {
  /** Undefined for built-in kinds. */
  readonly custom?: CustomShape | undefined;
  /** Of a custom resource that can be scaled. */
  readonly scale?: ReplicasPaths | undefined;
  readonly stored: StoredResource;
  /** As requests and messages name it: for events.k8s.io the group differs from the stored one's. */
  readonly groupResource: GroupResource;
  readonly groupVersion: GroupVersion;
  readonly apiVersion: string;
  readonly kind: string;
  readonly listKind: string;
  /** What the kind means beyond its shape. */
  readonly meaning: Kind;
  /** Of the release it is served as. */
  readonly gates: ReleaseGates;
  readonly schema: StructSchema;
  /** The schema of this or another kind in any version of the release, served or not. */
  readonly schemaOf: (groupVersion: GroupVersion, kind?: string) => StructSchema | undefined;
  /** Whether a release after this one has the kind in that version. */
  readonly isOfLaterRelease?: (groupVersion: GroupVersion) => boolean;
  /** How people see it. */
  readonly table: TableRenderer;
  readonly fieldSelectors: readonly string[];
  /** Which sentence an unknown field selector gets. */
  readonly fieldSelectorErrorStyle: "default" | "label" | "kind-label" | "quoted-label";
  /** Other names of selectable fields, such as spec.host for spec.nodeName. */
  readonly fieldSelectorAliases: Readonly<Record<string, string>>;
  /** `{"kind":"Pod","apiVersion":"v1",`: what stands before the members of every object served. */
  readonly objectHead: Buffer;
}

/** As messages about an object's fields name its kind: events are the same in both of their groups. */
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
