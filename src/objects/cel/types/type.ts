/** The types of CEL expressions. */

export type TypeKind =
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
  readonly kind: TypeKind;
  /** The name of the type in expressions. */
  readonly name: string;
  readonly parameters: readonly Type[];
  /** Number of types of which the type consists, including itself. */
  readonly weight: number;
  /** Fields of a struct type. */
  readonly fields?: ReadonlyMap<string, Type>;
}

const NONE: readonly Type[] = [];

function simple(kind: TypeKind, name: string = kind): Type {
  return { kind, name, parameters: NONE, weight: 1 };
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
export const UINT = simple("uint");

/**
 * Limits the weight of a type, because a few nested macros can double it repeatedly. The parameters of a heavier type
 * become dyn.
 */
const WEIGHT_MAX = 1000;

function parameterized(kind: TypeKind, name: string, parameters: readonly Type[]): Type {
  const weight = parameters.reduce((sum, parameter) => sum + parameter.weight, 1);
  if (weight <= WEIGHT_MAX) return { kind, name, parameters, weight };
  return { kind, name, parameters: parameters.map(() => DYN), weight: 1 + parameters.length };
}

export function withParameters(type: Type, parameters: readonly Type[]): Type {
  return parameterized(type.kind, type.name, parameters);
}

export function listOf(element: Type): Type {
  return parameterized("list", "list", [element]);
}

export function mapOf(key: Type, value: Type): Type {
  return parameterized("map", "map", [key, value]);
}

export function typeOf(type: Type): Type {
  return parameterized("type", "type", [type]);
}

export function opaque(name: string, ...parameters: Type[]): Type {
  return parameterized("opaque", name, parameters);
}

export function optionalOf(type: Type): Type {
  return opaque("optional_type", type);
}

export function struct(name: string, fields: ReadonlyMap<string, Type> = new Map()): Type {
  return { kind: "struct", name, parameters: NONE, weight: 1, fields };
}

export function typeParameter(name: string): Type {
  return { kind: "param", name, parameters: NONE, weight: 1 };
}

export function isDyn(type: Type): boolean {
  return type.kind === "dyn" || type.kind === "any";
}

export function isDynOrError(type: Type): boolean {
  return isDyn(type) || type.kind === "error";
}

/** The content type of an optional; undefined for any other type. */
export function optionalContent(type: Type): Type | undefined {
  return type.kind === "opaque" && type.name === "optional_type" ? type.parameters[0] : undefined;
}

export function isSameType(left: Type, right: Type): boolean {
  if (left === right) return true;
  if (left.kind !== right.kind || left.name !== right.name) return false;
  if (left.parameters.length !== right.parameters.length) return false;
  return left.parameters.every((parameter, index) => isSameType(parameter, right.parameters[index] ?? ERROR));
}

const FORMATTED: Partial<Record<TypeKind, string>> = {
  any: "any",
  duration: "duration",
  error: "!error!",
  null: "null",
  timestamp: "timestamp",
};

/** The type as messages show it. */
export function formatType(type: Type): string {
  const fixed = FORMATTED[type.kind];
  if (fixed !== undefined) return fixed;
  if (type.parameters.length === 0) return type.name;
  return `${type.name}(${type.parameters.map(formatType).join(", ")})`;
}
