/** Types of Kubernetes objects and options for callers of the client. */

export interface OwnerReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
  readonly controller?: boolean;
  readonly blockOwnerDeletion?: boolean;
}

export interface ObjectMeta {
  readonly name?: string;
  readonly generateName?: string;
  readonly namespace?: string;
  readonly uid?: string;
  readonly resourceVersion?: string;
  readonly generation?: number;
  readonly creationTimestamp?: string | null;
  readonly deletionTimestamp?: string;
  readonly deletionGracePeriodSeconds?: number;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: readonly string[];
  readonly ownerReferences?: readonly OwnerReference[];
  readonly managedFields?: readonly unknown[];
}

export interface KubernetesObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata?: ObjectMeta;
}

/** An object whose fields are known only at run time. */
export type UnstructuredObject = KubernetesObject & { readonly [member: string]: unknown };

export interface KubernetesList<T> {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: {
    readonly resourceVersion?: string;
    readonly continue?: string;
    readonly remainingItemCount?: number;
  };
  readonly items: readonly T[];
}

export type WatchEvent<T> =
  | { readonly type: "ADDED" | "MODIFIED" | "DELETED"; readonly object: T }
  /** The server has sent all changes up to the resourceVersion of this object. */
  | { readonly type: "BOOKMARK"; readonly object: KubernetesObject };

export interface ResourceType {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  /** The plural, such as "configmaps". */
  readonly resource: string;
  readonly namespaced: boolean;
}

/** Identifies an object of a resource. Namespaced objects need both fields. */
export interface ObjectKey {
  readonly name: string;
  readonly namespace?: string | undefined;
}

/** The annotation of the bookmark that ends the initial events of a streaming list. */
export const INITIAL_EVENTS_END = "k8s.io/initial-events-end";

export function isInitialEventsEnd(event: WatchEvent<unknown>): boolean {
  return event.type === "BOOKMARK" && event.object.metadata?.annotations?.[INITIAL_EVENTS_END] === "true";
}

/** "namespace/name", or the name alone for a cluster-scoped object: unique within a resource. */
export function keyText(key: { readonly name?: string | undefined; readonly namespace?: string | undefined }): string {
  const name = key.name ?? "";
  return key.namespace === undefined || key.namespace === "" ? name : `${key.namespace}/${name}`;
}

export interface RequestOptions {
  readonly signal?: AbortSignal;
  /** Timeout for all attempts together. Default: the client's. */
  readonly timeoutMs?: number;
}

export interface GetOptions extends RequestOptions {
  readonly resourceVersion?: string;
  readonly subresource?: string;
}

export interface SelectOptions {
  /** Default: all namespaces. */
  readonly namespace?: string | undefined;
  readonly labelSelector?: string | undefined;
  readonly fieldSelector?: string | undefined;
}

export interface ListOptions extends RequestOptions, SelectOptions {
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "Exact" | "NotOlderThan";
  readonly limit?: number;
  readonly continue?: string;
}

export interface WatchOptions extends SelectOptions {
  readonly signal?: AbortSignal;
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: "NotOlderThan";
  readonly sendInitialEvents?: boolean;
  readonly allowWatchBookmarks?: boolean;
  readonly timeoutSeconds?: number;
}

export interface WriteOptions extends RequestOptions {
  readonly dryRun?: "All";
  readonly fieldManager?: string;
  readonly fieldValidation?: "Ignore" | "Warn" | "Strict";
  readonly subresource?: string;
}

export interface ApplyOptions extends WriteOptions {
  readonly fieldManager: string;
  readonly force?: boolean;
}

export type PatchType = "json" | "merge" | "strategic";

export interface DeleteOptions extends RequestOptions {
  readonly dryRun?: "All";
  readonly gracePeriodSeconds?: number;
  readonly propagationPolicy?: "Orphan" | "Background" | "Foreground";
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

export type DeleteCollectionOptions = DeleteOptions & Omit<ListOptions, "continue">;
