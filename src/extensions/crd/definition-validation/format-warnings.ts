/** Formats that nobody holds values against: who writes them should know. */
import { goQuote } from "../../../meta/go-quote.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { knownFormat } from "../structural-schema/validate/formats.ts";
import type { KindContext } from "../../../objects/kinds/kind.ts";
import { internalSpec, schemasOf } from "./internal-spec.ts";
import { eachSchema, schemaType } from "./schema-node.ts";

const WARNINGS_MAX = 100;

/** Those that are new, each once. */
export function* formatWarnings(
  definition: JsonObject,
  existing: JsonObject | undefined,
  { minor }: KindContext,
): Generator<string> {
  if (minor < 34) return;
  const before = new Set(existing === undefined ? [] : unknownFormats(existing, minor));
  const told = new Set<string>();
  for (const format of unknownFormats(definition, minor)) {
    if (before.has(format) || told.has(format)) continue;
    if (told.size === WARNINGS_MAX) return;
    told.add(format);
    yield `unrecognized format ${goQuote(format)}`;
  }
}

function* unknownFormats(definition: JsonObject, minor: number): Generator<string> {
  for (const root of schemasOf(internalSpec(objectAt(definition, "spec"))))
    for (const schema of eachSchema(root)) {
      const format = stringAt(schema, "format");
      if (format !== "" && !isKnownFormat(format, schemaType(schema), minor)) yield format;
    }
}

function isKnownFormat(format: string, type: string, minor: number): boolean {
  // Before 1.36 only those of texts are looked at.
  if (minor < 36 && type !== "string") return true;
  return knownFormat(format, type === "" ? [] : [type], minor) !== "";
}
