/**
 * The result of an inspection of stored data: plain, serializable data from which `evenkeel inspect` renders its report.
 * It never contains a value of a Secret. All lists are bounded, because the data is hostile; a list of tallies that was
 * cut ends with an element named OTHERS, and an element of any other list is only an example of its `count`.
 */
import type { ReleaseName } from "../../../objects/catalog/release.ts";
import type { UpgradeFinding } from "../finding.ts";

/** The name of the last element of a list of tallies, which counts all that did not fit. */
export const OTHERS = "(others)";

export interface Inspection {
  readonly kind: "Inspection";
  readonly apiVersion: "evenkeel.io/v1";
  readonly read: ReadData;
  readonly from: FoundRelease;
  /** The releases of the upgrade in order, without `from`; only the targets if `from` is unknown. */
  readonly hops: readonly ReleaseName[];
  /** Sorted by severity, then by release and ID. */
  readonly findings: readonly UpgradeFinding[];
  /** Sorted by bytes, the largest first. */
  readonly resources: readonly ResourceTally[];
  readonly largestObjects: readonly LargeObject[];
  /** Sorted by bytes, the largest first. */
  readonly managers: readonly ManagerTally[];
  /** The API versions through which clients wrote, those that need attention first. */
  readonly clients: readonly ClientTally[];
  readonly customResources: readonly CustomResourceDefinitionState[];
  readonly encryption: EncryptionState;
  readonly storageVersions: readonly StorageVersionState[];
  readonly identityLeases: readonly IdentityLeaseState[];
  readonly namespaces: NamespaceTally;
  readonly unreadable: UnreadableValues;
}

/** The source and the size of the data. */
interface ReadData {
  /** For example "etcd snapshot backup.db". */
  readonly source: string;
  readonly revision: number;
  readonly keys: number;
  /** The sizes of all keys and values. */
  readonly bytes: number;
  /** Objects whose resource is known and whose value could be read. */
  readonly objects: number;
  /** Records of the API servers themselves, such as IP allocations, which are not API objects. */
  readonly privateKeys: number;
  /** The newest time in the data, in RFC 3339; an expired lease is one that had expired then. */
  readonly newestTime?: string;
  /** Facts about the data that the reader should know, in sentences. */
  readonly warnings: readonly string[];
  /** The facts that the source cannot show, as noun phrases. Absent if all stored data was read. */
  readonly notKnown?: readonly string[];
}

/** Which release wrote the data. */
export interface FoundRelease {
  /** Undefined if the data does not show it, so that the user must be asked. */
  readonly release?: ReleaseName;
  /** "given" by the user, "found" in the data, or "unknown". */
  readonly origin: "given" | "found" | "unknown";
  /** Why this release, one sentence per fact, the strongest first. */
  readonly evidence: readonly string[];
  /** If the data does not show one release, those that fit what the servers serve, oldest first. */
  readonly candidates: readonly ReleaseName[];
  /** Kubelets are never newer than API servers, so the release is at least this one. */
  readonly atLeast?: ReleaseName;
  /** The API servers that the data shows, one for each mirror Pod. */
  readonly servers: readonly ApiServerState[];
  /** The flags that decide what the servers serve, as given to `--runtime-config` and `--feature-gates`. */
  readonly runtimeConfig: readonly string[];
  readonly featureGates: readonly string[];
  /** The release as which servers of a newer binary behave. */
  readonly emulatedVersion?: string;
  /** Whether the catalogs of `from` and the hops use these flags; if not, the defaults of each release. */
  readonly areFlagsKnown: boolean;
}

export interface ApiServerState {
  /** For example "kube-system/kube-apiserver-node-1". */
  readonly name: string;
  readonly image?: string;
  /** For example "v1.33.4", from the tag of the image. */
  readonly version?: string;
  /** The flags that this inspection considers, for example "--runtime-config=api/all=true". */
  readonly flags: readonly string[];
}

export interface ResourceTally {
  /** "" for the core group. */
  readonly group: string;
  /** OTHERS for the resources that did not fit. */
  readonly resource: string;
  readonly origin: "built-in" | "custom" | "unknown";
  readonly objects: number;
  /** The sizes of the keys and values. */
  readonly bytes: number;
  readonly encodings: EncodingTally;
  /** The API versions in which the objects are stored, sorted by name. Encrypted values count if they were decrypted. */
  readonly versions: readonly VersionTally[];
  /** Values that could not be read, without those that could not be decrypted. */
  readonly unreadable: number;
}

/** How the values are stored. `encrypted` counts every encrypted value, decrypted or not. */
export interface EncodingTally {
  readonly json: number;
  readonly protobuf: number;
  readonly encrypted: number;
}

export interface VersionTally {
  /** For example "apps/v1"; OTHERS for those that did not fit. */
  readonly apiVersion: string;
  readonly objects: number;
}

export interface LargeObject {
  /** For example "configmaps shop/catalog". */
  readonly name: string;
  readonly bytes: number;
}

export interface ManagerTally {
  readonly manager: string;
  /** Objects of which the manager has fields. */
  readonly objects: number;
  /** The sizes of these objects. */
  readonly bytes: number;
}

