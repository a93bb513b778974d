/** Values of unstructured objects as Go's fmt shows them. Whole numbers are int64 there, all others float64. */
import { isJsonObject } from "../../meta/json.ts";

const INT64_END = 2 ** 63;

export function isInt64(value: unknown): boolean {
  return typeof value === "number" && Number.isInteger(value) && Math.abs(value) < INT64_END;
}

/** `%v`. */
export function goValueText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(goValueText).join(" ")}]`;
  if (typeof value === "number") return numberText(value);
  if (!isJsonObject(value)) return String(value);
  const names = Object.keys(value).sort();
  return `map[${names.map((name) => `${name}:${goValueText(value[name])}`).join(" ")}]`;
}

/** `%T`. */
export function goTypeText(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  if (Array.isArray(value)) return "[]interface {}";
  if (typeof value === "number") return isInt64(value) ? "int64" : "float64";
  if (typeof value === "boolean") return "bool";
  return typeof value === "string" ? "string" : "map[string]interface {}";
}

const DECIMAL_EXPONENT_MIN = -4;
const DECIMAL_EXPONENT_MAX = 5;

function numberText(value: number): string {
  if (isInt64(value)) return String(value);
  const [digits = "", exponent = "0"] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= DECIMAL_EXPONENT_MIN && power <= DECIMAL_EXPONENT_MAX) return String(value);
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
