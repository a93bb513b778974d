/** Validation of the environment of a container. */
import { invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors, type NameRule } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import { nanosOf } from "../../../../meta/quantity.ts";
import {
  backstepErrors,
  dnsLabelFieldErrors,
  envVarNameErrors,
  qualifiedNameFieldErrors,
  relaxedEnvVarNameErrors,
} from "./formats.ts";
import type { SpecContext } from "./spec-context.ts";
import { configKeyErrors } from "../../core/name-checks.ts";

const ENV_FIELDS: readonly string[] = [
  "metadata.name",
  "metadata.namespace",
  "metadata.uid",
  "spec.nodeName",
  "spec.serviceAccountName",
  "status.hostIP",
  "status.hostIPs",
  "status.podIP",
  "status.podIPs",
];
/** All fields that the downward API supports. */
const KNOWN_FIELDS: ReadonlySet<string> = new Set([
  ...ENV_FIELDS,
  "metadata.annotations",
  "metadata.labels",
  "spec.restartPolicy",
  "spec.schedulerName",
  "status.phase",
]);
const RESOURCES: readonly string[] = [
  "limits.cpu",
  "limits.ephemeral-storage",
  "limits.memory",
  "requests.cpu",
  "requests.ephemeral-storage",
  "requests.memory",
];
const HUGE_PAGES: readonly string[] = ["limits.hugepages-", "requests.hugepages-"];
const DIVISORS: readonly string[] = "1 1k 1M 1G 1T 1P 1E 1Ki 1Mi 1Gi 1Ti 1Pi 1Ei".split(" ");
const MORE_THAN_ONE = "may not have more than one field specified at a time";

export function* envErrors(container: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  const rule = envNameRule(context);
  for (const [index, variable] of objectsAt(container, "env").entries()) {
    const at = `${field}.env[${index}]`;
    const name = stringAt(variable, "name");
    if (name === "") yield required(`${at}.name`);
    else yield* nameErrors(name, `${at}.name`, rule);
    yield* valueFromErrors(variable, `${at}.valueFrom`, context);
  }
  for (const [index, source] of objectsAt(container, "envFrom").entries())
    yield* envFromErrors(source, { field: `${field}.envFrom`, index, rule });
}

function envNameRule(context: SpecContext): NameRule {
  return context.gates.isOn("RelaxedEnvironmentVariableValidation") ? relaxedEnvVarNameErrors : envVarNameErrors;
}

function* valueFromErrors(variable: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  const source = variable["valueFrom"];
  if (!isJsonObject(source)) return;
  const { fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef } = source;
  if (isJsonObject(fieldRef)) yield* fieldRefErrors(fieldRef, `${field}.fieldRef`, ENV_FIELDS);
  if (isJsonObject(resourceFieldRef))
    yield* resourceFieldRefErrors(resourceFieldRef, `${field}.resourceFieldRef`, false);
  if (isJsonObject(configMapKeyRef)) yield* keyRefErrors(configMapKeyRef, `${field}.configMapKeyRef`);
  if (isJsonObject(secretKeyRef)) yield* keyRefErrors(secretKeyRef, `${field}.secretKeyRef`);
  if (isJsonObject(fileKeyRef)) yield* fileKeyRefErrors(fileKeyRef, `${field}.fileKeyRef`);
  const sources = [fieldRef, resourceFieldRef, configMapKeyRef, secretKeyRef, fileKeyRef].filter(isJsonObject).length;
  if (sources === 0) {
    const named = context.gates.isOn("EnvFiles")
      ? "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"
      : "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
    yield invalidValue(field, "", `must specify one of: ${named}`);
  } else if (stringAt(variable, "value") !== "")
    yield invalidValue(field, "", "may not be specified when `value` is not empty");
  else if (sources > 1) yield invalidValue(field, "", MORE_THAN_ONE);
}

function* envFromErrors(
  source: JsonObject,
  { field, index, rule }: { field: string; index: number; rule: NameRule },
): Generator<FieldError> {
  const prefix = stringAt(source, "prefix");
  if (prefix !== "") yield* nameErrors(prefix, `${field}[${index}].prefix`, rule);
  const { configMapRef, secretRef } = source;
  if (isJsonObject(configMapRef)) yield* refErrors(configMapRef, `${field}[${index}].configMapRef`);
  if (isJsonObject(secretRef)) yield* refErrors(secretRef, `${field}[${index}].secretRef`);
  const sources = [configMapRef, secretRef].filter(isJsonObject).length;
  if (sources === 0) yield invalidValue(field, "", "must specify one of: `configMapRef` or `secretRef`");
  if (sources > 1) yield invalidValue(field, "", MORE_THAN_ONE);
}

function* refErrors(ref: JsonObject, field: string): Generator<FieldError> {
  const name = stringAt(ref, "name");
  if (name === "") yield required(`${field}.name`);
  // As kubernetes: the name is checked as a prefix, so it may end with a hyphen.
  else yield* nameErrors(name, `${field}.name`, (text) => dnsSubdomainErrors(text.replace(/-$/, "a")));
}

