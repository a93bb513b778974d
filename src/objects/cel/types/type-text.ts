/** Parses types from text, so that declarations of functions are readable. */
import {
  ANY,
  BOOL,
  BYTES,
  DOUBLE,
  DURATION,
  DYN,
  INT,
  listOf,
  mapOf,
  NULL,
  opaque,
  optionalOf,
  STRING,
  struct,
  TIMESTAMP,
  type Type,
  typeOf,
  typeParameter,
  UINT,
} from "./type.ts";

const NAMED: ReadonlyMap<string, Type> = new Map<string, Type>([
  ["any", ANY],
  ["bool", BOOL],
  ["bytes", BYTES],
  ["double", DOUBLE],
  ["duration", DURATION],
  ["dyn", DYN],
  ["int", INT],
  ["null", NULL],
  ["string", STRING],
  ["timestamp", TIMESTAMP],
  ["uint", UINT],
  ["Quantity", struct("kubernetes.Quantity")],
  ["URL", struct("kubernetes.URL")],
  ["IP", opaque("net.IP")],
  ["CIDR", opaque("net.CIDR")],
  ["Format", struct("kubernetes.NamedFormat")],
  ["Semver", struct("kubernetes.Semver")],
  ...["Authorizer", "PathCheck", "GroupCheck", "ResourceCheck", "Decision"].map((name): [string, Type] => [
    name,
    struct(`kubernetes.authorization.${name}`),
  ]),
]);

const PARAMETERIZED = /^(list|map|type|optional)<(.*)>$/;

function splitTop(text: string): string[] {
  const parts: string[] = [];
  let depth = 0;
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index];
    if (character === "<") depth++;
    else if (character === ">") depth--;
    else if (character === "," && depth === 0) {
      parts.push(text.slice(start, index).trim());
      start = index + 1;
    }
  }
  parts.push(text.slice(start).trim());
  return parts;
}

/** Parses `list<T>`, `map<string, dyn>`, `optional<V>`; single capital letters are type parameters. */
export function typeFromText(text: string): Type {
  const named = NAMED.get(text);
  if (named !== undefined) return named;
  if (/^[A-Z]$/.test(text)) return typeParameter(text);
  const match = PARAMETERIZED.exec(text);
  const [first, second] = splitTop(match?.[2] ?? "").map((part) => (part === "" ? DYN : typeFromText(part)));
  switch (match?.[1]) {
    case "list":
      return listOf(first ?? DYN);
    case "map":
      return mapOf(first ?? DYN, second ?? DYN);
    case "type":
      return typeOf(first ?? DYN);
    case "optional":
      return optionalOf(first ?? DYN);
    default:
      throw new Error(`invalid type: ${text}`);
  }
}

/** The type parameters that occur in the type. */
export function parametersIn(type: Type, found: Set<string> = new Set()): Set<string> {
  if (type.kind === "param") found.add(type.name);
  for (const parameter of type.parameters) parametersIn(parameter, found);
  return found;
}
