/** Defaults and validation of APIServices, which register where the versions of API groups are served. */
import { invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors, pathSegmentErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { ownPointer, ownStruct, setMissing } from "../defaults.ts";

const GROUP_PRIORITY_MAX = 20_000;
const VERSION_PRIORITY_MAX = 1000;
/** Sorted in the order in which kubernetes lists the supported values. */
const CONDITION_STATUSES: readonly string[] = ["True", "False", "Unknown"];

export const API_SERVICE: Kind = {
  setDefaults(apiService) {
    const spec = ownStruct(apiService, "spec");
    setMissing(spec, { groupPriorityMinimum: 0, versionPriority: 0 });
    const service = ownPointer(spec, "service");
    if (service !== undefined) setMissing(service, { port: 443 });
    ownStruct(apiService, "status");
  },
  prepareCreate(apiService, { time }) {
    const isLocal = objectAt(apiService, "spec")["service"] === undefined;
    apiService["status"] = isLocal ? { conditions: [localCondition(time)] } : {};
  },
  *createErrors(apiService) {
    yield* apiServiceNameErrors(apiService);
    yield* specErrors(objectAt(apiService, "spec"));
  },
  *updateErrors(apiService) {
    yield* apiServiceNameErrors(apiService);
    yield* specErrors(objectAt(apiService, "spec"));
  },
  *statusUpdateErrors(apiService) {
    for (const [index, condition] of objectsAt(objectAt(apiService, "status"), "conditions").entries()) {
      const status = stringAt(condition, "status");
      if (!CONDITION_STATUSES.includes(status))
        yield unsupportedValue(`status.conditions[${index}].status`, status, CONDITION_STATUSES);
    }
  },
  keepsMetadataInStatus: true,
};

function localCondition(time: string): JsonObject {
  return {
    type: "Available",
    status: "True",
    lastTransitionTime: time,
    reason: "Local",
    message: "Local APIServices are always available",
  };
}

/** The name must be `<version>.<group>`. */
function* apiServiceNameErrors(apiService: JsonObject): Generator<FieldError> {
  const spec = objectAt(apiService, "spec");
  const name = stringAt(objectAt(apiService, "metadata"), "name");
  const expected = `${stringAt(spec, "version")}.${stringAt(spec, "group")}`;
  // Skip a missing or malformed name, which the validation of metadata has already reported.
  const isName = name !== "" && pathSegmentErrors(name).length === 0;
  if (isName && name !== expected)
    yield invalidValue("metadata.name", name, `must be \`spec.version+"."+spec.group\`: ${JSON.stringify(expected)}`);
}

function* specErrors(spec: JsonObject): Generator<FieldError> {
  const group = stringAt(spec, "group");
  const version = stringAt(spec, "version");
  if (group === "" && version !== "v1")
    yield required("spec.group", "only v1 may have an empty group and it better be legacy kube");
  if (group !== "") yield* nameErrors(group, "spec.group", dnsSubdomainErrors);
  yield* nameErrors(version, "spec.version", dns1035LabelErrors);
  const groupPriority = numberAt(spec, "groupPriorityMinimum") ?? 0;
  if (groupPriority <= 0 || groupPriority > GROUP_PRIORITY_MAX)
    yield invalidValue("spec.groupPriorityMinimum", groupPriority, "must be positive and less than 20000");
  const versionPriority = numberAt(spec, "versionPriority") ?? 0;
  if (versionPriority <= 0 || versionPriority > VERSION_PRIORITY_MAX)
    yield invalidValue("spec.versionPriority", versionPriority, "must be positive and less than 1000");
  if (spec["service"] === undefined) yield* localErrors(spec);
  else yield* serviceErrors(spec);
}

function* localErrors(spec: JsonObject): Generator<FieldError> {
  const bytes = Buffer.byteLength(stringAt(spec, "caBundle"), "base64");
  if (bytes > 0) yield invalidValue("spec.caBundle", `${bytes} bytes`, "local APIServices may not have a caBundle");
  if (spec["insecureSkipTLSVerify"] === true)
    yield invalidValue("spec.insecureSkipTLSVerify", true, "local APIServices may not have insecureSkipTLSVerify");
}

function* serviceErrors(spec: JsonObject): Generator<FieldError> {
  const service = objectAt(spec, "service");
  for (const key of ["namespace", "name"]) if (stringAt(service, key) === "") yield required(`spec.service.${key}`);
  const port = numberAt(service, "port") ?? 0;
  if (port < 1 || port > 65_535)
    yield invalidValue("spec.service.port", port, "port is not valid: must be between 1 and 65535, inclusive");
  if (spec["insecureSkipTLSVerify"] === true && stringAt(spec, "caBundle") !== "")
    yield invalidValue("spec.insecureSkipTLSVerify", true, "may not be true if caBundle is present");
}
