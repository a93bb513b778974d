/** Validating policies for tests, and pods that they validate. */
import { gatesOf } from "../../../../../src/objects/catalog/release-gates.ts";
import type { Authorizer } from "../../../../../src/access/auth/authorize.ts";
import { celEnvironment } from "../../../../../src/objects/cel/environment.ts";
import { objectAt, stringAt, type JsonObject } from "../../../../../src/meta/json.ts";
import { StatusError } from "../../../../../src/meta/status-error.ts";
import type { AdmissionPlugin, Attributes } from "../../../../../src/access/admission/admission.ts";
import { attributes, pod, readerOf } from "../plugins/attributes.ts";
import {
  compileValidatingPolicy,
  type CompiledPolicy,
} from "../../../../../src/access/admission/policies/compiled-policy.ts";
import type { ParamKinds } from "../../../../../src/access/admission/policies/params.ts";
import { createPolicyTables, type PolicyTables } from "../../../../../src/access/admission/policies/policy-table.ts";
import { createValidatingAdmissionPolicy } from "../../../../../src/access/admission/policies/validating-policy.ts";

const MATCH_POD = {
  matchPolicy: "Equivalent",
  resourceRules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["pods"], scope: "*" }],
};

/** The metadata of an object; its resource version is derived from its spec. */
function metadata(name: string, spec: JsonObject): JsonObject {
  return { name, uid: name, resourceVersion: JSON.stringify(spec) };
}

export function policy(name: string, spec: JsonObject): JsonObject {
  return {
    metadata: metadata(name, spec),
    spec: { failurePolicy: "Fail", matchConstraints: MATCH_POD, ...spec },
  };
}

export function binding(name: string, policyName: string, spec: JsonObject = {}): JsonObject {
  return { metadata: metadata(name, spec), spec: { policyName, validationActions: ["Deny"], ...spec } };
}

const NAMESPACE = {
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name: "ns", labels: { team: "red" }, managedFields: [] },
  spec: { finalizers: ["kubernetes"] },
  status: { phase: "Active" },
};

function configMap(namespace: string, name: string, max: string): JsonObject {
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, namespace }, data: { max } };
}

const CONFIG_MAPS = [configMap("ns", "one", "1"), configMap("ns", "two", "2"), configMap("other", "three", "3")];

/** The parameter kinds that policies may refer to in tests: ConfigMap and Namespace. */
export const testParamKinds: ParamKinds = ({ group, kind }) => {
  const all: readonly JsonObject[] = kind === "ConfigMap" ? CONFIG_MAPS : [NAMESPACE];
  if (group !== "" || !["ConfigMap", "Namespace"].includes(kind)) return undefined;
  const inNamespace = (namespace: string): readonly JsonObject[] =>
    all.filter((object) => stringAt(objectAt(object, "metadata"), "namespace") === namespace);
  return {
    resource: `${kind.toLowerCase()}s`,
    isNamespaced: kind === "ConfigMap",
    get: (namespace, name) =>
      Promise.resolve(inNamespace(namespace).find((object) => stringAt(objectAt(object, "metadata"), "name") === name)),
    list: (namespace) => Promise.resolve(inNamespace(namespace)),
  };
};

export interface PolicyServer {
  readonly tables: PolicyTables<CompiledPolicy>;
  readonly plugin: AdmissionPlugin;
}

const onlyGet: Authorizer = (_user, { verb }) => ({ allowed: verb === "get", reason: "" });

export function policyServer(policies: readonly JsonObject[], bindings: readonly JsonObject[]): PolicyServer {
  const environment = celEnvironment(gatesOf("1.36"));
  const tables = createPolicyTables((object) => compileValidatingPolicy(object, environment));
  tables.policies.reset(policies);
  tables.bindings.reset(bindings);
  const plugin = createValidatingAdmissionPolicy({
    tables,
    objects: readerOf({ namespaces: [NAMESPACE] }),
    paramKinds: testParamKinds,
    authorizer: onlyGet,
  });
  return { tables, plugin };
}

export interface ValidationResult {
  readonly error: StatusError | undefined;
  readonly warnings: readonly string[];
  readonly annotations: readonly (readonly [string, string])[];
}

/** Validates the creation of a pod, or the request that the given attributes describe. */
export async function validateWith(
  { plugin }: PolicyServer,
  given: Partial<Attributes> = {},
): Promise<ValidationResult> {
  const warnings: string[] = [];
  const annotations: [string, string][] = [];
  const object = pod({ nodeName: "n" }, { labels: { app: "web" } });
  const about: Attributes = {
    ...attributes({ object }),
    warn: (text) => void warnings.push(text),
    annotate: (key, value) => void annotations.push([key, value]),
    ...given,
  };
  let error: StatusError | undefined;
  try {
    await plugin.validate?.(about);
  } catch (thrown) {
    if (!(thrown instanceof StatusError)) throw thrown;
    error = thrown;
  }
  return { error, warnings, annotations };
}

/** Validates the pod with one policy and one binding. */
export async function validateWithOne(
  spec: JsonObject,
  bound: JsonObject = {},
  given: Partial<Attributes> = {},
): Promise<ValidationResult> {
  return validateWith(policyServer([policy("x", spec)], [binding("y", "x", bound)]), given);
}
