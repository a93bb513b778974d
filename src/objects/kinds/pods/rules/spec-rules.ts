/** Validation of a pod spec, in the order in which Kubernetes reports errors. */
import { duplicateValue, invalidValue, notFoundValue, required } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { enumErrors, labelsErrors, nameErrors } from "../../checks.ts";
import { MIRROR_POD } from "./annotation-rules.ts";
import { containersErrors, ephemeralContainersErrors, initContainersErrors } from "./container-list-rules.ts";
import { containersWithFields } from "./container-visit.ts";
import { dnsLabelFieldErrors } from "./formats.ts";
import { dnsConfigErrors, hostAliasesErrors, hostnameOverrideErrors, hostNetworkErrors } from "./network-rules.ts";
import { deadlineErrors, handlerContext } from "./probe-rules.ts";
import { overheadErrors, podResourcesErrors } from "./resource-rules.ts";
import { affinityErrors, gatesErrors, tolerationsErrors } from "./scheduling-rules.ts";
import { hostUsersErrors, podSecurityErrors } from "./security-rules.ts";
import type { SpecContext } from "./spec-context.ts";
import { topologySpreadErrors } from "./topology-spread-rules.ts";
import { checkedVolumes } from "./volume-rules.ts";
import { hostProcessErrors, operatingSystemErrors } from "./windows-rules.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

const RESTART_POLICIES: readonly string[] = ["Always", "OnFailure", "Never"];
const DNS_POLICIES: readonly string[] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const PREEMPTION_POLICIES: readonly string[] = ["PreemptLowerPriority", "Never"];

export function* podSpecErrors(spec: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  const volumes = checkedVolumes(spec, `${field}.volumes`, context);
  yield* volumes.errors;
  yield* resourceClaimsErrors(spec, `${field}.resourceClaims`, context);
  const claims = objectsAt(spec, "resourceClaims").map((claim) => stringAt(claim, "name"));
  const inside = {
    ...handlerContext(spec, context),
    volumes: volumes.valid,
    claimNames: new Set(claims.filter((name) => name !== "")),
    restartPolicy: stringAt(spec, "restartPolicy"),
    hasHostUsers: spec["hostUsers"] !== false,
  };
  yield* containersErrors(spec, `${field}.containers`, inside);
  yield* initContainersErrors(spec, `${field}.initContainers`, inside);
  yield* ephemeralContainersErrors(spec, `${field}.ephemeralContainers`, inside);
  if (isJsonObject(spec["resources"]) && context.gates.isOn("PodLevelResources"))
    yield* podResourcesErrors(spec, field);
  yield* hostNetworkErrors(spec, field, context);
  yield* enumErrors(stringAt(spec, "restartPolicy"), `${field}.restartPolicy`, RESTART_POLICIES);
  yield* enumErrors(stringAt(spec, "dnsPolicy"), `${field}.dnsPolicy`, DNS_POLICIES);
  yield* labelsErrors(objectAt(spec, "nodeSelector"), `${field}.nodeSelector`);
  yield* podSecurityErrors(spec, field, context);
  if (isJsonObject(spec["affinity"])) yield* affinityErrors(spec["affinity"], `${field}.affinity`);
  yield* dnsConfigErrors(spec, `${field}.dnsConfig`, context);
  yield* gatesErrors(spec, field);
  yield* topologySpreadErrors(spec, `${field}.topologySpreadConstraints`, context);
  yield* hostProcessErrors(spec, field, context);
  yield* hostUsersErrors(spec, field);
  yield* hostnameOverrideErrors(spec, `${field}.hostnameOverride`);
  yield* restErrors(spec, field, context);
}

