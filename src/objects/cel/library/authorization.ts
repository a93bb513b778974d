/** The CEL functions that check authorization: `authorizer.group('').resource('pods').check('create').allowed()`. */
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import { EvalError, NO_SUCH_OVERLOAD, OpaqueValue, type Value } from "../values/value.ts";
import { overload, type Overload } from "./function.ts";

/** The service account for which a check is made, if it is not made for the user of the request. */
interface ServiceAccountName {
  readonly namespace: string;
  readonly name: string;
}

interface PathAccess {
  readonly kind: "path";
  readonly path: string;
  readonly verb: string;
}

interface ResourceAccess {
  readonly kind: "resource";
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** Empty if the check has no field selector. */
  readonly fieldSelector: string;
  readonly labelSelector: string;
  readonly verb: string;
}

export interface AuthorizerDecision {
  readonly isAllowed: boolean;
  readonly reason: string;
  /** The message of an authorizer that failed; empty if there is no error. */
  readonly error: string;
}

/** `as`: the service account for which the check is made; undefined for the user of the request. */
export type CheckAuthorization = (
  question: PathAccess | ResourceAccess,
  as: ServiceAccountName | undefined,
) => AuthorizerDecision;

abstract class Receiver extends OpaqueValue {
  equals(): EvalError {
    return NO_SUCH_OVERLOAD;
  }

  toString(): string {
    return this.typeName;
  }
}

export class AuthorizerValue extends Receiver {
  readonly typeName = "kubernetes.authorization.Authorizer";
  readonly ask: CheckAuthorization;
  readonly as: ServiceAccountName | undefined;

  constructor(ask: CheckAuthorization, as?: ServiceAccountName) {
    super();
    this.ask = ask;
    this.as = as;
  }
}

class PathCheck extends Receiver {
  readonly typeName = "kubernetes.authorization.PathCheck";
  readonly authorizer: AuthorizerValue;
  readonly path: string;

  constructor(authorizer: AuthorizerValue, path: string) {
    super();
    this.authorizer = authorizer;
    this.path = path;
  }
}

class GroupCheck extends Receiver {
  readonly typeName = "kubernetes.authorization.GroupCheck";
  readonly authorizer: AuthorizerValue;
  readonly group: string;

  constructor(authorizer: AuthorizerValue, group: string) {
    super();
    this.authorizer = authorizer;
    this.group = group;
  }
}

type Resource = Omit<ResourceAccess, "kind" | "verb">;

class ResourceCheck extends Receiver {
  readonly typeName = "kubernetes.authorization.ResourceCheck";
  readonly authorizer: AuthorizerValue;
  readonly resource: Resource;

  constructor(authorizer: AuthorizerValue, resource: Resource) {
    super();
    this.authorizer = authorizer;
    this.resource = resource;
  }
}

class DecisionValue extends Receiver {
  readonly typeName = "kubernetes.authorization.Decision";
  readonly decision: AuthorizerDecision;

  constructor(response: AuthorizerDecision) {
    super();
    this.decision = response;
  }
}

const WHOLE = { subresource: "", namespace: "", name: "", fieldSelector: "", labelSelector: "" } as const;

/** The value of `authorizer.requestResource`. */
export function requestResourceCheck(
  authorizer: AuthorizerValue,
  resource: Omit<Resource, "fieldSelector" | "labelSelector">,
): Value {
  return new ResourceCheck(authorizer, { ...WHOLE, ...resource });
}

function pathCheck(authorizer: AuthorizerValue, text: string): Value {
  return text.trim() === "" ? new EvalError("path must not be empty") : new PathCheck(authorizer, text);
}

function groupResource({ authorizer, group }: GroupCheck, name: string): Value {
  if (name.trim() === "") return new EvalError("resource must not be empty");
  return new ResourceCheck(authorizer, { ...WHOLE, group, resource: name });
}

function serviceAccount(authorizer: AuthorizerValue, namespace: string, name: string): Value {
  if (dnsSubdomainErrors(name).length > 0) return new EvalError("Invalid service account name");
  if (dnsLabelErrors(namespace).length > 0) return new EvalError("Invalid service account namespace");
  return new AuthorizerValue(authorizer.ask, { namespace, name });
}

function narrowed(id: string, key: Exclude<keyof Resource, "group" | "resource">): Overload {
  return overload(id, `ResourceCheck.${key}(string): ResourceCheck`, (check: ResourceCheck, value: string) => {
    return new ResourceCheck(check.authorizer, { ...check.resource, [key]: value });
  });
}

function checkPath({ authorizer, path: asked }: PathCheck, verb: string): Value {
  return new DecisionValue(authorizer.ask({ kind: "path", path: asked, verb }, authorizer.as));
}

function checkResource({ authorizer, resource: asked }: ResourceCheck, verb: string): Value {
  return new DecisionValue(authorizer.ask({ kind: "resource", ...asked, verb }, authorizer.as));
}

export const AUTHORIZATION: readonly Overload[] = [
  overload("authorizer_path", "Authorizer.path(string): PathCheck", pathCheck),
  overload(
    "authorizer_group",
    "Authorizer.group(string): GroupCheck",
    (authorizer: AuthorizerValue, group: string) => new GroupCheck(authorizer, group),
  ),
  overload("authorizer_serviceaccount", "Authorizer.serviceAccount(string, string): Authorizer", serviceAccount),
  overload("groupcheck_resource", "GroupCheck.resource(string): ResourceCheck", groupResource),
  narrowed("resourcecheck_subresource", "subresource"),
  narrowed("resourcecheck_namespace", "namespace"),
  narrowed("resourcecheck_name", "name"),
  overload("pathcheck_check", "PathCheck.check(string): Decision", checkPath),
  overload("resourcecheck_check", "ResourceCheck.check(string): Decision", checkResource),
  overload("decision_errored", "Decision.errored(): bool", ({ decision }: DecisionValue) => decision.error !== ""),
  overload("decision_error", "Decision.error(): string", ({ decision }: DecisionValue) => decision.error),
  overload("decision_allowed", "Decision.allowed(): bool", ({ decision }: DecisionValue) => decision.isAllowed),
  overload("decision_reason", "Decision.reason(): string", ({ decision }: DecisionValue) => decision.reason),
];

export const AUTHORIZATION_SELECTORS: readonly Overload[] = [
  narrowed("authorizer_fieldselector", "fieldSelector"),
  narrowed("authorizer_labelselector", "labelSelector"),
];
