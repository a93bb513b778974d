/** The interface of admission plugins: the attributes of a write that they receive, and what they may do with it. */
import type { User } from "../auth/user.ts";
import type { GroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { AdmittedWrite, Operation } from "../../serving/registry/admission.ts";

/** The attributes of a request, shared by all its writes. */
export interface AdmissionRequest {
  readonly user: User;
  /** The requested group version. */
  readonly groupVersion: GroupVersion;
  readonly resource: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** The kind of the written object, such as autoscaling/v1 Scale. */
  readonly kind: GroupVersion & { readonly kind: string };
  /** Empty for cluster-scoped objects; for a Namespace, its own name, as in kubernetes. */
  readonly namespace: string;
  /**
   * CreateOptions, UpdateOptions, PatchOptions or DeleteOptions with kind and apiVersion; undefined for CONNECT without
   * options.
   */
  readonly options: JsonObject | undefined;
  readonly dryRun: boolean;
  /** The versions of the same objects, because a webhook may select a version other than the requested one. */
  readonly versions: ObjectVersions;
  /** Sends a warning to the client, once per text. */
  warn(text: string): void;
  /** Adds an annotation to the audit event. */
  annotate(key: string, value: string): void;
  readonly signal: AbortSignal;
}

export interface ObjectVersions {
  /** All served versions of the resource (and subresource), each with the names of the resource and the kind. */
  readonly served: readonly ServedVersion[];
  /** A defaulted copy in the group version of one of `served`. */
  convert(object: JsonObject, to: ServedVersion): Promise<JsonObject>;
}

export interface ServedVersion {
  readonly groupVersion: GroupVersion;
  readonly resource: string;
  readonly kind: GroupVersion & { readonly kind: string };
}

export interface Attributes extends AdmittedWrite, AdmissionRequest {}

/** Plugins run in kubernetes' order (see plugin-order.ts): all mutate, then, once the object is valid, all validate. */
export interface AdmissionPlugin {
  /** The name in --enable-admission-plugins. */
  readonly name: string;
  /** A cheap check; if false, neither mutate nor validate is called for such writes. */
  handles(operation: Operation, about: Pick<AdmissionRequest, "groupVersion" | "resource" | "subresource">): boolean;
  /** True if the result of `handles` changes while the server runs; it is then called for each request. */
  readonly handlesChange?: boolean;
  /** Returns the new object, or undefined if it stays unchanged; does not modify its input. Throws a StatusError. */
  mutate?(
    attributes: Attributes & { readonly object: JsonObject },
  ): Promise<JsonObject | undefined> | JsonObject | undefined;
  /** Throws a StatusError. */
  validate?(attributes: Attributes): Promise<void> | void;
}
