/** Parses RoleBindings and ClusterRoleBindings. */
import { goQuote } from "../../../meta/go-quote.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { User } from "../user.ts";

export interface Subject {
  readonly kind: string;
  readonly name: string;
  /** The namespace of a service account; unused for users and groups. */
  readonly namespace: string;
}

export interface RoleRef {
  readonly kind: string;
  readonly name: string;
}

export interface RbacBinding {
  readonly name: string;
  /** Empty for a ClusterRoleBinding. */
  readonly namespace: string;
  readonly roleRef: RoleRef;
  readonly subjects: readonly Subject[];
}

export function readBinding(object: JsonObject, isNamespaced: boolean): RbacBinding {
  const metadata = objectAt(object, "metadata");
  const namespace = isNamespaced ? stringAt(metadata, "namespace") : "";
  return {
    name: stringAt(metadata, "name"),
    namespace,
    roleRef: readRoleRef(object),
    subjects: objectsAt(object, "subjects").map((subject) => readSubject(subject, namespace)),
  };
}

export function readRoleRef(binding: JsonObject): RoleRef & { readonly apiGroup: string } {
  const ref = objectAt(binding, "roleRef");
  return { kind: stringAt(ref, "kind"), name: stringAt(ref, "name"), apiGroup: stringAt(ref, "apiGroup") };
}

/** A service account without a namespace gets the namespace of the binding. */
function readSubject(subject: JsonObject, bindingNamespace: string): Subject {
  const namespace = stringAt(subject, "namespace");
  return {
    kind: stringAt(subject, "kind"),
    name: stringAt(subject, "name"),
    namespace: namespace === "" ? bindingNamespace : namespace,
  };
}

/** The user name of the subject; undefined if it is a group or invalid. */
export function userOf({ kind, name, namespace }: Subject): string | undefined {
  if (kind === "User") return name;
  return kind === "ServiceAccount" && namespace !== "" ? `system:serviceaccount:${namespace}:${name}` : undefined;
}

export function groupOf({ kind, name }: Subject): string | undefined {
  return kind === "Group" ? name : undefined;
}

/**
 * Describes the binding for the reason of a decision, such as `RoleBinding "name/namespace" of Role "reader" to User
 * "jane"`. The subject is the first one that matches the user.
 */
export function describeBinding({ name, namespace, roleRef, subjects }: RbacBinding, user: User): string {
  const subject = subjects.find((each) => isAbout(each, user));
  const binding =
    namespace === "" ? `ClusterRoleBinding ${goQuote(name)}` : `RoleBinding ${goQuote(`${name}/${namespace}`)}`;
  const role = `${roleRef.kind} ${goQuote(roleRef.name)}`;
  return `${binding} of ${role} to ${subject === undefined ? "" : describeSubject(subject)}`;
}

function isAbout(subject: Subject, user: User): boolean {
  const group = groupOf(subject);
  return group === undefined ? userOf(subject) === user.name : user.groups.includes(group);
}

function describeSubject({ kind, name, namespace }: Subject): string {
  return `${kind} ${goQuote(kind === "ServiceAccount" ? `${name}/${namespace}` : name)}`;
}
