/** Short notations for roles, bindings and access attributes in tests. */
import type { JsonObject } from "../../../../../src/meta/json.ts";
import type { AccessAttributes } from "../../../../../src/access/auth/authorize.ts";
import type { User } from "../../../../../src/access/auth/user.ts";

export function user(name: string, ...groups: string[]): User {
  return { name, uid: "", groups, extra: {} };
}

export function clusterRole(name: string, ...rules: JsonObject[]): JsonObject {
  return { metadata: { name }, rules };
}

export function role(namespace: string, name: string, ...rules: JsonObject[]): JsonObject {
  return { metadata: { namespace, name }, rules };
}

/**
 * A binding. `place` is its name, or "namespace/name"; `roleRef` and subjects are "Kind/name"; service accounts may be
 * "ServiceAccount/namespace/name".
 */
export function binding(place: string, roleRef: string, ...subjects: string[]): JsonObject {
  const [name, namespace] = place.split("/").toReversed();
  const [kind, referred] = roleRef.split("/");
  return {
    metadata: { name, ...(namespace === undefined ? {} : { namespace }) },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind, name: referred },
    subjects: subjects.map(subjectOf),
  };
}

function subjectOf(text: string): JsonObject {
  const [kind, ...rest] = text.split("/");
  const [name, namespace] = rest.toReversed();
  return { kind, name, ...(namespace === undefined ? {} : { namespace }) };
}

/** A rule from "verbs groups resources [names]", each a comma-separated list; "core" stands for the core group. */
export function rule(text: string): JsonObject {
  const [verbs = [], groups = [], resources = [], resourceNames] = text.split(" ").map((list) => list.split(","));
  const apiGroups = groups.map((group) => (group === "core" ? "" : group));
  return { verbs, apiGroups, resources, ...(resourceNames === undefined ? {} : { resourceNames }) };
}

export function paths(verbs: string, ...nonResourceURLs: string[]): JsonObject {
  return { verbs: verbs.split(","), nonResourceURLs };
}

/** Access attributes from "verb resource[/subresource][.group] [name]" in a namespace, or from "verb /path". */
export function accessOf(text: string, namespace = ""): AccessAttributes {
  const [verb = "", what = "", name = ""] = text.split(" ");
  const nothing = { group: "", version: "", namespace: "", resource: "", subresource: "", name: "", path: "" };
  if (what.startsWith("/")) return { ...nothing, isResourceRequest: false, verb, path: what };
  const [, resource = "", subresource = "", group = ""] = /^([^/.]*)(?:\/([^.]*))?(?:\.(.*))?$/.exec(what) ?? [];
  return { ...nothing, isResourceRequest: true, verb, group, namespace, resource, subresource, name };
}
