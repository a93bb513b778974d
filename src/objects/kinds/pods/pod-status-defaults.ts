/** Fields of a pod status that Go always writes: null for unknown times, and empty states. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { setRoundedRequirements } from "../defaults.ts";

const CONTAINER_LISTS = ["initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses"] as const;

/** Sets defaults in place. */
export function setPodStatusDefaults(status: JsonObject): void {
  setTimes(objectsAt(status, "conditions"), ["lastProbeTime", "lastTransitionTime"]);
  for (const list of CONTAINER_LISTS) for (const container of objectsAt(status, list)) setContainerDefaults(container);
  setAddressAlias(status);
}

/** Sets missing times in place. As kubernetes: an unknown time is written as null. */
export function setTimes(objects: Iterable<JsonObject>, times: readonly string[]): void {
  for (const object of objects) for (const time of times) object[time] ??= null;
}

function setContainerDefaults(container: JsonObject): void {
  setRoundedRequirements(objectAt(container, "resources"));
  for (const text of ["name", "image", "imageID"]) container[text] ??= "";
  container["ready"] ??= false;
  container["restartCount"] ??= 0;
  const { linux } = objectAt(container, "user");
  if (isJsonObject(linux)) for (const id of ["uid", "gid"]) linux[id] ??= 0;
  for (const member of ["state", "lastState"]) {
    const state = objectAt(container, member);
    container[member] = state;
    const { running, terminated } = state;
    if (isJsonObject(running)) setTimes([running], ["startedAt"]);
    if (!isJsonObject(terminated)) continue;
    terminated["exitCode"] ??= 0;
    setTimes([terminated], ["startedAt", "finishedAt"]);
  }
}

/** Keeps podIP equal to the first of podIPs; old kubelets know only podIP. */
function setAddressAlias(status: JsonObject): void {
  const ip = stringAt(status, "podIP");
  const first = stringAt(objectsAt(status, "podIPs")[0] ?? {}, "ip");
  if (ip !== "" && ip !== first) status["podIPs"] = [{ ip }];
  else if (ip === "" && first !== "") status["podIP"] = first;
}
