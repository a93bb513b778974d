/** Writes JSON text, including text that no JavaScript value represents: numbers out of range and duplicate fields. */
import { isJsonObject } from "../../src/meta/json.ts";

/** Text that is written literally, such as 1e400 or 9007199254740993. */
export class Literal {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

/** An object as a list of fields, which may be duplicate or named __proto__. */
export class Members {
  readonly pairs: readonly (readonly [key: string, value: unknown])[];

  constructor(pairs: readonly (readonly [key: string, value: unknown])[]) {
    this.pairs = pairs;
  }
}

export function toJsonText(value: unknown): string {
  if (value instanceof Literal) return value.text;
  if (value instanceof Members) return membersText(value.pairs);
  if (Array.isArray(value)) return `[${value.map(toJsonText).join(",")}]`;
  if (isJsonObject(value)) return membersText(Object.entries(value));
  return Object.is(value, -0) ? "-0" : (JSON.stringify(value) ?? "null");
}

function membersText(pairs: readonly (readonly [string, unknown])[]): string {
  return `{${pairs.map(([key, value]) => `${JSON.stringify(key)}:${toJsonText(value)}`).join(",")}}`;
}

/** The value that a JSON parser would return, for encodings other than JSON. */
export function toPlainJson(value: unknown): unknown {
  try {
    return JSON.parse(toJsonText(value));
  } catch {
    return null;
  }
}
