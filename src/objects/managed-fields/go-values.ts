/**
 * Writes values as Go's fmt does in the errors of server-side apply, where every number of an applied object is a
 * float64.
 */
import { goFloat, goType, goValueText } from "../../meta/go-fmt.ts";
import { isJsonObject } from "../../meta/json.ts";

/** `%v` of a pointer to the struct that holds a value. */
export function heldText(value: unknown): string {
  return `&{${goValueText(value, { number: goFloat })}}`;
}

/** `%#v` of a pointer to the struct that holds a value. */
export function heldSyntax(value: unknown): string {
  return `&value.valueUnstructured{Value:${syntaxText(value)}}`;
}

/** `%T` of a value: the name of its Go type. */
export function typeText(value: unknown): string {
  return typeof value === "number" ? "float64" : goType(value);
}

function syntaxText(value: unknown): string {
  if (value === null) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(syntaxText).join(", ")}}`;
  if (isJsonObject(value)) {
    const names = Object.keys(value).sort();
    const members = names.map((name) => `${JSON.stringify(name)}:${syntaxText(value[name])}`);
    return `map[string]interface {}{${members.join(", ")}}`;
  }
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? goFloat(value) : String(value);
}
