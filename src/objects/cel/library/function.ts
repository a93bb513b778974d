/** Declarations of functions: arguments, result type, implementation and overload ID. */
import type { Value } from "../values/value.ts";
import { parametersIn, typeFromText } from "../types/type-text.ts";
import type { Type } from "../types/type.ts";

type Implementation = (...args: never[]) => Value;

export interface Overload {
  readonly id: string;
  readonly name: string;
  readonly isMember: boolean;
  /** Argument types, beginning with the receiver of a member function. */
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
 * Declares an overload from text: `overload("contains_string", "string.contains(string): bool", …)`. The type before
 * the dot is the receiver. Operators, and dotted names without a receiver, begin with a colon: `:optional.of(V):
 * optional<V>`.
 */
export function overload(id: string, text: string, call: Implementation): Overload {
  const { name, isMember, args, result } = signatureOf(text);
  const types = args.map(typeFromText);
  const resultType = typeFromText(result);
  const parameters = new Set<string>();
  for (const type of [...types, resultType]) parametersIn(type, parameters);
  return { id, name, isMember, args: types, result: resultType, typeParameters: [...parameters], call };
}
