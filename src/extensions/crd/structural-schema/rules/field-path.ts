/** The fieldPath of a rule: where below the value its failure is told. */
import type { NestedValidation, StructuralSchema } from "../schema.ts";

type PathSchema = StructuralSchema | NestedValidation;

const TOKEN = /'(?:[^'\\]|\\.|\\)*'|[.[\]]|[^.[\]]+/y;
const ESCAPES: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["'", "'"],
  ["\\", "\\"],
]);

function tokensOf(path: string): string[] {
  const tokens: string[] = [];
  let position = 0;
  while (position < path.length) {
    TOKEN.lastIndex = position;
    const token = TOKEN.exec(path)?.[0];
    if (token === undefined) return [];
    tokens.push(token);
    position += token.length;
  }
  return tokens;
}

function unquoted(token: string): string | undefined {
  if (!/^'.*'$/s.test(token) || token.length < 2) return undefined;
  let isValid = true;
  const text = token.slice(1, -1).replaceAll(/\\(.)/g, (_all, letter: string) => {
    const plain = ESCAPES.get(letter);
    isValid &&= plain !== undefined;
    return plain ?? "";
  });
  return isValid ? text : undefined;
}

interface Step {
  readonly text: string;
  readonly schema: PathSchema;
}

function stepTo(schema: PathSchema, name: string, path: string): Step | undefined {
  if (schema.properties.size > 0) {
    const property = schema.properties.get(name);
    return property === undefined ? undefined : { text: path === "" ? name : `${path}.${name}`, schema: property };
  }
  const { additionalProperties } = schema;
  return typeof additionalProperties === "object"
    ? { text: `${path}[${name}]`, schema: additionalProperties }
    : undefined;
}

/** As errors write it; undefined when it leads nowhere. */
export function normalizedFieldPath(fieldPath: string, root: PathSchema): string | undefined {
  const tokens = tokensOf(fieldPath);
  let step: Step = { text: "", schema: root };
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index];
    const isBracket = token === "[";
    if (!isBracket && token !== ".") return undefined;
    const written = tokens[++index];
    const name = written === undefined ? undefined : isBracket ? unquoted(written) : written;
    const next: Step | undefined = name === undefined ? undefined : stepTo(step.schema, name, step.text);
    if (next === undefined) return undefined;
    if (isBracket && tokens[++index] !== "]") return undefined;
    step = next;
  }
  return step.text;
}
