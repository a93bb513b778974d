/** Defaults of PodGroups; no validation rule of this kind is implemented. */
import { cloneJson } from "../../../meta/json.ts";
import { ownStruct } from "../defaults.ts";
import type { Kind } from "../kind.ts";

/** `disruptionMode`: the default, which is a text in v1alpha2 and an object in later versions. */
export function podGroupOf(disruptionMode: unknown): Kind {
  return {
    setDefaults(group) {
      const spec = ownStruct(group, "spec");
      spec["disruptionMode"] ??= cloneJson(disruptionMode);
    },
    keepsMetadataInStatus: true,
  };
}
