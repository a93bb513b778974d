import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSchemas } from "./catalog/schema-source.ts";
import { cloneJson, isJsonObject, type JsonObject } from "../meta/json.ts";
import { knownPart } from "./list-items.ts";
import type { FieldSchema, StructSchema } from "./schema.ts";
import { decodeTyped } from "./typed-decode.ts";
import {
  hasPlaceFor,
  hasUnknownFields,
  settleUnknownFields,
  type Omission,
  type SettledFields,
} from "./unknown-fields.ts";

const POD = openSchemas("1.31").kind("", "v1", "Pod")!;

function settle(existing: JsonObject, sent: JsonObject, omission: Omission = "not-known"): SettledFields {
  const { object: known } = decodeTyped(sent, POD);
  return settleUnknownFields({ sent, known, existing, schema: POD, omission });
}

function named(of: SettledFields): string[] {
  return of.named.map(({ name }) => name);
}

function container(name: string, more: JsonObject = {}): JsonObject {
  return { name, image: name, ...more };
}

describe("unknown fields that a body omits are kept", () => {
  test.each<[where: string, existing: JsonObject, sent: JsonObject, stored: JsonObject]>([
    [
      "in structs",
      { spec: { hostname: "a", novel: { x: [1] } }, novel: 1 },
      { spec: { hostname: "b" } },
      { spec: { hostname: "b", novel: { x: [1] } }, novel: 1 },
    ],
    [
      "in list items, found by their key at any position",
      { spec: { containers: [container("a", { novel: 1 }), container("b", { novel: 2 })] } },
      { spec: { containers: [container("c"), { name: "b", image: "new" }, container("a")] } },
      { spec: { containers: [container("c"), { name: "b", image: "new", novel: 2 }, container("a", { novel: 1 })] } },
    ],
    [
      "in items without a key that have not changed",
      {
        spec: {
          tolerations: [
            { key: "a", novel: 1 },
            { key: "b", novel: 2 },
          ],
        },
      },
      { spec: { tolerations: [{ key: "b" }, { key: "a" }, { key: "c" }] } },
      { spec: { tolerations: [{ key: "b", novel: 2 }, { key: "a", novel: 1 }, { key: "c" }] } },
    ],
    [
      "in equal items, if their number is unchanged",
      {
        spec: {
          tolerations: [
            { key: "a", novel: 1 },
            { key: "a", novel: 2 },
          ],
        },
      },
      { spec: { tolerations: [{ key: "a" }, { key: "a" }] } },
      {
        spec: {
          tolerations: [
            { key: "a", novel: 1 },
            { key: "a", novel: 2 },
          ],
        },
      },
    ],
    [
      "in the fields of list items",
      { spec: { containers: [container("a", { lifecycle: { novel: 1, preStop: { sleep: { seconds: 1 } } } })] } },
      { spec: { containers: [container("a", { lifecycle: { preStop: { sleep: { seconds: 2 } } } })] } },
      { spec: { containers: [container("a", { lifecycle: { novel: 1, preStop: { sleep: { seconds: 2 } } } })] } },
    ],
  ])("%s", (_where, existing, sent, stored) => {
    const settled = settle(existing, sent);
    expect(settled.object).toEqual(stored);
    expect(named(settled)).toEqual([]);
  });
});

describe("unknown fields are dropped with their parent:", () => {
  test.each<[what: string, existing: JsonObject, sent: JsonObject]>([
    ["a removed struct", { spec: { securityContext: { novel: 1 } } }, { spec: { hostname: "a" } }],
    ["a struct that is null", { spec: { securityContext: { novel: 1 } } }, { spec: { securityContext: null } }],
    [
      "an item with another key",
      { spec: { containers: [container("a", { novel: 1 })] } },
      { spec: { containers: [container("b")] } },
    ],
    [
      "an item without a key that has changed",
      { spec: { tolerations: [{ key: "a", novel: 1 }] } },
      { spec: { tolerations: [{ key: "a", value: "x" }] } },
    ],
    [
      "one of several equal items",
      {
        spec: {
          tolerations: [
            { key: "a", novel: 1 },
            { key: "a", novel: 2 },
          ],
        },
      },
      { spec: { tolerations: [{ key: "a" }] } },
    ],
    [
      "items that share their key",
      { spec: { containers: [container("a", { novel: 1 }), container("a", { novel: 2 })] } },
      { spec: { containers: [container("a")] } },
    ],
  ])("%s", (_what, existing, sent) => {
    const settled = settle(existing, sent);
    expect(settled.object).toEqual(decodeTyped(sent, POD).object);
    expect(named(settled)).toEqual([]);
  });
});

