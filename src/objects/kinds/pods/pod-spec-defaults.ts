/** Default values of a pod spec, in a pod or in a template. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";
import { setContainerDefaults } from "./container-defaults.ts";
import { setRoundedResources, setRoundedRequirements, setEmpty } from "../defaults.ts";
import { setVolumeDefaults } from "./volume-defaults.ts";

const GRACE_PERIOD_SECONDS = 30;
const CONTAINER_LISTS = ["initContainers", "containers", "ephemeralContainers"] as const;

/** Sets defaults in place. */
export function setPodSpecDefaults(spec: JsonObject, context: KindContext): void {
  setEmpty(spec, { dnsPolicy: "ClusterFirst", restartPolicy: "Always" });
  spec["securityContext"] ??= {};
  spec["terminationGracePeriodSeconds"] ??= GRACE_PERIOD_SECONDS;
  setEmpty(spec, { schedulerName: "default-scheduler" });
  setServiceAccountAlias(spec);
  for (const volume of objectsAt(spec, "volumes")) setVolumeDefaults(volume, context);
  for (const list of CONTAINER_LISTS) for (const container of objectsAt(spec, list)) setContainerDefaults(container);
  setRoundedResources(spec, "overhead");
  setAlwaysWritten(spec);
  if (isJsonObject(spec["resources"])) setRoundedRequirements(spec["resources"]);
}

/** As kubernetes: sets absent fields that Go always writes. */
function setAlwaysWritten(spec: JsonObject): void {
  for (const sysctl of objectsAt(objectAt(spec, "securityContext"), "sysctls")) sysctl["value"] ??= "";
  const { nodeAffinity } = objectAt(spec, "affinity");
  if (!isJsonObject(nodeAffinity)) return;
  for (const preferred of objectsAt(nodeAffinity, "preferredDuringSchedulingIgnoredDuringExecution"))
    preferred["preference"] ??= {};
}

/** Keeps serviceAccount and serviceAccountName equal; if both are set, the newer serviceAccountName is used. */
function setServiceAccountAlias(spec: JsonObject): void {
  const name = stringAt(spec, "serviceAccountName") || stringAt(spec, "serviceAccount");
  if (name === "") return;
  spec["serviceAccountName"] = name;
  spec["serviceAccount"] = name;
}
