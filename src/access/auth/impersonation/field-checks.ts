/**
 * Checks that the requester may impersonate every field of the wanted user: name, uid, each group and each extra value.
 */
import { aggregateText } from "../../../meta/aggregate-text.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import type { StatusError } from "../../../meta/status-error.ts";
import type { AccessAttributes } from "../authorize.ts";
import { ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, type User } from "../user.ts";
import { nodeOfUsername, NODES_GROUP, serviceAccountGroups, serviceAccountOf } from "./usernames.ts";

type UserField = "username" | "uid" | "groups" | "extra";

export interface FieldRules {
  readonly verb: string;
  /**
   * The API group for the checks of users, groups and service accounts. The checks of uids and extras always use
   * authentication.k8s.io.
   */
  readonly subjectsGroup: string;
  /**
   * True for constrained impersonation, which also recognizes node names, and rejects invalid values and
   * system:masters.
   */
  readonly isConstrained: boolean;
  /** True if the requester must be allowed to impersonate every node instead of the named node. */
  readonly isForAnyNode?: boolean;
  readonly order: readonly UserField[];
}

/**
 * Returns undefined if the access is allowed, otherwise the error. If `problem` is given, returns an error with this
 * reason.
 */
type PermissionCheck = (asked: AccessAttributes, problem?: string) => StatusError | undefined;

export function fieldsDenial(wanted: User, rules: FieldRules, check: PermissionCheck): StatusError | undefined {
  for (const field of rules.order) {
    const rejected = FIELD_CHECKS[field](wanted, rules, check);
    if (rejected !== undefined) return rejected;
  }
  return undefined;
}

type FieldCheck = (wanted: User, rules: FieldRules, check: PermissionCheck) => StatusError | undefined;

const FIELD_CHECKS: Readonly<Record<UserField, FieldCheck>> = {
  username: usernameDenial,
  uid: ({ uid }, { verb }, check) => (uid === "" ? undefined : check(subject(verb, AUTHENTICATION, "uids", uid))),
  groups: groupsDenial,
  extra: extraDenial,
};

const AUTHENTICATION = "authentication.k8s.io";

function subject(verb: string, group: string, resource: string, name: string): AccessAttributes {
  return {
    isResourceRequest: true,
    verb,
    group,
    version: "v1",
    namespace: "",
    resource,
    subresource: "",
    name,
    path: "",
  };
}

function usernameDenial({ name }: User, rules: FieldRules, check: PermissionCheck): StatusError | undefined {
  const { verb, subjectsGroup, isConstrained, isForAnyNode } = rules;
  const account = serviceAccountOf(name);
  if (account !== undefined)
    return check({ ...subject(verb, subjectsGroup, "serviceaccounts", account.name), namespace: account.namespace });
  const node = isConstrained ? nodeOfUsername(name) : undefined;
  if (node === undefined) return check(subject(verb, subjectsGroup, "users", name));
  return check(subject(verb, subjectsGroup, "nodes", isForAnyNode === true ? "*" : node));
}

/**
 * In constrained impersonation, if there are at least this many values, the permission for all values ("*") is checked
 * first.
 */
const MANY = 4;

function groupsDenial({ groups }: User, rules: FieldRules, check: PermissionCheck): StatusError | undefined {
  const { verb, subjectsGroup, isConstrained } = rules;
  const group = (name: string): AccessAttributes => subject(verb, subjectsGroup, "groups", name);
  if (isConstrained) {
    if (groups.includes("")) return check(group(""), "impersonating the empty string group is not allowed");
    if (groups.includes(SYSTEM_MASTERS))
      return check(group(SYSTEM_MASTERS), "impersonating the system:masters group is not allowed");
    if (groups.length >= MANY && check(group("*")) === undefined) return undefined;
  }
  for (const name of groups) {
    const rejected = check(group(name));
    if (rejected !== undefined) return rejected;
  }
  return undefined;
}

const SYSTEM_MASTERS = "system:masters";

function extraDenial(
  { extra }: User,
  { verb, isConstrained }: FieldRules,
  check: PermissionCheck,
): StatusError | undefined {
  const entries = Object.entries(extra);
  const none = subject(verb, AUTHENTICATION, "userextras", "");
  if (isConstrained && entries.length > 0) {
    const problem = extraProblem(entries);
    if (problem !== undefined) return check(none, problem);
    const isMany = entries.length >= MANY || entries.flatMap(([, values]) => values).length >= MANY;
    if (isMany && check({ ...none, subresource: "*", name: "*" }) === undefined) return undefined;
  }
  for (const [subresource, values] of entries) {
    for (const name of values) {
      const rejected = check({ ...none, subresource, name });
      if (rejected !== undefined) return rejected;
    }
  }
  return undefined;
}

function extraProblem(entries: readonly (readonly [string, readonly string[]])[]): string | undefined {
  for (const [key, values] of entries) {
    if (key === "") return "impersonating the empty string key in extra is not allowed";
    const errors = domainPrefixedPathErrors(key).map(
      ([value, why]) => `extra.key: Invalid value: ${goQuote(value)}: ${why}`,
    );
    if (errors.length > 0) return `impersonating an invalid key in extra is not allowed: ${aggregateText(errors)}`;
    if (key !== key.toLowerCase()) return `impersonating a non-lowercase key in extra is not allowed: ${goQuote(key)}`;
    if (values.includes("")) return "impersonating the empty string value in extra is not allowed";
  }
  return undefined;
}

const HTTP_PATH = /^[A-Za-z0-9/\-._~%!$&'()*+,;=:]+$/;

/** The errors of a key of extra, each with the part of the key that it concerns. */
function domainPrefixedPathErrors(key: string): (readonly [value: string, why: string])[] {
  const slash = key.indexOf("/");
  const [host, path] = [key.slice(0, slash), key.slice(slash + 1)];
  if (slash < 1 || path === "") return [[key, 'must be a domain-prefixed path (such as "acme.io/foo")']];
  const errors = dnsSubdomainErrors(host).map((why) => [host, why] as const);
  if (HTTP_PATH.test(path)) return errors;
  const why = String.raw`Invalid path (regex used for validation is '[A-Za-z0-9/\-._~%!$&'()*+,;=:]+')`;
  return [...errors, [path, why]];
}

/** The wanted user with the groups that its name implies. */
export function withImpliedGroups(wanted: User, isConstrained: boolean): User {
  const groups = [...impliedGroups(wanted, isConstrained)];
  if (wanted.name === ANONYMOUS.name) {
    if (!groups.includes(UNAUTHENTICATED)) groups.push(UNAUTHENTICATED);
  } else if (!groups.includes(UNAUTHENTICATED) && !groups.includes(AUTHENTICATED)) groups.push(AUTHENTICATED);
  return { ...wanted, groups };
}

function impliedGroups({ name, groups }: User, isConstrained: boolean): readonly string[] {
  if (groups.length > 0) return groups;
  const account = serviceAccountOf(name);
  if (account !== undefined) return serviceAccountGroups(account.namespace);
  return isConstrained && nodeOfUsername(name) !== undefined ? [NODES_GROUP] : groups;
}
