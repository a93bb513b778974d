/** Lists all containers of a pod, in Kubernetes' order. */
import { objectsAt, type JsonObject } from "../../../../meta/json.ts";

interface ContainerAt {
  readonly container: JsonObject;
  readonly field: string;
}

const LISTS = ["initContainers", "containers", "ephemeralContainers"] as const;

export function containersWithFields(spec: JsonObject, field: string): ContainerAt[] {
  const found: ContainerAt[] = [];
  for (const list of LISTS) {
    if (spec[list] === undefined) continue;
    const containers = objectsAt(spec, list);
    for (let index = 0; index < containers.length; index++)
      found.push({ container: containers[index]!, field: `${field}.${list}[${index}]` });
  }
  return found;
}
