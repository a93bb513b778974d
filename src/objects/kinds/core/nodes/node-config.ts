/**
 * Validation of the kubelet configuration source of a node. Kubernetes has removed the feature, but still validates the
 * fields.
 */
import { forbiddenField, invalidValue, required } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors, type NameRule } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { configKeyErrors } from "../name-checks.ts";

export function* configStatusErrors(config: JsonObject, field: string): Generator<FieldError> {
  for (const key of ["assigned", "active", "lastKnownGood"])
    if (config[key] !== undefined) yield* configSourceErrors(objectAt(config, key), `${field}.${key}`, "status");
}

/**
 * In the spec a source names only a ConfigMap; in the status it also has the UID and resource version of the ConfigMap.
 */
export function* configSourceErrors(
  source: JsonObject,
  field: string,
  where: "spec" | "status",
): Generator<FieldError> {
  const { configMap } = source;
  if (!isJsonObject(configMap)) {
    yield invalidValue(field, { ConfigMap: null }, "exactly one reference subfield must be non-nil");
    return;
  }
  for (const key of ["uid", "resourceVersion"]) {
    const isSet = stringAt(configMap, key) !== "";
    if (where === "spec" && isSet) yield forbiddenField(`${field}.configMap.${key}`, `${key} must not be set in spec`);
    if (where === "status" && !isSet) yield required(`${field}.configMap.${key}`);
  }
  yield* nameErrors(configMap, "namespace", { field, rule: dnsLabelErrors });
  yield* nameErrors(configMap, "name", { field, rule: dnsSubdomainErrors });
  yield* nameErrors(configMap, "kubeletConfigKey", { field, rule: configKeyErrors });
}

function* nameErrors(
  configMap: JsonObject,
  key: string,
  { field, rule }: { field: string; rule: NameRule },
): Generator<FieldError> {
  const name = stringAt(configMap, key);
  if (name === "") yield required(`${field}.configMap.${key}`);
  else for (const sentence of rule(name)) yield invalidValue(`${field}.configMap.${key}`, name, sentence);
}
