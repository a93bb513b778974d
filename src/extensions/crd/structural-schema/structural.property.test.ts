import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { setDefaults } from "./defaults.ts";
import { parseStructural } from "./parse.ts";
import { pruneUnknown } from "./prune.ts";
import { listTypeErrors } from "./validate/list-types.ts";
import { valueErrors } from "./validate/validate-value.ts";

/** A generated schema, with generated values that are valid by it. */
interface Described {
  readonly schema: JsonObject;
  readonly value: fc.Arbitrary<unknown>;
}

const name = fc.constantFrom("a", "b", "c", "__proto__", "constructor", "d.e");

const texts: fc.Arbitrary<Described> = fc.nat({ max: 5 }).map((minLength) => ({
  schema: { type: "string", minLength, maxLength: minLength + 5, pattern: "^[a-f]*$" },
  value: fc.string({ unit: fc.constantFrom(..."abcdef"), minLength, maxLength: minLength + 5 }),
}));

const numbers: fc.Arbitrary<Described> = fc.integer({ min: -100, max: 100 }).map((minimum) => ({
  schema: { type: "integer", minimum, maximum: minimum + 50, format: "int32" },
  value: fc.integer({ min: minimum, max: minimum + 50 }),
}));

const choices: fc.Arbitrary<Described> = fc
  .uniqueArray(fc.oneof(fc.string(), fc.integer(), fc.boolean()), { minLength: 1, maxLength: 4 })
  .map((values) => ({ schema: { enum: values, ...OPEN }, value: fc.constantFrom(...values) }));

const OPEN = { "x-kubernetes-preserve-unknown-fields": true };

const { described } = fc.letrec<{ described: Described }>((tie) => ({
  described: fc.oneof(
    { maxDepth: 4, depthSize: "small" },
    texts,
    numbers,
    choices,
    fc.constant({ schema: { "x-kubernetes-int-or-string": true }, value: fc.oneof(fc.integer(), fc.string()) }),
    tie("described").map(listOf),
    tie("described").map(mapOf),
    fc
      .uniqueArray(fc.tuple(name, tie("described"), fc.boolean()), { selector: ([key]) => key, maxLength: 4 })
      .map(objectOf),
    tie("described").map(alternatives),
  ),
}));

function listOf({ schema, value }: Described): Described {
  return {
    schema: { type: "array", items: schema, minItems: 1, maxItems: 3 },
    value: fc.array(value, { minLength: 1, maxLength: 3 }),
  };
}

function mapOf({ schema, value }: Described): Described {
  return {
    schema: { type: "object", additionalProperties: schema, maxProperties: 3 },
    value: fc.dictionary(name, value, { maxKeys: 3 }),
  };
}

function objectOf(members: readonly (readonly [string, Described, boolean])[]): Described {
  const required = members.filter(([, , isRequired]) => isRequired).map(([key]) => key);
  const values = members.map(([key, { value }, isRequired]) =>
    (isRequired ? value.map((one): unknown => one) : fc.option(value, { nil: undefined })).map(
      (one) => [key, one] as const,
    ),
  );
  return {
    schema: {
      type: "object",
      properties: Object.fromEntries(members.map(([key, { schema }]) => [key, schema])),
      required,
    },
    value: fc
      .tuple(...values)
      .map((pairs): unknown => Object.fromEntries(pairs.filter(([, value]) => value !== undefined))),
  };
}

/** Adds anyOf, oneOf and allOf that are true for every value that is valid by the schema itself. */
function alternatives({ schema, value }: Described): Described {
  const nested = Object.fromEntries(Object.entries(schema).filter(([key]) => /^(?:m(?:in|ax)|pattern|enum)/.test(key)));
  return {
    schema: { ...schema, allOf: [nested], anyOf: [{ not: {} }, nested], oneOf: [nested, { not: nested }] },
    value,
  };
}

const valid = described.chain(({ schema, value }) => fc.tuple(fc.constant(schema), value));

test("generated values that are valid by their schema have no errors and are not pruned", () => {
  fc.assert(
    fc.property(valid, ([source, value]) => {
      const schema = parseStructural({ type: "object", properties: { v: source } });
      const object = { v: structuredClone(value) };
      expect([...valueErrors(object, schema), ...listTypeErrors(object, schema)]).toEqual([]);
      expect(pruneUnknown(object, schema, { isResourceRoot: false })).toEqual([]);
      expect(object).toEqual({ v: value });
    }),
  );
});

test("pruning and defaulting are idempotent and never throw, for any value", () => {
  const withDefault = fc
    .tuple(valid, fc.boolean())
    .map(([[schema, value], nullable]): JsonObject => ({ ...schema, default: value, nullable }));
  fc.assert(
    fc.property(withDefault, fc.jsonValue(), (source, sent) => {
      const schema = parseStructural({
        type: "object",
        properties: { v: source, w: { type: "array", items: source } },
      });
      const object: JsonObject = { v: sent, w: [sent, null], x: sent };
      pruneUnknown(object, schema, { isResourceRoot: true });
      expect(pruneUnknown(object, schema, { isResourceRoot: true })).toEqual([]);
      setDefaults(object, schema);
      const once = JSON.stringify(object);
      expect(setDefaults(object, schema)).toBe(false);
      expect(JSON.stringify(object)).toBe(once);
      expect([...valueErrors(object, schema, { existing: object })].length).toBeLessThanOrEqual(100);
    }),
  );
});
