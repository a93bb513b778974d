/** A pod's template as Go writes the type inside the server, with the names of its members there. */
import { isJsonObject, objectAt, type JsonObject } from "../../../meta/json.ts";
import { cutValue } from "../../../meta/field-errors.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import type { KindContext } from "../kind.ts";
import { internalPodSpec } from "../pods/internal/internal-json.ts";
import { shownMap } from "./label-selection.ts";

/** An error about a template or a part of it; Go writes JSON that a browser could not take for markup. */
export function invalidInternal(field: string, shown: unknown, why: string): FieldError {
  const text = JSON.stringify(shown).replaceAll(
    /[<>&\u2028\u2029]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
  return { field, reason: "FieldValueInvalid", message: `Invalid value: ${cutValue(text)}: ${why}` };
}

export function shownTemplate(template: JsonObject, context: KindContext): JsonObject {
  return {
    ...shownMetadata(objectAt(template, "metadata")),
    Spec: internalPodSpec(objectAt(template, "spec"), context),
  };
}

const METADATA: readonly string[] = ["name", "generateName", "namespace", "labels", "annotations", "finalizers"];

/** The type of metadata is the same inside and outside. */
function shownMetadata(metadata: JsonObject): JsonObject {
  const shown: JsonObject = {};
  for (const member of METADATA) {
    const value = metadata[member];
    if (isJsonObject(value)) {
      if (Object.keys(value).length > 0) shown[member] = shownMap(value);
    } else if (value !== undefined && value !== "") {
      shown[member] = value;
    }
  }
  return shown;
}
