/** The actions of requests for resources: what is the same for all resources, built-in or custom. */
import type { Method, OpenApiResponse } from "./operation.ts";
import { pascal } from "./operation-names.ts";

/** Every action except connect, which has operations of several methods. */
export type ObjectAction =
  | "list"
  | "post"
  | "deletecollection"
  | "watchlist"
  | "get"
  | "put"
  | "patch"
  | "delete"
  | "watch";

interface ActionRule {
  readonly method: Method;
  /** The beginning of operation IDs. */
  readonly prefix: string;
  readonly codes: readonly OpenApiResponse["code"][];
}

export const ACTIONS: Readonly<Record<ObjectAction, ActionRule>> = {
  list: { method: "get", prefix: "list", codes: [200] },
  post: { method: "post", prefix: "create", codes: [200, 201, 202] },
  deletecollection: { method: "delete", prefix: "delete", codes: [200] },
  watchlist: { method: "get", prefix: "watch", codes: [200] },
  get: { method: "get", prefix: "read", codes: [200] },
  put: { method: "put", prefix: "replace", codes: [200, 201] },
  patch: { method: "patch", prefix: "patch", codes: [200, 201] },
  delete: { method: "delete", prefix: "delete", codes: [200, 202] },
  watch: { method: "get", prefix: "watch", codes: [200] },
};

interface OperationName {
  readonly group: string;
  readonly version: string;
  /** The kind of the resource, also for its subresources. */
  readonly kind: string;
  readonly isNamespaced: boolean;
  readonly subresource: string;
  readonly isAcrossNamespaces: boolean;
}

export function operationId(action: ObjectAction, name: OperationName): string {
  const { isAcrossNamespaces } = name;
  const collection = action === "deletecollection" ? "Collection" : "";
  const list = action === "watchlist" ? "List" : "";
  const own = `${collection}${subjectOf(name)}${list}${isAcrossNamespaces ? "ForAllNamespaces" : ""}`;
  return `${ACTIONS[action].prefix}${pascal(name.group)}${pascal(name.version)}${own}`;
}

/** `suffix` distinguishes the two paths of a proxy. */
export function connectOperationId(method: Method, name: OperationName, suffix: string): string {
  return `connect${pascal(name.group)}${pascal(name.version)}${pascal(method)}${subjectOf(name)}${suffix}`;
}

function subjectOf({ kind, isNamespaced, subresource, isAcrossNamespaces }: OperationName): string {
  const scope = isNamespaced && !isAcrossNamespaces ? "Namespaced" : "";
  return `${scope}${kind}${subresource === "" ? "" : pascal(subresource)}`;
}
