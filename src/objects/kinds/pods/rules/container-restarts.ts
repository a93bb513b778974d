/** Decides whether a terminated container may be restarted. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { KindContext } from "../../kind.ts";

interface EndedContainer {
  readonly list: "containerStatuses" | "initContainerStatuses" | "ephemeralContainerStatuses";
  readonly name: string;
  readonly exitCode: number;
}

export function mayRestart(spec: JsonObject, { list, name, exitCode }: EndedContainer, context: KindContext): boolean {
  if (list === "ephemeralContainerStatuses") return false;
  const isInitial = list === "initContainerStatuses";
  const container = objectsAt(spec, isInitial ? "initContainers" : "containers").find(
    (candidate) => stringAt(candidate, "name") === name,
  );
  const ofPod = stringAt(spec, "restartPolicy");
  if (!context.gates.isOn("ContainerRestartRules"))
    return isRestarted(ofPod, exitCode) || (isInitial && container?.["restartPolicy"] === "Always");
  if (context.gates.isOn("RestartAllContainersOnContainerExits") && canRestartAll(spec)) return true;
  if (container === undefined) return false;
  const own = container["restartPolicy"];
  if (typeof own !== "string") return isRestarted(ofPod, exitCode);
  return isRestartedByRule(container, exitCode) || isRestarted(own, exitCode);
}

function isRestarted(policy: string, exitCode: number): boolean {
  return policy === "Always" || (policy === "OnFailure" && exitCode !== 0);
}

function canRestartAll(spec: JsonObject): boolean {
  return [...objectsAt(spec, "initContainers"), ...objectsAt(spec, "containers")].some((container) =>
    objectsAt(container, "restartPolicyRules").some((rule) => rule["action"] === "RestartAllContainers"),
  );
}

function isRestartedByRule(container: JsonObject, exitCode: number): boolean {
  const rule = objectsAt(container, "restartPolicyRules").find(({ exitCodes }) => {
    if (!isJsonObject(exitCodes)) return false;
    const { operator, values } = exitCodes;
    const isNamed = Array.isArray(values) && values.includes(exitCode);
    return (operator === "In" && isNamed) || (operator === "NotIn" && !isNamed);
  });
  return objectAt({ rule }, "rule")["action"] === "Restart";
}
