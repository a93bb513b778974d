/** Default values of pods, in addition to those of every pod spec. */
import { isJsonObject, numberAt, objectAt, objectsAt, setMember, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";
import { setPodSpecDefaults } from "./pod-spec-defaults.ts";
import { setPodStatusDefaults } from "./pod-status-defaults.ts";
import { aggregatedResources, requestLimits } from "./resource-lists.ts";

const CONTAINER_LISTS = ["containers", "initContainers"] as const;
const HUGE_PAGES = "hugepages-";
const OVERCOMMITTED: readonly string[] = ["cpu", "memory"];

/** Sets defaults in place. */
export function setPodDefaults(pod: JsonObject, context: KindContext): void {
  const spec = objectAt(pod, "spec");
  setPodSpecDefaults(spec, context);
  for (const list of CONTAINER_LISTS)
    for (const container of objectsAt(spec, list)) requestLimits(objectAt(container, "resources"));
  if (context.gates.isOn("PodLevelResources")) setPodResourcesDefaults(spec);
  spec["enableServiceLinks"] ??= true;
  if (spec["hostNetwork"] === true) setHostPorts(spec);
  if ((numberAt(spec, "terminationGracePeriodSeconds") ?? 0) < 0) spec["terminationGracePeriodSeconds"] = 1;
  pod["spec"] = spec;
  if (isJsonObject(pod["status"])) setPodStatusDefaults(pod["status"]);
}

/** On the host network, a container port is also a port of the host. */
function setHostPorts(spec: JsonObject): void {
  const containers = CONTAINER_LISTS.flatMap((list) => objectsAt(spec, list));
  for (const port of containers.flatMap((container) => objectsAt(container, "ports")))
    if ((numberAt(port, "hostPort") ?? 0) === 0) port["hostPort"] = numberAt(port, "containerPort") ?? 0;
}

/**
 * If a pod has pod-level resources, absent amounts default to the sums of its containers, and requests without such a
 * sum to the limits.
 */
function setPodResourcesDefaults(spec: JsonObject): void {
  const { resources } = spec;
  if (!isJsonObject(resources)) return;
  const requests = objectAt(resources, "requests");
  const limits = objectAt(resources, "limits");
  if (Object.keys(limits).length === 0 && Object.keys(requests).length === 0) return;
  for (const [name, amount] of aggregatedResources(spec, "limits"))
    if (name.startsWith(HUGE_PAGES) && !Object.hasOwn(requests, name) && !Object.hasOwn(limits, name))
      setMember(limits, name, amount.text);
  if (Object.keys(limits).length === 0) return;
  resources["limits"] = limits;
  setRequestsDefaults(spec, requests, limits);
  if (Object.keys(requests).length > 0) resources["requests"] = requests;
}

function setRequestsDefaults(spec: JsonObject, requests: JsonObject, limits: JsonObject): void {
  for (const [name, amount] of aggregatedResources(spec, "requests"))
    if (OVERCOMMITTED.includes(name) && !Object.hasOwn(requests, name)) setMember(requests, name, amount.text);
  for (const name of Object.keys(limits))
    if ((OVERCOMMITTED.includes(name) || name.startsWith(HUGE_PAGES)) && !Object.hasOwn(requests, name))
      setMember(requests, name, limits[name]);
}
