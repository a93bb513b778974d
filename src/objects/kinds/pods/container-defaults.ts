/** What a container is taken to say when it says nothing. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { canonicalQuantity } from "../../../meta/quantity.ts";
import { objectsAt } from "../checks.ts";
import { defaultPullPolicy } from "./image-tag.ts";
import { setProbeDefaults } from "./probe-defaults.ts";
import { setResourcesDefaults } from "./resource-lists.ts";
import { setWhenEmpty } from "./set-when-empty.ts";

/** In place; also for init containers and ephemeral ones. */
export function setContainerDefaults(container: JsonObject): void {
  setWhenEmpty(container, "imagePullPolicy", defaultPullPolicy(stringAt(container, "image")));
  setWhenEmpty(container, "terminationMessagePath", "/dev/termination-log");
  setWhenEmpty(container, "terminationMessagePolicy", "File");
  for (const port of objectsAt(container, "ports")) setWhenEmpty(port, "protocol", "TCP");
  for (const variable of objectsAt(container, "env")) setSourceDefaults(objectAt(variable, "valueFrom"));
  const resources = objectAt(container, "resources");
  setResourcesDefaults(resources);
  container["resources"] = resources;
  setProbeDefaults(container);
}

/** In place: of an environment variable's source, or a file of the downward API. */
export function setSourceDefaults(source: JsonObject): void {
  const { fieldRef, resourceFieldRef, fileKeyRef } = source;
  if (isJsonObject(fieldRef)) setWhenEmpty(fieldRef, "apiVersion", "v1");
  if (isJsonObject(resourceFieldRef)) {
    const { divisor } = resourceFieldRef;
    resourceFieldRef["divisor"] = divisor === undefined ? "0" : canonicalQuantity(String(divisor));
  }
  if (isJsonObject(fileKeyRef)) fileKeyRef["optional"] ??= false;
}
