/** What admission plugins are told of a write, and what they may do about it. */
import type { User } from "../auth/user.ts";
import type { GroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { AdmittedWrite, Operation } from "../../serving/registry/admission.ts";

/** What a request is about: the same for every write it makes. */
export interface AdmissionRequest {
  readonly user: User;
  /** As requested. */
  readonly groupVersion: GroupVersion;
  readonly resource: string;
  /** Empty for the object itself. */
  readonly subresource: string;
  /** Of the object that is written, such as autoscaling/v1 Scale. */
  readonly kind: GroupVersion & { readonly kind: string };
  /** Empty for what has no namespace; the name of a Namespace for the Namespace itself, as kubernetes. */
  readonly namespace: string;
  /** CreateOptions, UpdateOptions, PatchOptions, DeleteOptions with kind and apiVersion; undefined for CONNECT of nothing. */
  readonly options: JsonObject | undefined;
  readonly dryRun: boolean;
  /** The versions in which the same objects can be seen, as webhooks may name one that was not requested. */
  readonly versions: ObjectVersions;
  /** The client is told, once for each text. */
  warn(text: string): void;
  /** The audit event is told. */
  annotate(key: string, value: string): void;
  readonly signal: AbortSignal;
}

export interface ObjectVersions {
  /** All that this server has for the resource (and subresource), with the resource's and the object's kind's name in each. */
  readonly served: readonly ServedVersion[];
  /** A copy in the group version of one of `served`; defaulted. */
  convert(object: JsonObject, to: ServedVersion): Promise<JsonObject>;
}

export interface ServedVersion {
  readonly groupVersion: GroupVersion;
  readonly resource: string;
  readonly kind: GroupVersion & { readonly kind: string };
}

export interface Attributes extends AdmittedWrite, AdmissionRequest {}

/** In kubernetes' order (see plugin-order.ts): all mutate, then, once the object is valid, all validate. */
export interface AdmissionPlugin {
  /** As --enable-admission-plugins names it. */
  readonly name: string;
  /** Cheap; false: neither of the others is called for such writes. */
  handles(operation: Operation, about: Pick<AdmissionRequest, "groupVersion" | "resource" | "subresource">): boolean;
  /** What it handles changes while the server runs: it is asked anew for each request. */
  readonly handlesChange?: boolean;
  /** The object as it is to be, or undefined when it stays; what was given is not changed. Throws a StatusError. */
  mutate?(
    attributes: Attributes & { readonly object: JsonObject },
  ): Promise<JsonObject | undefined> | JsonObject | undefined;
  /** Throws a StatusError. */
  validate?(attributes: Attributes): Promise<void> | void;
}
