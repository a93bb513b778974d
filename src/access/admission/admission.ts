/** The interface of admission plugins, and the attributes of a write that the plugins receive. */
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
  /** Empty if the request is for the object itself. */
  readonly subresource: string;
  /** The kind of the written object, such as autoscaling/v1 Scale. */
  readonly kind: GroupVersion & { readonly kind: string };
  /** Empty for cluster-scoped objects; for a Namespace, its own name, as in kubernetes. */
  readonly namespace: string;
  /**
   * CreateOptions, UpdateOptions, PatchOptions or DeleteOptions with kind and apiVersion; undefined for a CONNECT
   * request without options.
   */
  readonly options: JsonObject | undefined;
  readonly dryRun: boolean;
  /**
   * Converts the objects of the request to other API versions, because a webhook or policy may select a version other
   * than the requested one.
   */
  readonly versions: ObjectVersions;
  /** Sends a warning to the client. Repeated warnings with the same text are sent once. */
  warn(text: string): void;
  /** Adds an annotation to the audit event. */
  annotate(key: string, value: string): void;
  readonly signal: AbortSignal;
}

export interface ObjectVersions {
  /** All served versions of the resource (and subresource), each with the names of the resource and the kind. */
  readonly served: readonly ServedVersion[];
  /** Returns a copy of the object, converted to one of the `served` versions and defaulted. */
  convert(object: JsonObject, to: ServedVersion): Promise<JsonObject>;
}

export interface ServedVersion {
  readonly groupVersion: GroupVersion;
  readonly resource: string;
  readonly kind: GroupVersion & { readonly kind: string };
}

export interface Attributes extends AdmittedWrite, AdmissionRequest {}

/**
 * Plugins run in kubernetes' order (see plugin-order.ts). First every plugin mutates the object; then, after the object
 * has passed validation, every plugin validates it.
 */
export interface AdmissionPlugin {
  /** The name in --enable-admission-plugins. */
  readonly name: string;
  /**
   * A cheap check. If it returns false, neither mutate nor validate is called for writes with this operation and
   * resource.
   */
  handles(operation: Operation, about: Pick<AdmissionRequest, "groupVersion" | "resource" | "subresource">): boolean;
  /**
   * True if the result of `handles` can change while the server runs. `handles` is then called for each request;
   * otherwise its result is cached.
   */
  readonly handlesChange?: boolean;
  /**
   * Returns the new object, or undefined if the plugin does not change the object. Does not modify its input. Throws a
   * StatusError to reject the write.
   */
  mutate?(
    attributes: Attributes & { readonly object: JsonObject },
  ): Promise<JsonObject | undefined> | JsonObject | undefined;
  /** Throws a StatusError to reject the write. */
  validate?(attributes: Attributes): Promise<void> | void;
}
