/** Iterates over all containers of a pod, in Kubernetes' order. */
import { objectsAt, type JsonObject } from "../../../../meta/json.ts";

interface ContainerAt {
  readonly container: JsonObject;
  readonly field: string;
}

export function* containersWithFields(spec: JsonObject, field: string): Generator<ContainerAt> {
  for (const list of ["initContainers", "containers", "ephemeralContainers"])
    for (const [index, container] of objectsAt(spec, list).entries())
      yield { container, field: `${field}.${list}[${index}]` };
}
