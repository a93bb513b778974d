/** The claims in a stateful set say what they are; protobuf has no room for it. */
import { isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";

export function setClaimKinds(statefulSet: JsonObject): void {
  const spec = objectAt(statefulSet, "spec");
  const templates = spec["volumeClaimTemplates"];
  if (!Array.isArray(templates)) return;
  spec["volumeClaimTemplates"] = templates.map((template: unknown) => {
    if (!isJsonObject(template)) return template;
    const { kind = "PersistentVolumeClaim", apiVersion = "v1", ...claim } = template;
    return { kind, apiVersion, ...claim };
  });
}
