/** Validation of updates of a pod status. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import { isJsonObject, numberAt, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { familyOf } from "../../../../meta/ip-address.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { immutableErrors, nameErrors } from "../../checks.ts";
import type { KindContext } from "../../kind.ts";
import { annotationUpdateErrors } from "./annotation-rules.ts";
import { mayRestart } from "./container-restarts.ts";
import { idErrors, ipErrors, qualifiedNameFieldErrors, withoutLeadingZeros } from "./formats.ts";

const SYSTEM_CONDITIONS: readonly string[] = ["PodScheduled", "Ready", "Initialized"];
const STATUS_LISTS = ["containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"] as const;
const HEALTHS: readonly string[] = ["Healthy", "Unhealthy", "Unknown"];

export function* podStatusErrors(pod: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const status = objectAt(pod, "status");
  const before = objectAt(existing, "status");
  const annotations = (of: JsonObject): JsonObject => objectAt(objectAt(of, "metadata"), "annotations");
  yield* annotationUpdateErrors(annotations(pod), annotations(existing), "metadata.annotations");
  yield* conditionsErrors(status);
  yield* nominationErrors(status, existing, context);
  const generation = numberAt(status, "observedGeneration") ?? 0;
  if (generation < 0) yield invalidValue("status.observedGeneration", generation, "must be a non-negative integer");
  yield* immutableErrors(stringAt(status, "qosClass"), stringAt(before, "qosClass"), "status.qosClass");
  for (const list of STATUS_LISTS) yield* transitionErrors(list, { status, existing, context });
  yield* claimStatusErrors(objectsAt(status, "resourceClaimStatuses"), objectAt(existing, "spec"));
  yield* podIpsErrors(status, before, context);
  yield* hostIpsErrors(status, before, context);
  for (const list of STATUS_LISTS) yield* usersErrors(status, existing, list);
  yield* healthErrors(status, existing);
}

function* conditionsErrors(status: JsonObject): Generator<FieldError> {
  for (const [index, condition] of objectsAt(status, "conditions").entries()) {
    const field = `status.conditions[${index}]`;
    const generation = numberAt(condition, "observedGeneration") ?? 0;
    if (generation < 0) yield invalidValue(`${field}.observedGeneration`, generation, "must be a non-negative integer");
    const type = stringAt(condition, "type");
    // As kubernetes: the name of the field is capitalized.
    if (!SYSTEM_CONDITIONS.includes(type)) yield* qualifiedNameFieldErrors(type, `${field}.Type`);
  }
}

function* nominationErrors(status: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const name = stringAt(status, "nominatedNodeName");
  if (name === "" || name === stringAt(objectAt(existing, "status"), "nominatedNodeName")) return;
  yield* nameErrors(name, "status.nominatedNodeName", dnsSubdomainErrors);
  const isBound = stringAt(objectAt(existing, "spec"), "nodeName") !== "";
  if (isBound && context.gates.isOn("ClearingNominatedNodeNameAfterBinding"))
    yield forbiddenField("status.nominatedNodeName", "may not be set on pods that are already bound to a node");
}

/**
 * Rejects a status in which a terminated container is not terminated any more, unless its restart policy allows a
 * restart.
 */
function* transitionErrors(
  list: (typeof STATUS_LISTS)[number],
  { status, existing, context }: { status: JsonObject; existing: JsonObject; context: KindContext },
): Generator<FieldError> {
  const running = new Set(
    objectsAt(status, list)
      .filter((container) => !isJsonObject(objectAt(container, "state")["terminated"]))
      .map((container) => stringAt(container, "name")),
  );
  const spec = objectAt(existing, "spec");
  for (const [index, container] of objectsAt(objectAt(existing, "status"), list).entries()) {
    const terminated = objectAt(container, "state")["terminated"];
    const name = stringAt(container, "name");
    if (!isJsonObject(terminated) || !running.has(name)) continue;
    if (!mayRestart(spec, { list, name, exitCode: numberAt(terminated, "exitCode") ?? 0 }, context))
      yield forbiddenField(`status.${list}[${index}].state`, "may not be transitioned to non-terminated state");
  }
}

function* claimStatusErrors(statuses: readonly JsonObject[], spec: JsonObject): Generator<FieldError> {
  const known = new Set(objectsAt(spec, "resourceClaims").map((claim) => stringAt(claim, "name")));
  const seen = new Set<string>();
  for (const [index, claim] of statuses.entries()) {
    const field = `status.resourceClaimStatuses[${index}]`;
    const name = stringAt(claim, "name");
    if (!known.has(name))
      yield invalidValue(`${field}.name`, name, "must match the name of an entry in `spec.resourceClaims`");
    if (seen.has(name)) yield duplicateValue(`${field}.name`, name);
    seen.add(name);
    if (typeof claim["resourceClaimName"] === "string")
      yield* nameErrors(claim["resourceClaimName"], `${field}.resourceClaimName`, dnsSubdomainErrors);
  }
}

function* podIpsErrors(status: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  yield* ipsErrors(status, before, { list: "podIPs", context });
}