function* restErrors(spec: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  yield* subdomainErrors(spec, field, "serviceAccountName");
  yield* subdomainErrors(spec, field, "nodeName");
  yield* deadlineErrors(spec, field);
  for (const member of ["hostname", "subdomain"]) {
    const name = stringAt(spec, member);
    if (name !== "") yield* dnsLabelFieldErrors(name, `${field}.${member}`);
  }
  yield* tolerationsErrors(objectsAt(spec, "tolerations"), `${field}.tolerations`);
  yield* hostAliasesErrors(spec, `${field}.hostAliases`, context);
  yield* subdomainErrors(spec, field, "priorityClassName");
  if (typeof spec["runtimeClassName"] === "string")
    yield* nameErrors(spec["runtimeClassName"], `${field}.runtimeClassName`, dnsSubdomainErrors);
  if (typeof spec["preemptionPolicy"] === "string")
    yield* enumErrors(spec["preemptionPolicy"], `${field}.preemptionPolicy`, PREEMPTION_POLICIES);
  if (isJsonObject(spec["overhead"])) yield* overheadErrors(spec["overhead"], `${field}.overhead`);
  yield* operatingSystemErrors(spec, field);
  yield* schedulingGroupErrors(spec["schedulingGroup"], `${field}.schedulingGroup`);
  yield* fileVolumeErrors(spec, field);
}

function* subdomainErrors(
  spec: JsonObject,
  field: string,
  member: "serviceAccountName" | "nodeName" | "priorityClassName",
): Generator<FieldError> {
  const name = stringAt(spec, member);
  if (name !== "") yield* nameErrors(name, `${field}.${member}`, dnsSubdomainErrors);
}

function* resourceClaimsErrors(spec: JsonObject, field: string, { metadata }: SpecContext): Generator<FieldError> {
  const isMirror = metadata !== undefined && objectAt(metadata, "annotations")[MIRROR_POD] !== undefined;
  const names = new Set<string>();
  for (const [index, claim] of objectsAt(spec, "resourceClaims").entries()) {
    const at = `${field}[${index}]`;
    if (isMirror) {
      yield {
        field: "",
        reason: "FieldValueForbidden",
        message: "Forbidden: static pods do not support resource claims",
      };
      continue;
    }
    const name = stringAt(claim, "name");
    if (name === "") yield required(`${at}.name`);
    else if (names.has(name)) yield duplicateValue(`${at}.name`, name);
    else yield* dnsLabelFieldErrors(name, `${at}.name`);
    names.add(name);
    yield* claimSourceErrors(claim, at);
  }
}

function* claimSourceErrors(claim: JsonObject, field: string): Generator<FieldError> {
  const { resourceClaimName: own, resourceClaimTemplateName: template } = claim;
  const shown = internalValue(claim, "PodResourceClaim");
  if (own !== undefined && template !== undefined)
    yield invalidValue(
      field,
      shown,
      "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified",
    );
  if (own === undefined && template === undefined)
    yield invalidValue(field, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`");
  if (typeof own === "string") yield* nameErrors(own, `${field}.resourceClaimName`, dnsSubdomainErrors);
  if (typeof template === "string")
    yield* nameErrors(template, `${field}.resourceClaimTemplateName`, dnsSubdomainErrors);
}

function* schedulingGroupErrors(group: unknown, field: string): Generator<FieldError> {
  if (!isJsonObject(group)) return;
  const name = group["podGroupName"];
  if (typeof name === "string") yield* nameErrors(name, `${field}.podGroupName`, dnsSubdomainErrors);
  else yield invalidValue(`${field}.podGroupName`, null, "must specify one of: `podGroupName`");
}

/** Environment files must be in an emptyDir volume, which the pod itself writes. */
function* fileVolumeErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const volumes = new Map(objectsAt(spec, "volumes").map((volume) => [stringAt(volume, "name"), volume]));
  for (const { container, field: at } of containersWithFields(spec, field))
    for (const [index, variable] of objectsAt(container, "env").entries()) {
      const ref = objectAt(variable, "valueFrom")["fileKeyRef"];
      if (!isJsonObject(ref)) continue;
      const name = stringAt(ref, "volumeName");
      const volume = volumes.get(name);
      const where = `${at}.env[${index}].valueFrom.fileKeyRef.volumeName`;
      if (volume === undefined) yield notFoundValue(where, name);
      else if (!isJsonObject(volume["emptyDir"]))
        yield invalidValue(where, name, "referenced volume must be of type emptyDir");
    }
}
