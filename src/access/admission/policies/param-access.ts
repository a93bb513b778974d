/**
 * Checks that the author of a policy or binding may read its parameter objects, because the messages of the policy
 * could disclose them.
 */
import type { AccessAttributes, Authorizer } from "../../auth/authorize.ts";
import type { User } from "../../auth/user.ts";
import { forbiddenField } from "../../../meta/field-errors.ts";
import { isJsonObject, jsonEquals, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { ObjectReader } from "../../../meta/object-table.ts";
import { invalid } from "../../../meta/status-error.ts";
import type { AdmissionPlugin, Attributes } from "../admission.ts";
import { paramKindOf, type ParamKind, type ParamKinds } from "./params.ts";

interface ParamAccessPorts {
  readonly authorizer: Authorizer;
  readonly paramKinds: ParamKinds;
  /** Reads policies. */
  readonly objects: Pick<ObjectReader, "get" | "newest">;
}

const GROUP = "admissionregistration.k8s.io";
const POLICIES: ReadonlySet<string> = new Set(["validatingadmissionpolicies", "mutatingadmissionpolicies"]);
/** The resource of the policies, by the resource of their bindings. */
const BOUND: ReadonlyMap<string, string> = new Map([
  ["validatingadmissionpolicybindings", "validatingadmissionpolicies"],
  ["mutatingadmissionpolicybindings", "mutatingadmissionpolicies"],
]);
/** Members of this group are not checked. */
const MASTERS = "system:masters";

/**
 * In kubernetes, this check is part of the validation of policies and bindings, so flags cannot disable this plugin.
 */
export function createParamAccess(ports: ParamAccessPorts): AdmissionPlugin {
  return {
    name: "ParamAccess",
    handles: (operation, { groupVersion, resource, subresource }) =>
      (operation === "CREATE" || operation === "UPDATE") &&
      groupVersion.group === GROUP &&
      subresource === "" &&
      (POLICIES.has(resource) || BOUND.has(resource)),
    async validate(attributes) {
      if (attributes.object === undefined || attributes.user.groups.includes(MASTERS)) return;
      const isPolicy = POLICIES.has(attributes.resource);
      const why = isPolicy ? policyDenial(ports, attributes) : await bindingDenial(ports, attributes);
      if (why === undefined) return;
      const error = forbiddenField(isPolicy ? "spec.paramKind" : "spec.paramRef", why);
      throw invalid({ group: GROUP, kind: attributes.kind.kind }, attributes.name, [error]);
    },
  };
}

function isAllowed(
  { authorizer }: ParamAccessPorts,
  user: User,
  asked: Omit<AccessAttributes, "isResourceRequest" | "subresource" | "path">,
): boolean {
  return authorizer(user, { ...asked, isResourceRequest: true, subresource: "", path: "" }).allowed;
}

/** If the kind or its resource is unknown, the permission for all resources is required. */
function resourceAttributes(
  { paramKinds }: ParamAccessPorts,
  kind: ParamKind | undefined,
): Pick<AccessAttributes, "group" | "version" | "resource"> {
  if (kind === undefined) return { group: "*", version: "*", resource: "*" };
  return { group: kind.group, version: kind.version, resource: paramKinds(kind)?.resource ?? "*" };
}

function paramKindAt(policy: JsonObject | undefined): JsonObject | undefined {
  const paramKind = objectAt(policy ?? {}, "spec")["paramKind"];
  return isJsonObject(paramKind) ? paramKind : undefined;
}

function policyDenial(ports: ParamAccessPorts, { object, existing, user }: Attributes): string | undefined {
  const paramKind = paramKindAt(object);
  if (object === undefined || paramKind === undefined || jsonEquals(paramKind, paramKindAt(existing))) return undefined;
  const resource = resourceAttributes(ports, paramKindOf(object));
  if (isAllowed(ports, user, { ...resource, verb: "get", namespace: "*", name: "*" })) return undefined;
  const what = `(kind=${stringAt(paramKind, "kind")}, apiVersion=${stringAt(paramKind, "apiVersion")})`;
  return `user ${goUser(user)} must have "get" permission on all objects of the referenced paramKind ${what}`;
}

async function bindingDenial(
  ports: ParamAccessPorts,
  { object = {}, resource, user }: Attributes,
): Promise<string | undefined> {
  const spec = objectAt(object, "spec");
  const reference = spec["paramRef"];
  if (!isJsonObject(reference)) return undefined;
  const policies = { group: GROUP, resource: BOUND.get(resource) ?? "" };
  const policyName = stringAt(spec, "policyName");
  const policy = ports.objects.get(policies, "", policyName) ?? (await ports.objects.newest(policies, "", policyName));
  const kind = policy === undefined ? undefined : paramKindOf(policy);
  const asked = resourceAttributes(ports, kind);
  const name = stringAt(reference, "name");
  const verb = name === "" ? "list" : "get";
  if (isAllowed(ports, user, { ...asked, verb, namespace: stringAt(reference, "namespace"), name })) return undefined;
  const lacking = `user ${goUser(user)} does not have "${verb}" permission`;
  const forAll = `to determine minimum required permissions and ${lacking} for all groups, versions and resources`;
  if (policy === undefined) return `unable to get policy ${policyName} ${forAll}`;
  if (kind !== undefined && asked.resource === "*")
    return `unable to resolve paramKind ${goParamKind(paramKindAt(policy) ?? {})} ${forAll}`;
  // As kubernetes: the message for mutating bindings swaps the user and the verb.
  if (resource === "mutatingadmissionpolicybindings")
    return `user ${verb} does not have "${goUser(user)}" permission on the object referenced by paramRef`;
  return `${lacking} on the object referenced by paramRef`;
}

function goParamKind(paramKind: JsonObject): string {
  return `&{${stringAt(paramKind, "apiVersion")} ${stringAt(paramKind, "kind")}}`;
}

/** Formats the user as Go prints it with %v. */
function goUser({ name, uid, groups, extra }: User): string {
  const keys = Object.keys(extra).sort();
  const shown = keys.map((key) => `${key}:[${(extra[key] ?? []).join(" ")}]`).join(" ");
  return `&{${name} ${uid} [${groups.join(" ")}] map[${shown}]}`;
}
