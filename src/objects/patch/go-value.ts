/** JSON values as Go's fmt and reflect show them, for errors that quote a patch. */
import { isJsonObject } from "../../meta/json.ts";

/** DIFFERS: a value is cut here; kube-apiserver repeats all of it, which may be megabytes. */
const PRINTED_CHARACTERS_MAX = 8 * 1024;

/** As `%v` prints it: `map[a:1 b:[x <nil>]]`. */
export function printValue(value: unknown): string {
  const parts: string[] = [];
  let length = 0;
  const isFull = (): boolean => length > PRINTED_CHARACTERS_MAX;
  const write = (text: string): void => {
    parts.push(text);
    length += text.length;
  };
  const print = (current: unknown): void => {
    if (isFull()) return;
    if (Array.isArray(current)) {
      write("[");
      current.some((item, index) => {
        if (index > 0) write(" ");
        print(item);
        return isFull();
      });
      write("]");
    } else if (isJsonObject(current)) {
      write("map[");
      Object.keys(current)
        .toSorted()
        .some((key, index) => {
          write(`${index > 0 ? " " : ""}${key}:`);
          print(current[key]);
          return isFull();
        });
      write("]");
    } else write(printScalar(current));
  };
  print(value);
  const text = parts.join("");
  return isFull() ? `${text.slice(0, PRINTED_CHARACTERS_MAX)}...` : text;
}

/** As `%s` prints what should have been a string. */
export function printAsString(value: unknown): string {
  if (value === null) return "%!s(<nil>)";
  if (typeof value === "number" || typeof value === "boolean") return `%!s(${goType(value)}=${printScalar(value)})`;
  return printValue(value);
}

function printScalar(value: unknown): string {
  if (value === null || value === undefined) return "<nil>";
  return typeof value === "number" ? printNumber(value) : String(value);
}

/** Go goes over to exponents earlier than JavaScript below one, and writes them with two digits. */
function printNumber(value: number): string {
  const isSmall = value !== 0 && Math.abs(value) < 1e-4;
  const text = isSmall ? value.toExponential() : String(value);
  return text.replace(/e([+-])([0-9])$/, "e$10$2");
}

/** The type that Go's decoder gives a JSON value. */
export function goType(value: unknown): string {
  if (Array.isArray(value)) return "[]interface {}";
  if (isJsonObject(value)) return "map[string]interface {}";
  switch (typeof value) {
    case "string":
      return "string";
    case "boolean":
      return "bool";
    case "number":
      return Number.isInteger(value) ? "int64" : "float64";
    default:
      return "%!s(<nil>)";
  }
}

/** Of that type. */
export function goKind(value: unknown): string {
  if (Array.isArray(value)) return "slice";
  return isJsonObject(value) ? "map" : goType(value);
}

/** As Go's JSON decoder calls a value that does not fit. */
export function jsonKind(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return typeof value === "boolean" ? "bool" : typeof value;
}
