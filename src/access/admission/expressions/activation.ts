/** Computes the values of the CEL variables (object, oldObject, request, authorizer …) for one write. */
import type { Attributes, ServedVersion } from "../admission.ts";
import {
  type AuthorizerDecision,
  type CheckAuthorization,
  AuthorizerValue,
  requestResourceCheck,
} from "../../../objects/cel/library/authorization.ts";
import { EvalError, type Value } from "../../../objects/cel/values/value.ts";
import type { AccessAttributes, Authorizer } from "../../auth/authorize.ts";
import type { User } from "../../auth/user.ts";
import { objectAt, setMember, type JsonObject } from "../../../meta/json.ts";
import { jsonValue } from "./json-values.ts";

/**
 * The write, converted to the API version that a webhook or policy selects. Only used if that version is not the
 * requested one.
 */
export interface ConvertedWrite {
  readonly version: ServedVersion;
  readonly object: JsonObject | undefined;
  readonly existing: JsonObject | undefined;
}

export interface ActivationPorts {
  /** Undefined if expressions must not use the authorizer. */
  readonly authorizer?: Authorizer | undefined;
  /** The namespace of the written object; undefined for cluster-scoped objects and in match conditions. */
  readonly namespaceObject?: JsonObject | undefined;
  readonly params?: JsonObject | undefined;
  readonly versioned?: ConvertedWrite | undefined;
}

/** Keyed by variable name. */
export type Activation = ReadonlyMap<string, Value>;

/** Omits fields whose value is the empty string, as AdmissionReview requests do. */
function withoutEmpty(members: Readonly<Record<string, unknown>>): JsonObject {
  const result: JsonObject = {};
  for (const [name, value] of Object.entries(members)) if (value !== "") result[name] = value;
  return result;
}

function userInfo({ name, uid, groups, extra }: User): JsonObject {
  const info = withoutEmpty({ username: name, uid });
  if (groups.length > 0) info["groups"] = groups;
  const members: JsonObject = {};
  for (const [key, values] of Object.entries(extra)) setMember(members, key, values);
  if (Object.keys(members).length > 0) info["extra"] = members;
  return info;
}

function requestObject(attributes: Attributes, versioned: ConvertedWrite | undefined): JsonObject {
  const { groupVersion, resource, subresource, kind, dryRun } = attributes;
  const requestResource = { ...groupVersion, resource };
  const { version } = versioned ?? {};
  return {
    uid: "",
    kind: { ...(version?.kind ?? kind) },
    resource: version === undefined ? requestResource : { ...version.groupVersion, resource: version.resource },
    requestKind: { ...kind },
    requestResource,
    ...withoutEmpty({
      subResource: subresource,
      requestSubResource: subresource,
      name: attributes.name,
      namespace: attributes.namespace,
    }),
    operation: attributes.operation,
    userInfo: userInfo(attributes.user),
    object: null,
    oldObject: null,
    dryRun,
    options: attributes.options ?? null,
  };
}

const NAMESPACE_METADATA: readonly string[] = [
  "name",
  "generateName",
  "namespace",
  "uid",
  "resourceVersion",
  "generation",
  "creationTimestamp",
  "deletionTimestamp",
  "deletionGracePeriodSeconds",
  "labels",
  "annotations",
  "finalizers",
];

/** The namespace with only the fields that expressions may read. */
function restrictedNamespace(namespace: JsonObject): JsonObject {
  const all = objectAt(namespace, "metadata");
  const metadata: JsonObject = {};
  for (const name of NAMESPACE_METADATA) if (all[name] !== undefined) metadata[name] = all[name];
  return { metadata, spec: objectAt(namespace, "spec"), status: objectAt(namespace, "status") };
}

function serviceAccountUser(namespace: string, name: string): User {
  return {
    name: `system:serviceaccount:${namespace}:${name}`,
    uid: "",
    groups: ["system:serviceaccounts", `system:serviceaccounts:${namespace}`],
    extra: {},
  };
}

/** DIFFERS: field and label selectors are not passed to the authorizer. */
function authorizerCheck(authorizer: Authorizer, user: User): CheckAuthorization {
  return (question, as): AuthorizerDecision => {
    const who = as === undefined ? user : serviceAccountUser(as.namespace, as.name);
    const nothing = { group: "", version: "", namespace: "", resource: "", subresource: "", name: "", path: "" };
    const { verb } = question;
    const asked: AccessAttributes =
      question.kind === "path"
        ? { ...nothing, isResourceRequest: false, verb, path: question.path }
        : {
            isResourceRequest: true,
            verb,
            group: question.group,
            version: "*",
            namespace: question.namespace,
            resource: question.resource,
            subresource: question.subresource,
            name: question.name,
            path: "",
          };
    const { allowed, reason } = authorizer(who, asked);
    return { isAllowed: allowed, reason, error: "" };
  };
}

function authorizerValues(authorizer: Authorizer, attributes: Attributes): [string, Value][] {
  const { groupVersion, resource, subresource, namespace, name, user } = attributes;
  const value = new AuthorizerValue(authorizerCheck(authorizer, user));
  const { group } = groupVersion;
  return [
    ["authorizer", value],
    ["authorizer.requestResource", requestResourceCheck(value, { group, resource, subresource, namespace, name })],
  ];
}

/** Errors as the values of the authorizer variables. Only expressions that use such a variable fail. */
const NO_AUTHORIZER: readonly [string, Value][] = ["authorizer", "authorizer.requestResource"].map((name) => [
  name,
  new EvalError(`no such attribute(s): ${name}`),
]);

export function withoutAuthorizer(activation: Activation): Activation {
  return new Map([...activation, ...NO_AUTHORIZER]);
}

/**
 * For match conditions, request.resource is the requested resource even if the object was converted, and
 * namespaceObject is null.
 */
export function conditionActivation(
  attributes: Attributes,
  { versioned, authorizer, params }: Omit<ActivationPorts, "namespaceObject">,
): Activation {
  if (versioned === undefined) return activationOf(attributes, { authorizer, params });
  const { groupVersion, resource } = attributes;
  const version = { groupVersion, resource, kind: versioned.version.kind };
  return activationOf(attributes, { authorizer, params, versioned: { ...versioned, version } });
}

export function activationOf(attributes: Attributes, ports: ActivationPorts): Activation {
  const { versioned, namespaceObject, params, authorizer } = ports;
  const { object, existing } = versioned ?? attributes;
  return new Map<string, Value>([
    ["object", jsonValue(object)],
    ["oldObject", jsonValue(existing)],
    ["namespaceObject", namespaceObject === undefined ? null : jsonValue(restrictedNamespace(namespaceObject))],
    ["request", jsonValue(requestObject(attributes, versioned))],
    ["params", jsonValue(params)],
    ...(authorizer === undefined ? NO_AUTHORIZER : authorizerValues(authorizer, attributes)),
  ]);
}
