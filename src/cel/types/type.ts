/** Types of expressions. */

export type Kind =
  | "any"
  | "bool"
  | "bytes"
  | "double"
  | "duration"
  | "dyn"
  | "error"
  | "int"
  | "list"
  | "map"
  | "null"
  | "opaque"
  | "param"
  | "string"
  | "struct"
  | "timestamp"
  | "type"
  | "uint";

export interface Type {
  readonly kind: Kind;
  /** As expressions name it. */
  readonly name: string;
  readonly parameters: readonly Type[];
  /** Of a struct. */
  readonly fields?: ReadonlyMap<string, Type>;
}

const NONE: readonly Type[] = [];

function simple(kind: Kind, name: string = kind): Type {
  return { kind, name, parameters: NONE };
}

export const ANY = simple("any");
export const BOOL = simple("bool");
export const BYTES = simple("bytes");
export const DOUBLE = simple("double");
export const DURATION = simple("duration", "google.protobuf.Duration");
export const DYN = simple("dyn");
export const ERROR = simple("error", "*error*");
export const INT = simple("int");
export const NULL = simple("null", "null_type");
export const STRING = simple("string");
export const TIMESTAMP = simple("timestamp", "google.protobuf.Timestamp");
export const TYPE = simple("type");
export const UINT = simple("uint");

export function listOf(element: Type): Type {
  return { kind: "list", name: "list", parameters: [element] };
}

export function mapOf(key: Type, value: Type): Type {
  return { kind: "map", name: "map", parameters: [key, value] };
}

export function typeOf(type: Type): Type {
  return { kind: "type", name: "type", parameters: [type] };
}

export function opaque(name: string, ...parameters: Type[]): Type {
  return { kind: "opaque", name, parameters };
}

export function optionalOf(type: Type): Type {
  return opaque("optional_type", type);
}

export function struct(name: string, fields: ReadonlyMap<string, Type> = new Map()): Type {
  return { kind: "struct", name, parameters: NONE, fields };
}

export function typeParameter(name: string): Type {
  return { kind: "param", name, parameters: NONE };
}

export function isDyn(type: Type): boolean {
  return type.kind === "dyn" || type.kind === "any";
}

export function isDynOrError(type: Type): boolean {
  return isDyn(type) || type.kind === "error";
}

/** What an optional holds, or undefined for anything else. */
export function optionalContent(type: Type): Type | undefined {
  return type.kind === "opaque" && type.name === "optional_type" ? type.parameters[0] : undefined;
}

export function isSameType(left: Type, right: Type): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || left.name !== right.name) return false;
  if (left.parameters.length !== right.parameters.length) return false;
  return left.parameters.every((parameter, index) => isSameType(parameter, right.parameters[index] ?? ERROR));
}

const FORMATTED: Partial<Record<Kind, string>> = {
  any: "any",
  duration: "duration",
  error: "!error!",
  null: "null",
  timestamp: "timestamp",
};

/** As messages write it. */
export function formatType(type: Type): string {
  const fixed = FORMATTED[type.kind];
  if (fixed !== undefined) return fixed;
  if (type.parameters.length === 0) return type.name;
  return `${type.name}(${type.parameters.map(formatType).join(", ")})`;
}
