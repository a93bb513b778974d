/** How functions are declared: what they take and give, what they do, and what a call of them costs. */
import type { Value } from "../values/value.ts";
import { parametersIn, typeFromText } from "../types/type-text.ts";
import type { Type } from "../types/type.ts";

type Implementation = (...args: never[]) => Value;

export interface Overload {
  readonly id: string;
  readonly name: string;
  readonly isMember: boolean;
  /** With the receiver of a member first. */
  readonly args: readonly Type[];
  readonly result: Type;
  readonly typeParameters: readonly string[];
  readonly call: Implementation;
}

const MEMBER = /^([^(]+)\.(\w+)\((.*)\): (.+)$/;
const GLOBAL = /^:?([^(]+)\((.*)\): (.+)$/;

function argTexts(text: string): string[] {
  return text === "" ? [] : text.split(/, (?![^<]*>)/);
}

interface Signature {
  readonly name: string;
  readonly isMember: boolean;
  readonly args: readonly string[];
  readonly result: string;
}

function signatureOf(text: string): Signature {
  const member = text.startsWith(":") ? null : MEMBER.exec(text);
  if (member !== null) {
    const [, receiver = "", name = "", args = "", result = ""] = member;
    return { name, isMember: true, args: [receiver, ...argTexts(args)], result };
  }
  const [, name = "", args = "", result = ""] = GLOBAL.exec(text) ?? [];
  return { name, isMember: false, args: argTexts(args), result };
}

/**
 * `overload("contains_string", "string.contains(string): bool", …)`. What stands before the dot is the receiver; names
 * with a dot that have none, and operators, are written with a colon: `:optional.of(V): optional<V>`.
 */
export function overload(id: string, text: string, call: Implementation): Overload {
  const { name, isMember, args, result } = signatureOf(text);
  const types = args.map(typeFromText);
  const resultType = typeFromText(result);
  const parameters = new Set<string>();
  for (const type of [...types, resultType]) parametersIn(type, parameters);
  return { id, name, isMember, args: types, result: resultType, typeParameters: [...parameters], call };
}
