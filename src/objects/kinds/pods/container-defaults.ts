/** Default values of containers. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { canonicalQuantity } from "../../../meta/quantity.ts";
import { defaultPullPolicy } from "./image-tag.ts";
import { setProbeDefaults } from "./probe-defaults.ts";
import { setEmpty, setRoundedRequirements, structAt } from "../defaults.ts";

/** Sets defaults in place, also for init containers and ephemeral containers. */
export function setContainerDefaults(container: JsonObject): void {
  setEmpty(container, {
    imagePullPolicy: defaultPullPolicy(stringAt(container, "image")),
    terminationMessagePath: "/dev/termination-log",
    terminationMessagePolicy: "File",
  });
  for (const port of objectsAt(container, "ports")) setEmpty(port, { protocol: "TCP" });
  for (const variable of objectsAt(container, "env")) setSourceDefaults(objectAt(variable, "valueFrom"));
  setRoundedRequirements(structAt(container, "resources"));
  setProbeDefaults(container);
}

/** Sets defaults in place, in the source of an environment variable or in a file of the downward API. */
export function setSourceDefaults(source: JsonObject): void {
  const { fieldRef, resourceFieldRef, fileKeyRef } = source;
  if (isJsonObject(fieldRef)) setEmpty(fieldRef, { apiVersion: "v1" });
  if (isJsonObject(resourceFieldRef)) {
    const { divisor } = resourceFieldRef;
    resourceFieldRef["divisor"] = divisor === undefined ? "0" : canonicalQuantity(String(divisor));
  }
  if (isJsonObject(fileKeyRef)) fileKeyRef["optional"] ??= false;
}
