/** Values as Go's fmt shows them, in the sentences of server-side apply. Numbers of an applied object are Go's float64. */
import { isJsonObject, type JsonObject } from "../../meta/json.ts";

/** `%v` of a pointer to the holder of a value. */
export function heldText(value: unknown): string {
  return `&{${plainText(value)}}`;
}

/** `%#v` of a pointer to the holder of a value. */
export function heldSyntax(value: unknown): string {
  return `&value.valueUnstructured{Value:${syntaxText(value)}}`;
}

/** `%T`. */
export function typeText(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  switch (typeof value) {
    case "number":
      return "float64";
    case "boolean":
      return "bool";
    case "object":
      return "map[string]interface {}";
    default:
      return typeof value;
  }
}

function plainText(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(plainText).join(" ")}]`;
  if (isJsonObject(value)) return `map[${membersText(value, (name) => `${name}:${plainText(value[name])}`, " ")}]`;
  return typeof value === "number" ? floatText(value) : String(value);
}

function syntaxText(value: unknown): string {
  if (value === null) return "interface {}(nil)";
  if (Array.isArray(value)) return `[]interface {}{${value.map(syntaxText).join(", ")}}`;
  if (isJsonObject(value)) {
    const members = membersText(value, (name) => `${JSON.stringify(name)}:${syntaxText(value[name])}`, ", ");
    return `map[string]interface {}{${members}}`;
  }
  if (typeof value === "string") return JSON.stringify(value);
  return typeof value === "number" ? floatText(value) : String(value);
}

function membersText(object: JsonObject, member: (name: string) => string, separator: string): string {
  return Object.keys(object).sort().map(member).join(separator);
}

const DECIMAL_EXPONENT_MIN = -4;
const DECIMAL_EXPONENT_MAX = 5;

/** As `%v` writes a float64: large and small ones with an exponent. */
function floatText(value: number): string {
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= DECIMAL_EXPONENT_MIN && power <= DECIMAL_EXPONENT_MAX) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
