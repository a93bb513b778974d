/** Warns about formats in the schemas of a CRD that the release does not validate. */
import { goQuote } from "../../../meta/go-quote.ts";
import { objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { knownFormat } from "../structural-schema/validate/formats.ts";
import type { KindContext } from "../../../objects/kinds/kind.ts";
import { internalSpec, schemasOf } from "./internal-spec.ts";
import { eachSchema, schemaType } from "./schema-node.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

const WARNINGS_MAX = 100;

/** Returns one warning for each unknown format that the existing CRD does not have. */
export function* formatWarnings(
  crd: JsonObject,
  existing: JsonObject | undefined,
  { gates }: KindContext,
): Generator<string> {
  if (!gates.isOn("CRDFormatWarnings")) return;
  const before = new Set(existing === undefined ? [] : unknownFormats(existing, gates));
  const reported = new Set<string>();
  for (const format of unknownFormats(crd, gates)) {
    if (before.has(format) || reported.has(format)) continue;
    if (reported.size === WARNINGS_MAX) return;
    reported.add(format);
    yield `unrecognized format ${goQuote(format)}`;
  }
}

function* unknownFormats(definition: JsonObject, gates: ReleaseGates): Generator<string> {
  for (const root of schemasOf(internalSpec(objectAt(definition, "spec"))))
    for (const schema of eachSchema(root)) {
      const format = stringAt(schema, "format");
      if (format !== "" && !isKnownFormat(format, schemaType(schema), gates)) yield format;
    }
}

function isKnownFormat(format: string, type: string, gates: ReleaseGates): boolean {
  if (!gates.isOn("CRDFormatWarningsForAllTypes") && type !== "string") return true;
  return knownFormat(format, type === "" ? [] : [type], gates) !== "";
}