function* hostIpsErrors(status: JsonObject, before: JsonObject, context: KindContext): Generator<FieldError> {
  const first = objectsAt(status, "hostIPs")[0];
  if (first === undefined) return;
  const ip = stringAt(first, "ip");
  if (ip !== stringAt(status, "hostIP")) yield invalidValue("status.hostIPs[0].ip", ip, "must be equal to `hostIP`");
  yield* ipsErrors(status, before, { list: "hostIPs", context });
}

function* ipsErrors(
  status: JsonObject,
  before: JsonObject,
  { list, context }: { list: "podIPs" | "hostIPs"; context: KindContext },
): Generator<FieldError> {
  const known = new Set(objectsAt(before, list).map((entry) => stringAt(entry, "ip")));
  const ips = objectsAt(status, list).map((entry) => stringAt(entry, "ip"));
  for (const [index, ip] of ips.entries()) if (!known.has(ip)) yield* ipErrors(ip, `status.${list}[${index}]`, context);
  if (ips.length > 1) yield* dualStackErrors(ips, `status.${list}`);
}

function* dualStackErrors(ips: readonly string[], field: string): Generator<FieldError> {
  const families = new Set(ips.map((ip) => familyOf(withoutLeadingZeros(ip))));
  // DIFFERS: kubernetes reports an unparsable address a second time, as an internal error.
  if (families.has(undefined) || families.size !== 2 || ips.length > 2)
    yield invalidValue(
      field,
      ips.map((ip) => ({ IP: ip })),
      "may specify no more than one IP for each IP family",
    );
}

function* usersErrors(
  status: JsonObject,
  existing: JsonObject,
  list: (typeof STATUS_LISTS)[number],
): Generator<FieldError> {
  const isWindows = stringAt(objectAt(objectAt(existing, "spec"), "os"), "name") === "windows";
  for (const [index, container] of objectsAt(status, list).entries()) {
    const { linux } = objectAt(container, "user");
    if (!isJsonObject(linux)) continue;
    const field = `status.${list}[${index}].user.linux`;
    if (isWindows) yield forbiddenField(field, "cannot be set for a windows pod");
    else yield* linuxUserErrors(linux, field);
  }
}

function* linuxUserErrors(linux: JsonObject, field: string): Generator<FieldError> {
  yield* idErrors(numberAt(linux, "uid"), `${field}.uid`);
  yield* idErrors(numberAt(linux, "gid"), `${field}.gid`);
  const groups = linux["supplementalGroups"];
  if (!Array.isArray(groups)) return;
  for (const [at, group] of groups.entries()) yield* idErrors(Number(group), `${field}.supplementalGroups[${at}]`);
}

function* healthErrors(status: JsonObject, existing: JsonObject): Generator<FieldError> {
  const spec = objectAt(existing, "spec");
  yield* allocatedErrors(status, "containerStatuses", objectsAt(spec, "containers"));
  yield* allocatedErrors(status, "initContainerStatuses", objectsAt(spec, "initContainers"));
  for (const [index, container] of objectsAt(status, "ephemeralContainerStatuses").entries())
    if (objectsAt(container, "allocatedResourcesStatus").length > 0)
      yield forbiddenField(
        `status.ephemeralContainerStatuses[${index}].allocatedResourcesStatus`,
        "must not be specified in container status",
      );
}

function* allocatedErrors(
  status: JsonObject,
  list: "containerStatuses" | "initContainerStatuses",
  containers: readonly JsonObject[],
): Generator<FieldError> {
  const byName = new Map(containers.map((container) => [stringAt(container, "name"), container]));
  for (const [index, container] of objectsAt(status, list).entries())
    for (const [at, allocated] of objectsAt(container, "allocatedResourcesStatus").entries()) {
      const field = `status.${list}[${index}].allocatedResourcesStatus[${at}]`;
      const known = byName.get(stringAt(container, "name"));
      if (known !== undefined) yield* allocatedNameErrors(stringAt(allocated, "name"), `${field}.name`, known);
      yield* resourceHealthErrors(objectsAt(allocated, "resources"), `${field}.resources`);
    }
}

function* allocatedNameErrors(name: string, field: string, container: JsonObject): Generator<FieldError> {
  const resources = objectAt(container, "resources");
  if (!name.startsWith("claim:")) {
    if (!Object.hasOwn(objectAt(resources, "requests"), name))
      yield invalidValue(field, name, "must match one of the container's resource requests");
    return;
  }
  const claims = objectsAt(resources, "claims").map((claim) => {
    const request = stringAt(claim, "request");
    return `claim:${stringAt(claim, "name")}${request === "" ? "" : `/${request}`}`;
  });
  if (!claims.includes(name))
    yield invalidValue(
      field,
      name,
      "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty",
    );
}

function* resourceHealthErrors(resources: readonly JsonObject[], field: string): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [index, resource] of resources.entries()) {
    const health = stringAt(resource, "health");
    const id = stringAt(resource, "resourceID");
    if (!HEALTHS.includes(health)) yield unsupportedValue(`${field}[${index}].health`, health, HEALTHS);
    if (resource["message"] === "") yield required(`${field}[${index}].message`, "must be non-empty if specified");
    if (seen.has(id)) yield duplicateValue(`${field}[${index}].resourceID`, id);
    seen.add(id);
  }
}
