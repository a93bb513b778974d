/** Parses the rules and the flow distinguisher of a FlowSchema into sets for fast matching. */
import type { User } from "../auth/user.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { CATCH_ALL, EXEMPT } from "./priority-level.ts";

export interface FlowSchema {
  readonly name: string;
  readonly uid: string;
  readonly level: string;
  readonly precedence: number;
  readonly distinguisher: "ByUser" | "ByNamespace" | undefined;
  readonly rules: readonly FlowRule[];
}

export interface FlowRule {
  readonly subjects: Subjects;
  readonly resources: readonly ResourceRule[];
  readonly paths: readonly PathRule[];
}

interface Subjects {
  readonly matchesEveryUser: boolean;
  readonly users: ReadonlySet<string>;
  readonly groups: ReadonlySet<string>;
  /** Namespaces whose service accounts all match. */
  readonly namespaces: ReadonlySet<string>;
}

/** Undefined if all names match. */
type Names = ReadonlySet<string> | undefined;

interface ResourceRule {
  readonly verbs: Names;
  readonly groups: Names;
  /** Resources, including subresources such as `pods/status`. */
  readonly resources: Names;
  readonly namespaces: Names;
  readonly isClusterScope: boolean;
}

interface PathRule {
  readonly verbs: Names;
  readonly paths: Names;
  /** Path prefixes: a URL of the rule also matches the paths below it. */
  readonly prefixes: readonly string[];
}

const DEFAULT_PRECEDENCE = 1_000;

export function readFlowSchema(object: JsonObject): FlowSchema {
  const metadata = objectAt(object, "metadata");
  const spec = objectAt(object, "spec");
  const { matchingPrecedence } = spec;
  const method = objectAt(spec, "distinguisherMethod")["type"];
  return {
    name: stringAt(metadata, "name"),
    uid: stringAt(metadata, "uid"),
    level: stringAt(objectAt(spec, "priorityLevelConfiguration"), "name"),
    precedence: typeof matchingPrecedence === "number" ? matchingPrecedence : DEFAULT_PRECEDENCE,
    distinguisher: method === "ByUser" || method === "ByNamespace" ? method : undefined,
    rules: objectsAt(spec, "rules").map(readRule),
  };
}

function readRule(rule: JsonObject): FlowRule {
  return {
    subjects: readSubjects(objectsAt(rule, "subjects")),
    resources: objectsAt(rule, "resourceRules").map((resource) => ({
      verbs: namesAt(resource, "verbs"),
      groups: namesAt(resource, "apiGroups"),
      resources: namesAt(resource, "resources"),
      namespaces: namesAt(resource, "namespaces"),
      isClusterScope: resource["clusterScope"] === true,
    })),
    paths: objectsAt(rule, "nonResourceRules").map((path) => ({
      verbs: namesAt(path, "verbs"),
      paths: namesAt(path, "nonResourceURLs"),
      prefixes: stringsAt(path, "nonResourceURLs").map(prefixOf),
    })),
  };
}

const ACCOUNT = "system:serviceaccount:";

function readSubjects(subjects: readonly JsonObject[]): Subjects {
  const [users, groups, namespaces] = [new Set<string>(), new Set<string>(), new Set<string>()];
  for (const subject of subjects) {
    if (subject["kind"] === "User") users.add(stringAt(objectAt(subject, "user"), "name"));
    if (subject["kind"] === "Group") groups.add(stringAt(objectAt(subject, "group"), "name"));
    if (subject["kind"] !== "ServiceAccount") continue;
    const account = objectAt(subject, "serviceAccount");
    const [namespace, name] = [stringAt(account, "namespace"), stringAt(account, "name")];
    if (name === "*") namespaces.add(namespace);
    else users.add(`${ACCOUNT}${namespace}:${name}`);
  }
  return { matchesEveryUser: users.has("*") || groups.has("*"), users, groups, namespaces };
}

function prefixOf(path: string): string {
  const prefix = path.endsWith("*") ? path.slice(0, -1) : path;
  return prefix.endsWith("/") ? prefix : `${prefix}/`;
}

function namesAt(rule: JsonObject, key: string): Names {
  const names = stringsAt(rule, key);
  return names.length === 1 && names[0] === "*" ? undefined : new Set(names);
}

/** Sorts FlowSchemas in matching order. */
export function compareSchemas(left: FlowSchema, right: FlowSchema): number {
  if (left.precedence !== right.precedence) return left.precedence - right.precedence;
  return left.name < right.name ? -1 : left.name > right.name ? 1 : 0;
}

export function isSubject({ matchesEveryUser, users, groups, namespaces }: Subjects, user: User): boolean {
  if (matchesEveryUser || users.has(user.name)) return true;
  for (const group of user.groups) if (groups.has(group)) return true;
  if (namespaces.size === 0 || !user.name.startsWith(ACCOUNT)) return false;
  const end = user.name.indexOf(":", ACCOUNT.length);
  return end >= 0 && namespaces.has(user.name.slice(ACCOUNT.length, end));
}

export function isAbout(rule: FlowRule, info: RequestInfo): boolean {
  if (info.isResourceRequest) {
    for (const resource of rule.resources) if (matchesResource(resource, info)) return true;
    return false;
  }
  for (const path of rule.paths) if (matchesPath(path, info)) return true;
  return false;
}

function matchesResource(rule: ResourceRule, info: RequestInfo): boolean {
  if (!isAmong(rule.verbs, info.verb) || !isAmong(rule.groups, info.group)) return false;
  if (rule.resources !== undefined) {
    const name = info.subresource === "" ? info.resource : `${info.resource}/${info.subresource}`;
    if (!rule.resources.has(name)) return false;
  }
  return info.namespace === "" ? rule.isClusterScope : isAmong(rule.namespaces, info.namespace);
}

function matchesPath(rule: PathRule, { verb, path }: RequestInfo): boolean {
  if (!isAmong(rule.verbs, verb)) return false;
  return isAmong(rule.paths, path) || rule.prefixes.some((prefix) => path.startsWith(prefix));
}

function isAmong(names: Names, name: string): boolean {
  return names === undefined || names.has(name);
}

/** True if the rule matches every request, so later rules need not be checked. */
export function isAboutEverything({ resources, paths }: FlowRule): boolean {
  const hasAll = resources.some(
    (rule) => isEvery(rule.verbs, rule.groups, rule.resources, rule.namespaces) && rule.isClusterScope,
  );
  return hasAll && paths.some((rule) => isEvery(rule.verbs, rule.paths));
}

function isEvery(...names: readonly Names[]): boolean {
  return names.every((name) => name === undefined);
}

/** The FlowSchemas that exist even if the store does not contain them, so that every request matches one. */
export const MANDATORY_EXEMPT: FlowSchema = mandatory(EXEMPT, 1, ["system:masters"]);
export const MANDATORY_CATCH_ALL: FlowSchema = {
  ...mandatory(CATCH_ALL, 10_000, ["system:unauthenticated", "system:authenticated"]),
  distinguisher: "ByUser",
};

function mandatory(name: string, precedence: number, groups: readonly string[]): FlowSchema {
  const subjects = groups.map((group) => ({ kind: "Group", group: { name: group } }));
  const all = ["*"];
  const rule = {
    subjects,
    resourceRules: [{ verbs: all, apiGroups: all, resources: all, namespaces: all, clusterScope: true }],
    nonResourceRules: [{ verbs: all, nonResourceURLs: all }],
  };
  const spec = { matchingPrecedence: precedence, priorityLevelConfiguration: { name }, rules: [rule] };
  return readFlowSchema({ metadata: { name }, spec });
}