describe("a request", () => {
  test("that sends an unknown field with its stored value only repeats it, regardless of the order of the fields inside", () => {
    const existing = { spec: { novel: { a: 1, b: [2] }, containers: [container("a"), container("b", { novel: 1 })] } };
    const sent = { spec: { containers: [container("b", { novel: 1 })], novel: { b: [2], a: 1 } } };
    const settled = settle(existing, sent);
    expect(settled.object).toEqual(sent);
    expect([...settled.repeated]).toEqual(["spec.novel", "spec.containers[0].novel"]);
    expect(named(settled)).toEqual([]);
  });

  test("that sends another value, a new field, or null for an existing field changes the field, which is reported and dropped", () => {
    const existing = { novel: 1, spec: { novel: 1, gone: 1, other: 1 } };
    const settled = settle(existing, {
      novel: 1,
      spec: { novel: 2, gone: null, never: null, brand: { a: [{ b: 1 }] } },
    });
    expect(settled.object).toEqual({ novel: 1, spec: { other: 1 } });
    expect(named(settled)).toEqual(["spec.novel", "spec.gone", "spec.brand"]);
    expect(settled.named[2]?.paths).toEqual([
      ["spec", "brand"],
      ["spec", "brand", "a"],
      ["spec", "brand", "a", 0],
      ["spec", "brand", "a", 0, "b"],
    ]);
  });

  test("with a JSON Patch changes every unknown field that it removes; a merge patch only those outside of lists", () => {
    const existing = { spec: { novel: 1, containers: [container("a", { novel: 1 })] } };
    const patched = { spec: { containers: [container("a")] } };
    const removed = settle(existing, patched, "removed");
    expect(named(removed)).toEqual(["spec.novel", "spec.containers[0].novel"]);
    expect(removed.object).toEqual(patched);
    const merged = settle(existing, patched, "removed-outside-lists");
    expect(named(merged)).toEqual(["spec.novel"]);
    expect(merged.object).toEqual({ spec: { containers: [container("a", { novel: 1 })] } });
  });

  test("with many unknown fields reports them up to a limit", () => {
    const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`x${index}`, { y: [index] }]));
    const settled = settle({}, { spec: many });
    expect([settled.named.length, settled.isNamedCut]).toEqual([1_000, true]);
    expect(settled.named.flatMap(({ paths }) => paths).length).toBeLessThanOrEqual(2_000);
  });

  test("reports a changed field once, even if many list items have it", () => {
    const containers = Array.from({ length: 5_000 }, (_, index) =>
      container(`c${index}`, { novel: { [`k${index % 2}`]: 1 } }),
    );
    const settled = settle({}, { spec: { containers, later: 1 } });
    expect([named(settled), settled.isNamedCut]).toEqual([["spec.later", "spec.containers[0].novel"], false]);
  });

  test("may use any field name", () => {
    const existing = JSON.parse(`{"spec":{"__proto__":{"a":1},"constructor":2}}`) as JsonObject;
    const settled = settle(existing, { spec: { hostname: "a" } });
    expect(JSON.stringify(settled.object)).toBe(`{"spec":{"hostname":"a","__proto__":{"a":1},"constructor":2}}`);
  });
});

describe("hasPlaceFor reports whether a release has a field:", () => {
  const pods = (release: "1.31" | "1.33"): StructSchema => openSchemas(release).kind("", "v1", "Pod")!;

  test.each<[path: (string | number)[], old: boolean, young: boolean]>([
    [["spec", "hostname"], true, true],
    [["spec", "resources"], false, true],
    [["spec", "resources", "limits", "cpu"], false, true],
    [["spec", "resources", "novel"], false, false],
    [["spec", "containers", 3, "lifecycle", "stopSignal"], false, true],
    [["metadata", "labels", "anything"], true, true],
    [["metadata", "managedFields", 0, "fieldsV1", "f:x"], true, true],
  ])("%j: in 1.31 %s, in 1.33 %s", (path, old, young) => {
    expect([hasPlaceFor(pods("1.31"), path), hasPlaceFor(pods("1.33"), path)]).toEqual([old, young]);
  });
});

/** A small value of the type; depth is limited because types may be recursive. */
function valueOf(field: FieldSchema, depth: number): fc.Arbitrary<unknown> {
  if (field.quantity) return fc.constantFrom("1", "2Gi");
  if (field.intOrString) return fc.constantFrom(80, "http");
  if (field.format === "date-time") return fc.constant("2020-01-01T00:00:00Z");
  switch (field.type) {
    case "struct":
      return field.struct === undefined || depth === 0 ? fc.constant({}) : structOf(field.struct, depth - 1);
    case "array":
      return field.items === undefined
        ? fc.constant([1])
        : fc.array(valueOf(field.items, depth), { minLength: 1, maxLength: 3 });
    case "map":
      return fc.dictionary(fc.constantFrom("k", "l.m"), valueOf(field.items!, depth), { minKeys: 1, maxKeys: 2 });
    case "integer":
    case "number":
      return fc.constantFrom(1, 2);
    case "boolean":
      return fc.boolean();
    case "string":
      return field.format === "byte" ? fc.constant("AAAA") : fc.constantFrom("a", "b", "c");
    case "any":
      return fc.constant({ f: 1 });
  }
}

