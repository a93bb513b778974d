/** Compiles a schema to a function that validates a value. */
import type { JsonObject } from "../../../../meta/json.ts";
import { compileList, compileObject, type ListCheck, type MemberChecks, type ObjectCheck } from "./collections.ts";
import { isUnchanged } from "./correlate.ts";
import { compileEnum, type EnumCheck } from "./enums.ts";
import { formatCheck, knownFormat, onlyType, type FormatCheck } from "./formats.ts";
import { compileJunctors, type JunctorCheck } from "./junctors.ts";
import { toNode, type AnySchema, type ValidatedSchema } from "./node.ts";
import { compileNumbers, type NumberCheck } from "./numbers.ts";
import { compileTexts, type TextCheck } from "./texts.ts";
import { checkType, jsonKindOf, type TypeRules } from "./types.ts";
import type { Walk } from "./walk.ts";
import type { ReleaseGates } from "../../../../objects/release-gates.ts";

/**
 * Validates a value, and adds errors to the walk. Returns how much of the value matched, counted as kubernetes does; by
 * this number kubernetes chooses the alternative of anyOf or oneOf whose errors it reports. `existing` is the value
 * before the update; undefined if there is none.
 */
export type SchemaCheck = (value: unknown, walk: Walk, existing: unknown) => number;

/** `gates` are those of the release by whose rules values are validated. */
export function compileCheck(schema: AnySchema, gates: ReleaseGates): SchemaCheck {
  const node = toNode(schema);
  const parts = compileParts(node, gates);
  const { structural } = node;
  if (structural === undefined) return (value, walk) => checkValue(value, parts, walk, undefined);
  return (value, walk, existing) => {
    const before = walk.problems.length;
    const matches = checkValue(value, parts, walk, existing);
    const hasProblems = walk.problems.length > before;
    if (hasProblems && existing !== undefined && isUnchanged(value, existing, structural))
      walk.problems.length = before;
    return matches;
  };
}

interface Parts {
  readonly type: TypeRules;
  readonly hasType: boolean;
  readonly junctors: JunctorCheck | undefined;
  readonly texts: TextCheck | undefined;
  readonly format: FormatCheck | undefined;
  readonly numbers: NumberCheck | undefined;
  readonly list: ListCheck;
  readonly enum: EnumCheck | undefined;
  readonly object: ObjectCheck;
}

function compileParts(node: ValidatedSchema, gates: ReleaseGates): Parts {
  const { types, nullable, value } = node;
  const format = knownFormat(value.format, types, gates);
  const compile = (schema: AnySchema) => compiledLater(schema, gates);
  return {
    type: { types, nullable, format },
    hasType: types.length > 0 || format !== "",
    junctors: compileJunctors(value, compile),
    texts: compileTexts(value),
    format: formatCheck(format),
    numbers: compileNumbers({ value, type: onlyType(types), format, gates }),
    list: compileList(node, node.items === undefined ? undefined : compile(node.items)),
    enum: compileEnum(value.enum),
    object: compileObject(node, memberChecks(node, compile)),
  };
}

function memberChecks(
  { properties, additionalProperties }: ValidatedSchema,
  compile: (schema: AnySchema) => SchemaCheck,
): MemberChecks {
  const additional = typeof additionalProperties === "object" ? compile(additionalProperties) : undefined;
  return {
    properties: new Map([...properties].map(([name, schema]) => [name, compile(schema)])),
    additional: additionalProperties === false ? false : additional,
  };
}

/** Compiles a schema when it is first used, because most objects use a small part of a large schema. */
function compiledLater(schema: AnySchema, gates: ReleaseGates): SchemaCheck {
  let check: SchemaCheck | undefined;
  return (value, walk, existing) => {
    check ??= compileCheck(schema, gates);
    return check(value, walk, existing);
  };
}

/**
 * The number of matches that kubernetes counts for every value, for validators that always run, such as that of the
 * junctors (allOf, anyOf, oneOf, not).
 */
const MATCHES_OF_ALL = 4;

function checkValue(value: unknown, parts: Parts, walk: Walk, existing: unknown): number {
  const kind = jsonKindOf(value);
  const isOfType = (!parts.hasType && kind !== "null") || checkType(value, kind, parts.type, walk);
  if (kind === "null") {
    parts.enum?.(value, walk);
    return isOfType ? 1 : 0;
  }
  let matches = MATCHES_OF_ALL + (parts.junctors?.(value, walk) ?? 0);
  if (parts.hasType) matches += isOfType ? 2 : 1;
  if (kind === "string") matches += checkText(value as string, parts, walk);
  else if (kind === "array") matches += 2 + parts.list(value as readonly unknown[], walk, existing);
  else if (kind === "integer" || kind === "number") {
    parts.numbers?.(value as number, walk);
    matches += 2;
  }
  parts.enum?.(value, walk);
  return kind === "object" ? matches + 1 + parts.object(value as JsonObject, walk, existing) : matches;
}

function checkText(text: string, { texts, format, type }: Parts, walk: Walk): number {
  texts?.(text, walk);
  if (format === undefined) return 1;
  if (!format(text)) walk.invalidType(type.format, text);
  return 2;
}
