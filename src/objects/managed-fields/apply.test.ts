import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import { cloneJson, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { StructSchema } from "../schema.ts";
import { applyObject, type Apply, type ApplyOutcome } from "./apply.ts";
import { checkApplied } from "./applied-check.ts";
import { FieldSet } from "./field-set.ts";
import { fromFieldsV1, toFieldsV1 } from "./fields-v1.ts";
import { pathText } from "./path-element.ts";
import { appliableObjects } from "../../../test/testing/objects/managed-fields/appliable-objects.ts";
import { NEVER_TRACKED } from "./tracking.ts";
import { changedFields, fieldsOf } from "./typed-set.ts";

const schemas = openSchemas("1.36");
const FIRST = "2026-01-01T00:00:00Z";
const LATER = "2026-01-01T00:00:05Z";

interface Kind {
  readonly schema: StructSchema;
  readonly identity: JsonObject;
}

function kindOf(group: string, kind: string): Kind {
  const apiVersion = group === "" ? "v1" : `${group}/v1`;
  return { schema: schemas.kind(group, "v1", kind)!, identity: { apiVersion, kind } };
}

type ApplyOptions = Partial<Apply> & { readonly applied: JsonObject };

function apply({ schema, identity }: Kind, options: ApplyOptions): ApplyOutcome {
  return applyObject({
    live: undefined,
    sent: options.applied,
    hasNull: false,
    force: false,
    schema,
    apiVersion: stringAt(identity, "apiVersion"),
    manager: "one",
    subresource: "",
    time: FIRST,
    ...options,
  });
}

/** The object with its managedFields, as it would be stored. */
function stored(outcome: ApplyOutcome): JsonObject {
  if (outcome.kind !== "applied") throw new Error(`not applied: ${outcome.kind}`);
  const { object, managedFields } = outcome;
  return { ...object, metadata: { ...objectAt(object, "metadata"), uid: "u", managedFields } };
}

function owned(object: JsonObject, manager: string): FieldSet {
  const entries = (objectAt(object, "metadata")["managedFields"] ?? []) as JsonObject[];
  return fromFieldsV1(entries.find((entry) => entry["manager"] === manager)?.["fieldsV1"]);
}

function tracked(applied: JsonObject, schema: StructSchema): FieldSet {
  return fieldsOf(applied, schema).difference(NEVER_TRACKED);
}

const KINDS: readonly (readonly [name: string, kind: Kind])[] = [
  ["ConfigMap", kindOf("", "ConfigMap")],
  ["Pod", kindOf("", "Pod")],
  ["Service", kindOf("", "Service")],
  ["Deployment", kindOf("apps", "Deployment")],
  ["Ingress", kindOf("networking.k8s.io", "Ingress")],
];

describe.each(KINDS)("properties of apply for a %s:", (_name, kind) => {
  const { schema, identity } = kind;
  const objects = appliableObjects(schema, identity);
  const check = <T>(property: fc.IProperty<T>): void => fc.assert(property, { numRuns: 80, seed: 1 });

  test("applying twice equals applying once", () => {
    check(
      fc.property(objects, objects, (other, applied) => {
        const live = stored(apply(kind, { applied: other, manager: "other" }));
        const once = stored(apply(kind, { live, applied, force: true }));
        const again = stored(apply(kind, { live: once, applied, time: LATER }));
        expect(again).toEqual(once);
      }),
    );
  });

  test("the inputs are not changed", () => {
    check(
      fc.property(objects, objects, objects, (first, second, third) => {
        const live = stored(apply(kind, { live: stored(apply(kind, { applied: first })), applied: second }));
        const before = cloneJson({ live, third });
        apply(kind, { live, applied: third, force: true });
        expect({ live, third }).toEqual(before);
      }),
    );
  });

  test("appliers of different fields never conflict, regardless of their order", () => {
    check(
      fc.property(objects, objects, (left, right) => {
        fc.pre(tracked(left, schema).intersection(tracked(right, schema)).isEmpty);
        const [one, two] = [left, right].map((applied, index) => ({ applied, manager: `m${index}` })) as [
          ApplyOptions,
          ApplyOptions,
        ];
        const there = stored(apply(kind, { ...two, live: stored(apply(kind, one)) }));
        const back = stored(apply(kind, { ...one, live: stored(apply(kind, two)) }));
        for (const { manager, applied } of [one, two]) {
          for (const object of [there, back]) {
            expect(toFieldsV1(owned(object, manager!))).toEqual(toFieldsV1(tracked(applied, schema)));
          }
        }
        expect(fieldsOf(there, schema).equals(fieldsOf(back, schema))).toBe(true);
      }),
    );
  });

  test("a forced apply always succeeds; afterwards the applier owns exactly the fields that it applied, with the applied values", () => {
    check(
      fc.property(objects, objects, objects, (first, second, applied) => {
        const live = stored(
          apply(kind, {
            live: stored(apply(kind, { applied: first, manager: "a" })),
            applied: second,
            manager: "b",
            force: true,
          }),
        );
        const object = stored(apply(kind, { live, applied, force: true }));
        expect(toFieldsV1(owned(object, "one"))).toEqual(toFieldsV1(tracked(applied, schema)));
        const { changed } = changedFields(live, object, schema, "zero");
        for (const other of ["a", "b"]) expect(owned(object, other).intersection(changed).isEmpty).toBe(true);
        // Another applier of the same values has no conflict, which proves that the values are set.
        const { kind: outcome } = apply(kind, { live: object, applied, manager: "somebody" });
        expect(outcome).toBe("applied");
      }),
    );
  });

  test("a field that the applier no longer applies is removed exactly if no other manager owns it", () => {
    check(
      fc.property(objects, objects, (mine, shared) => {
        const first = stored(apply(kind, { applied: mine }));
        const both = stored(apply(kind, { live: first, applied: shared, manager: "two", force: true }));
        const left = stored(apply(kind, { live: both, applied: identity }));
        expect(owned(left, "one").isEmpty).toBe(true);
        const others = tracked(shared, schema);
        const there = fieldsOf(left, schema);
        for (const path of tracked(mine, schema).leaves().paths()) {
          // Skip an empty map or list to which another manager has added items.
          if (!fieldsOf(both, schema).has(path)) continue;
          expect([pathText(path), there.has(path)]).toEqual([pathText(path), others.has(path)]);
        }
      }),
    );
  });

  test("every applied field has an owner, and field sets survive a round trip through fieldsV1", () => {
    check(
      fc.property(fc.array(objects, { minLength: 1, maxLength: 4 }), (applications) => {
        let live: JsonObject | undefined;
        let wanted = FieldSet.of();
        for (const [index, applied] of applications.entries()) {
          live = stored(apply(kind, { live, applied, manager: `m${index}`, force: true }));
          wanted = wanted.union(tracked(applied, schema));
        }
        const sets = applications.map((_, index) => owned(live!, `m${index}`));
        const all = sets.reduce((sum, set) => sum.union(set), FieldSet.of());
        const missing = wanted.intersection(fieldsOf(live!, schema)).difference(all);
        expect([...missing.paths()].map(pathText)).toEqual([]);
        for (const set of sets) expect(fromFieldsV1(toFieldsV1(set)).equals(set)).toBe(true);
      }),
    );
  });

  test("checkApplied reports no problem", () => {
    check(
      fc.property(objects, (applied) => {
        expect(checkApplied(applied, schema).problem).toBeUndefined();
      }),
    );
  });
});