/**
 * - `removed`: a hop does not serve the version, `from` does.
 * - `disabled`: a hop serves the version only if --runtime-config enables it, and the client could write through it.
 * - `deprecated`: all hops serve the version, and it is deprecated.
 * - `older`: the version is not the one that the last hop prefers.
 * - `unserved`: `from` does not serve the version any more, so the record is old.
 */
export type ClientStatus = "removed" | "disabled" | "deprecated" | "older" | "unserved" | "current";

/** Writes of one manager to one resource through one API version, from managedFields. */
export interface ClientTally {
  readonly manager: string;
  readonly group: string;
  readonly resource: string;
  readonly apiVersion: string;
  readonly objects: number;
  /** RFC 3339. */
  readonly lastTime?: string;
  readonly status: ClientStatus;
  /** The first hop with this status. */
  readonly release?: ReleaseName;
  /** For example "autoscaling/v2", or "discovery.k8s.io/v1 EndpointSlice" if the kind changes. */
  readonly replacement?: string;
  /** The version is deprecated, but Kubernetes has not announced its removal. */
  readonly staysServed?: boolean;
}

export interface CustomResourceDefinitionState {
  /** For example "widgets.shop.example". */
  readonly name: string;
  readonly group: string;
  readonly resource: string;
  readonly scope: string;
  readonly versions: readonly CustomVersionState[];
  /** `status.storedVersions`. */
  readonly storedVersions: readonly string[];
  /** Entries of `storedVersions` that no object needs, so that they can be dropped. */
  readonly droppable: readonly string[];
  readonly conversion: "None" | "Webhook";
  /** For example "shop/converter", or the host of the URL. */
  readonly webhook?: string;
}

export interface CustomVersionState {
  readonly version: string;
  /** Whether `spec.versions` has it. */
  readonly isDeclared: boolean;
  readonly isServed: boolean;
  readonly isStorage: boolean;
  readonly isDeprecated: boolean;
  readonly objects: number;
}

export interface EncryptionState {
  /** Whether a configuration was given. */
  readonly isConfigured: boolean;
  readonly keys: readonly EncryptionKeyTally[];
}

/**
 * - `decrypted`: all values were decrypted.
 * - `partly`: some of them were not.
 * - `not-configured`: the configuration does not have the key for the resource.
 * - `no-response`: the KMS plugin does not respond, or does not decrypt the data keys.
 * - `failed`: the key of the configuration does not decrypt the values.
 * - `not-tried`: no configuration was given.
 * - `unused`: the configuration has the key, and no value is encrypted with it.
 */
export type EncryptionKeyStatus =
  | "decrypted"
  | "partly"
  | "not-configured"
  | "no-response"
  | "failed"
  | "not-tried"
  | "unused";

export interface EncryptionKeyTally {
  /** For example "aescbc", or "kms". */
  readonly provider: string;
  /** For example "v1". */
  readonly version: string;
  /** The name of the key or of the KMS plugin, never a key. OTHERS for the keys that did not fit. */
  readonly key: string;
  /** For example "secrets". */
  readonly resources: readonly string[];
  readonly values: number;
  readonly bytes: number;
  readonly status: EncryptionKeyStatus;
  /** Whether the configuration encrypts new values with it. */
  readonly isWriter: boolean;
}

/** An object of internal.apiserver.k8s.io. */
export interface StorageVersionState {
  /** For example "apps.deployments". */
  readonly name: string;
  readonly commonEncodingVersion?: string;
  readonly servers: readonly StorageVersionOfServer[];
  readonly isAgreed: boolean;
}

export interface StorageVersionOfServer {
  readonly server: string;
  readonly encodingVersion: string;
  /** Whether an identity lease of the server was live at the newest time in the data. */
  readonly isLive: boolean;
}

export interface IdentityLeaseState {
  readonly name: string;
  readonly holder?: string;
  readonly hostname?: string;
  readonly renewTime?: string;
  readonly state: "live" | "expired" | "never-renewed";
}

export interface NamespaceTally {
  readonly namespaces: number;
  readonly terminating: readonly TerminatingNamespace[];
  /** Namespaces that do not exist although objects are in them. */
  readonly missing: readonly MissingNamespace[];
}

export interface TerminatingNamespace {
  readonly name: string;
  readonly since?: string;
  readonly objects: number;
  /** For example [{ name: "configmaps", count: 4 }]. */
  readonly content: readonly NamedCount[];
  /** The finalizers of the namespace itself. */
  readonly finalizers: readonly string[];
  /** The finalizers of the objects in it. */
  readonly contentFinalizers: readonly NamedCount[];
}

interface MissingNamespace {
  readonly name: string;
  readonly objects: number;
  readonly content: readonly NamedCount[];
}

export interface NamedCount {
  readonly name: string;
  readonly count: number;
}

export interface UnreadableValues {
  readonly count: number;
  readonly values: readonly UnreadableValue[];
}

export interface UnreadableValue {
  readonly key: string;
  readonly reason: string;
}
