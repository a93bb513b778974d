/**
 * Renders an inspection as JSON for programs: the fields of `Inspection` in their order, with the verdict. docs/inspect.md
 * documents the shape.
 */
import type { Inspection } from "../inspect/inspection.ts";
import { verdictOf } from "./verdict.ts";

/** JSON.stringify escapes only control characters below U+0020, but a terminal also obeys those from U+007F to U+009F. */
const UNESCAPED = /[\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/gu;

export function inspectionJson(inspection: Inspection, ignored: readonly string[]): string {
  const { kind, apiVersion, ...rest } = inspection;
  const value = { kind, apiVersion, verdict: { ...verdictOf(inspection), ignored }, ...rest };
  return `${JSON.stringify(value, undefined, 2).replace(UNESCAPED, escaped)}\n`;
}

function escaped(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
