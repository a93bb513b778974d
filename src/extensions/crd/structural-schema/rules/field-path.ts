/** Parses the fieldPath of a CEL rule: the field, relative to the validated value, at which a failure is reported. */
import type { NestedValidation, StructuralSchema } from "../schema.ts";

type PathSchema = StructuralSchema | NestedValidation;

/** Tokens: the delimiters `.`, `[` and `]`, quoted strings, and the text between them. */
export function* pathTokens(jsonPath: string): Generator<string> {
  const token = /'(?:[^'\\]|\\[^])*'|[.[\]]|[^.[\]]+/y;
  while (token.lastIndex < jsonPath.length) {
    const at = token.lastIndex;
    const match = token.exec(jsonPath);
    if (match === null) {
      yield jsonPath.slice(at);
      return;
    }
    yield match[0];
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "'": "'",
  "\\": "\\",
};

/** Removes the quotes of a token. Undefined if the token is not quoted, or contains an invalid escape. */
export function unquoted(token: string): string | undefined {
  if (token.length < 2 || !token.startsWith("'") || !token.endsWith("'")) return undefined;
  let isWrong = false;
  const text = token.slice(1, -1).replace(/\\([^])/g, (_match, character: string) => {
    const escaped = Object.hasOwn(ESCAPES, character) ? ESCAPES[character] : undefined;
    isWrong ||= escaped === undefined;
    return escaped ?? "";
  });
  return isWrong ? undefined : text;
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

/** Returns the path in the form that errors use; undefined if the schema has no such field. */
export function normalizedFieldPath(fieldPath: string, root: PathSchema): string | undefined {
  const tokens = [...pathTokens(fieldPath)];
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
