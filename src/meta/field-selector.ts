/** Parses field selectors: `=`, `==` and `!=` joined by commas; `\` escapes `,`, `=` and itself. */
import { SelectorError } from "./label-selector.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly value: string;
  readonly negated: boolean;
}

export function parseFieldSelector(text: string): FieldRequirement[] {
  const requirements: FieldRequirement[] = [];
  for (const term of splitTerms(text)) {
    if (term === "") continue;
    const match = splitTerm(term);
    if (match === undefined) throw new SelectorError(`invalid selector: '${text}'; can't understand '${term}'`);
    requirements.push({ field: match.field, value: unescapeValue(match.value), negated: match.operator === "!=" });
  }
  return requirements;
}

/** The value that the selector requires the field to equal; undefined if there is none. */
export function requiredValue(requirements: readonly FieldRequirement[], field: string): string | undefined {
  return requirements.find((requirement) => requirement.field === field && !requirement.negated)?.value;
}

function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  let isEscaped = false;
  for (let at = 0; at < text.length; at++) {
    if (isEscaped) isEscaped = false;
    else if (text[at] === "\\") isEscaped = true;
    else if (text[at] === ",") {
      terms.push(text.slice(start, at));
      start = at + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

function splitTerm(term: string): { field: string; operator: string; value: string } | undefined {
  for (let at = 0; at < term.length; at++) {
    for (const operator of ["!=", "==", "="]) {
      if (term.startsWith(operator, at))
        return { field: term.slice(0, at), operator, value: term.slice(at + operator.length) };
    }
  }
  return undefined;
}

function unescapeValue(text: string): string {
  if (!/[\\,=]/.test(text)) return text;
  let value = "";
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === "\\") {
      const escaped = [...text.slice(at + 1, at + 3)][0];
      if (escaped !== "\\" && escaped !== "," && escaped !== "=")
        throw new SelectorError(`invalid field selector: invalid escape sequence: \\${escaped ?? ""}`);
      value += escaped;
      at++;
    } else if (character === "," || character === "=")
      throw new SelectorError(`invalid field selector: unescaped character in value: ${character.charCodeAt(0)}`);
    else value += character;
  }
  return value;
}