function* keyRefErrors(ref: JsonObject, field: string): Generator<FieldError> {
  yield* nameErrors(stringAt(ref, "name"), `${field}.name`, dnsSubdomainErrors);
  const key = stringAt(ref, "key");
  if (key === "") yield required(`${field}.key`);
  else yield* nameErrors(key, `${field}.key`, configKeyErrors);
}

function* fileKeyRefErrors(ref: JsonObject, field: string): Generator<FieldError> {
  const { key, volumeName, path } = {
    key: stringAt(ref, "key"),
    volumeName: stringAt(ref, "volumeName"),
    path: stringAt(ref, "path"),
  };
  if (key === "") yield required(`${field}.key`);
  else yield* nameErrors(key, `${field}.key`, relaxedEnvVarNameErrors);
  if (volumeName === "") yield required(`${field}.volumeName`);
  else yield* dnsLabelFieldErrors(volumeName, `${field}.volumeName`);
  if (path === "") yield required(`${field}.path`);
  else yield* backstepErrors(path, `${field}.path`);
}

/** `supported`: in alphabetical order. */
export function* fieldRefErrors(ref: JsonObject, field: string, supported: readonly string[]): Generator<FieldError> {
  const version = stringAt(ref, "apiVersion");
  const path = stringAt(ref, "fieldPath");
  if (version === "") yield required(`${field}.apiVersion`);
  else if (path === "") yield required(`${field}.fieldPath`);
  else {
    const why = whyNotConvertible(version, path);
    if (why !== undefined) yield invalidValue(`${field}.fieldPath`, path, `error converting fieldPath: ${why}`);
    else yield* knownFieldErrors(path, field, supported);
  }
}

function whyNotConvertible(version: string, path: string): string | undefined {
  if (version !== "v1") return `unsupported pod version: ${version}`;
  const subscripted = splitSubscript(path);
  if (subscripted !== undefined)
    return isWithSubscript(subscripted.path) ? undefined : `field label does not support subscript: ${path}`;
  return KNOWN_FIELDS.has(path) || path === "spec.host" ? undefined : `field label not supported: ${path}`;
}

function* knownFieldErrors(path: string, field: string, supported: readonly string[]): Generator<FieldError> {
  const subscripted = splitSubscript(path);
  if (subscripted === undefined) {
    const current = path === "spec.host" ? "spec.nodeName" : path;
    if (!supported.includes(current)) yield unsupportedValue(`${field}.fieldPath`, current, supported);
  } else if (subscripted.path === "metadata.annotations")
    yield* qualifiedNameFieldErrors(subscripted.subscript.toLowerCase(), field);
  else yield* qualifiedNameFieldErrors(subscripted.subscript, field);
}

function isWithSubscript(path: string): boolean {
  return path === "metadata.annotations" || path === "metadata.labels";
}

function splitSubscript(path: string): { readonly path: string; readonly subscript: string } | undefined {
  const at = path.indexOf("['");
  if (!path.endsWith("']") || at <= 0 || at + 2 > path.length - 2) return undefined;
  return { path: path.slice(0, at), subscript: path.slice(at + 2, -2) };
}

/** In a volume the containerName is required, because a volume belongs to no container. */
export function* resourceFieldRefErrors(ref: JsonObject, field: string, isVolume: boolean): Generator<FieldError> {
  const resource = stringAt(ref, "resource");
  if (isVolume && stringAt(ref, "containerName") === "") yield required(`${field}.containerName`);
  else if (resource === "") yield required(`${field}.resource`);
  else if (!RESOURCES.includes(resource) && !HUGE_PAGES.some((prefix) => resource.startsWith(prefix)))
    yield unsupportedValue(`${field}.resource`, resource, RESOURCES);
  yield* divisorErrors(resource, ref["divisor"], field);
}

function* divisorErrors(resource: string, divisor: unknown, field: string): Generator<FieldError> {
  if (nanosOf(divisor) === 0n) return;
  const [supported, what] = divisorsOf(resource);
  if (what === undefined || supported.includes(String(divisor))) return;
  const listed = supported.length === 2 ? supported.join(" and ") : supported.join(", ");
  yield invalidValue(
    `${field}.divisor`,
    resource,
    `only divisor's values ${listed} are supported with the ${what} resource`,
  );
}

function divisorsOf(resource: string): readonly [supported: readonly string[], what: string | undefined] {
  if (HUGE_PAGES.some((prefix) => resource.startsWith(prefix))) return [DIVISORS, "hugepages"];
  switch (resource.slice(resource.indexOf(".") + 1)) {
    case "cpu":
      return [["1m", "1"], "cpu"];
    case "memory":
      return [DIVISORS, "memory"];
    case "ephemeral-storage":
      return [DIVISORS, "local ephemeral storage"];
    default:
      return [DIVISORS, undefined];
  }
}