const LAZY = new Map<string, fc.Arbitrary<JsonObject>>();

function structOf(struct: StructSchema, depth: number): fc.Arbitrary<JsonObject> {
  const key = `${struct.name} ${depth}`;
  let known = LAZY.get(key);
  if (known === undefined) {
    const names = [...struct.fields.keys()];
    known = fc
      .uniqueArray(fc.constantFrom(...names), { maxLength: 5 })
      .chain((chosen) =>
        fc.record(Object.fromEntries(chosen.map((name) => [name, valueOf(struct.fields.get(name)!, depth)]))),
      );
    LAZY.set(key, known);
  }
  return known;
}

/** Adds unknown fields at positions that `choose` draws. */
function withNovelties(object: JsonObject, struct: StructSchema, choose: () => number): JsonObject {
  const result = cloneJson(object);
  const add = (value: unknown, field: FieldSchema): void => {
    if (field.type === "array" && Array.isArray(value) && field.items !== undefined)
      for (const item of value) add(item, field.items);
    else if (field.type === "map" && isJsonObject(value))
      for (const item of Object.values(value)) add(item, field.items!);
    else if (field.type === "struct" && isJsonObject(value) && field.struct !== undefined) addTo(value, field.struct);
  };
  const addTo = (value: JsonObject, of: StructSchema): void => {
    for (const key of Object.keys(value)) add(value[key], of.fields.get(key)!);
    if (choose() % 3 === 0) value["novel"] = { number: choose() };
  };
  addTo(result, struct);
  return result;
}

const KINDS: readonly (readonly [group: string, version: string, kind: string])[] = [
  ["", "v1", "Pod"],
  ["", "v1", "Service"],
  ["apps", "v1", "Deployment"],
  ["batch", "v1", "CronJob"],
  ["networking.k8s.io", "v1", "Ingress"],
];

interface Drawn {
  readonly schema: StructSchema;
  readonly plain: JsonObject;
  readonly stored: JsonObject;
}

const DRAWN: fc.Arbitrary<Drawn> = fc.constantFrom(...KINDS).chain(([group, version, kind]) => {
  const schema = openSchemas("1.33").kind(group, version, kind)!;
  return fc.tuple(structOf(schema, 4), fc.infiniteStream(fc.nat(1000))).map(([plain, numbers]) => ({
    schema,
    plain,
    stored: withNovelties(plain, schema, () => numbers.next().value),
  }));
});

describe("for any stored object", () => {
  const settleIn = ({ schema, stored }: Drawn, sent: JsonObject, omission: Omission): SettledFields =>
    settleUnknownFields({ sent, known: decodeTyped(sent, schema).object, existing: stored, schema, omission });

  test("a client that sends the object back unchanged changes no field", () => {
    fc.assert(
      fc.property(
        DRAWN,
        fc.constantFrom<Omission>("not-known", "removed", "removed-outside-lists"),
        (drawn, omission) => {
          const settled = settleIn(drawn, drawn.stored, omission);
          expect(settled.object).toEqual(drawn.stored);
          expect(settled.named).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });

  test("an old client that sends back the fields it knows changes no known field, and adds no unknown field", () => {
    fc.assert(
      fc.property(DRAWN, (drawn) => {
        const { schema, stored } = drawn;
        const settled = settleIn(drawn, knownPart(stored, schema), "not-known");
        expect(settled.named).toEqual([]);
        expect(knownPart(settled.object, schema)).toEqual(knownPart(stored, schema));
        expect(settleIn(drawn, settled.object, "not-known").object).toEqual(settled.object);
        expect(settled.object["novel"]).toEqual(stored["novel"]);
        const count = (value: unknown): number => JSON.stringify(value).split(`"novel":`).length;
        expect(count(settled.object)).toBeLessThanOrEqual(count(stored));
      }),
      { numRuns: 300 },
    );
  });

  test("hasUnknownFields reports whether the object has unknown fields", () => {
    fc.assert(
      fc.property(DRAWN, ({ schema, plain, stored }) => {
        expect(hasUnknownFields(plain, schema)).toBe(false);
        expect(hasUnknownFields(stored, schema)).toBe(JSON.stringify(stored).includes(`"novel":`));
      }),
      { numRuns: 300 },
    );
  });
});
