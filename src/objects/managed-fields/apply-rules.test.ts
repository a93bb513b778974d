import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { applyObject, type Apply, type ApplyOutcome } from "./apply.ts";
import { conflictsText, ownerText } from "./conflicts.ts";
import { trackUpdate } from "./manager.ts";

const schema = openSchemas("1.36").kind("apps", "v1", "Deployment")!;
const IDENTITY = { apiVersion: "apps/v1", kind: "Deployment" };
const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

type ApplyOptions = Partial<Apply> & { readonly applied: JsonObject };

const BASE = { schema, apiVersion: "apps/v1", manager: "one", subresource: "", time: "2026-01-01T00:00:00Z" };

function apply(options: ApplyOptions): ApplyOutcome {
  return applyObject({ ...BASE, live: undefined, sent: options.applied, hasNull: false, force: false, ...options });
}

function appliedObject(spec: JsonObject, metadata: JsonObject = {}): JsonObject {
  return { ...IDENTITY, metadata: { name: "web", ...metadata }, spec };
}

function stored(outcome: ApplyOutcome): JsonObject {
  if (outcome.kind === "conflicts") throw new Error(conflictsText(outcome.conflicts));
  if (outcome.kind === "unfit") throw new Error(outcome.message);
  const { object, managedFields } = outcome;
  return { ...object, metadata: { ...objectAt(object, "metadata"), uid: "u", managedFields } };
}

function updated(live: JsonObject | undefined, next: JsonObject, by: Partial<Apply> = {}): JsonObject {
  const managedFields = trackUpdate({ ...BASE, live, next, manager: "updater", ...by });
  return { ...next, metadata: { ...objectAt(next, "metadata"), uid: "u", managedFields } };
}

function message(outcome: ApplyOutcome): string | undefined {
  return outcome.kind === "conflicts" ? conflictsText(outcome.conflicts) : undefined;
}

/** The fieldsV1 of each entry, keyed by manager. */
function entries(object: JsonObject): Record<string, unknown> {
  const list = (objectAt(object, "metadata")["managedFields"] ?? []) as JsonObject[];
  return Object.fromEntries(list.map(({ manager, fieldsV1 }) => [String(manager), fieldsV1]));
}

const containers = (...items: JsonObject[]): JsonObject => ({ template: { spec: { containers: items } } });

describe("a conflict", () => {
  test("with an applier names the applier", () => {
    const live = stored(apply({ applied: appliedObject({ replicas: 1 }) }));
    expect(message(apply({ live, applied: appliedObject({ replicas: 2 }), manager: "two" }))).toBe(
      'Apply failed with 1 conflict: conflict with "one": .spec.replicas',
    );
  });

  test("with an updater names its version and subresource", () => {
    const live = updated(undefined, appliedObject({ replicas: 1 }), { manager: "kubectl-client-side-apply" });
    const conflicting = apply({ live, applied: appliedObject({ replicas: 2 }) });
    expect(message(conflicting)).toBe(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.replicas',
    );
    const scaled = updated(live, { ...live, spec: { replicas: 3 } }, { manager: "hpa", subresource: "scale" });
    const conflict = apply({ live: scaled, applied: appliedObject({ replicas: 2 }) });
    expect(conflict.kind === "conflicts" && ownerText(conflict.conflicts[0]!)).toBe(
      '"hpa" with subresource "scale" using apps/v1',
    );
  });

  test("with several managers lists the fields of each manager, every field before the fields below it", () => {
    const spec = { ...containers({ name: "c", image: "1", ports: [{ containerPort: 80, name: "x" }] }), replicas: 1 };
    const first = stored(apply({ applied: appliedObject(spec) }));
    const live = stored(apply({ live: first, applied: appliedObject({ paused: true }), manager: "a" }));
    const other = {
      ...containers({ name: "c", image: "2", ports: [{ containerPort: 80, name: "y" }] }),
      replicas: 2,
      paused: false,
    };
    expect(message(apply({ live, applied: appliedObject(other), manager: "two" }))).toBe(
      [
        'Apply failed with 4 conflicts: conflicts with "a":',
        "- .spec.paused",
        'conflicts with "one":',
        "- .spec.replicas",
        '- .spec.template.spec.containers[name="c"].image',
        '- .spec.template.spec.containers[name="c"].ports[containerPort=80,protocol="TCP"].name',
      ].join("\n"),
    );
  });

  test("does not occur if two appliers apply the same value: they own it together, and each can stop owning it", () => {
    const first = stored(apply({ applied: appliedObject({ replicas: 1 }) }));
    const both = stored(apply({ live: first, applied: appliedObject({ replicas: 1 }), manager: "two" }));
    expect(entries(both)).toEqual({ one: { "f:spec": { "f:replicas": {} } }, two: { "f:spec": { "f:replicas": {} } } });
    const left = stored(apply({ live: both, applied: appliedObject({}) }));
    expect(left["spec"]).toEqual({ replicas: 1 });
    expect(entries(left)).toEqual({ one: { "f:spec": {} }, two: { "f:spec": { "f:replicas": {} } } });
  });

  test("is resolved by force, which takes the field from its previous owner", () => {
    const live = stored(apply({ applied: appliedObject({ replicas: 1, paused: true }) }));
    const forced = stored(apply({ live, applied: appliedObject({ replicas: 2 }), manager: "two", force: true }));
    expect(entries(forced)).toEqual({
      one: { "f:spec": { "f:paused": {} } },
      two: { "f:spec": { "f:replicas": {} } },
    });
  });
});

describe("an apply that changes no value", () => {
  const live = stored(apply({ applied: appliedObject({ replicas: 1 }) }));

  test("leaves the entry of an applier that owned the fields before", () => {
    const again = apply({ live, applied: appliedObject({ replicas: 1 }), time: "2027-01-01T00:00:00Z" });
    expect(again).toMatchObject({ managedFields: objectAt(live, "metadata")["managedFields"] });
  });

  test("adds an entry without a time for an applier that did not own the fields before", () => {
    const shared = stored(apply({ live, applied: appliedObject({ replicas: 1 }), manager: "two" }));
    const list = objectAt(shared, "metadata")["managedFields"] as JsonObject[];
    expect(list.find(({ manager }) => manager === "two")).not.toHaveProperty("time");
  });
});

describe("an object without managedFields", () => {
  const { managedFields: _none, ...metadata } = { name: "web", uid: "u", managedFields: undefined };
  const live = { ...IDENTITY, metadata, spec: { replicas: 1, paused: true } };

  test("belongs to the manager before-first-apply", () => {
    const applied = stored(apply({ live, applied: appliedObject({ replicas: 1 }) }));
    expect(entries(applied)).toEqual({
      "before-first-apply": { "f:spec": { "f:paused": {}, "f:replicas": {} } },
      one: { "f:spec": { "f:replicas": {} } },
    });
  });

  test("conflicts with an apply of a different value", () => {
    expect(message(apply({ live, applied: appliedObject({ replicas: 2 }) }))).toBe(
      'Apply failed with 1 conflict: conflict with "before-first-apply" using apps/v1: .spec.replicas',
    );
  });
});

describe("a field that an applier no longer applies", () => {
  test("is removed with everything in it", () => {
    const live = stored(
      apply({ applied: appliedObject(containers({ name: "a", image: "1" }, { name: "b", image: "1" })) }),
    );
    const filled = { ...live, spec: containers({ name: "a", image: "1" }, { name: "b", image: "1", stdin: true }) };
    const left = stored(apply({ live: filled, applied: appliedObject(containers({ name: "a", image: "1" })) }));
    expect(left["spec"]).toEqual(containers({ name: "a", image: "1" }));
  });

  test("is kept if another manager owns a field below it", () => {
    const first = stored(apply({ applied: appliedObject(containers({ name: "a", image: "1" })) }));
    const both = stored(
      apply({ live: first, applied: appliedObject(containers({ name: "a", stdin: true })), manager: "two" }),
    );
    const left = stored(apply({ live: both, applied: appliedObject({}) }));
    expect(left["spec"]).toEqual(containers({ name: "a", stdin: true }));
  });

  test("is kept if the applier never owned it", () => {
    const live = stored(apply({ applied: appliedObject({ replicas: 1 }) }));
    const defaulted = { ...live, spec: { replicas: 1, revisionHistoryLimit: 10 } };
    expect(stored(apply({ live: defaulted, applied: appliedObject({}) }))["spec"]).toEqual({
      revisionHistoryLimit: 10,
    });
  });
});

describe("a manager that wrote in an unknown version", () => {
  const inVersion: NonNullable<Apply["inVersion"]> = () => "unknown";
  const later = { manager: "later", apiVersion: "apps/v9" };

  test("keeps its fields, and they are not removed when another applier stops applying them", () => {
    const first = updated(undefined, appliedObject({ replicas: 1, paused: true }), later);
    const both = stored(apply({ live: first, applied: appliedObject({ replicas: 1 }), inVersion }));
    const left = stored(apply({ live: both, applied: appliedObject({}), inVersion }));
    expect(left["spec"]).toEqual({ replicas: 1, paused: true });
    expect(entries(left)["later"]).toEqual({ "f:spec": { "f:paused": {}, "f:replicas": {} } });
  });

  test("loses its entry if that version no longer exists", () => {
    const live = updated(undefined, appliedObject({ replicas: 1 }), { manager: "gone", apiVersion: "apps/v1beta1" });
    const applied = stored(apply({ live, applied: appliedObject({ replicas: 2 }), inVersion: () => undefined }));
    expect(Object.keys(entries(applied))).toEqual(["one"]);
  });
});

describe("an applied null", () => {
  test("makes the applier own the field, and removes its value so that the default applies", () => {
    const live = stored(apply({ applied: appliedObject({ replicas: 3 }) }));
    const next = stored(apply({ live, applied: appliedObject({ replicas: null }), hasNull: true }));
    expect(next["spec"]).toEqual({});
    expect(entries(next)).toEqual({ one: { "f:spec": { "f:replicas": {} } } });
  });
});

describe("server-side apply as kubectl after client-side apply", () => {
  const last = appliedObject({ replicas: 1, paused: true });
  const live = updated(
    undefined,
    appliedObject({ replicas: 1, paused: false }, { annotations: { [LAST_APPLIED]: JSON.stringify(last), a: "b" } }),
    { manager: "kubectl-client-side-apply" },
  );

  test("takes over fields that have not changed since client-side apply wrote them", () => {
    const applied = appliedObject({ replicas: 2 });
    expect(message(apply({ live, applied, manager: "other" }))).toMatch(/^Apply failed with 1 conflict/);
    const taken = stored(apply({ live, applied, manager: "kubectl" }));
    expect(taken["spec"]).toEqual({ replicas: 2, paused: false });
    expect(objectAt(objectAt(taken, "metadata"), "annotations")).toEqual({
      [LAST_APPLIED]: '{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":2}}\n',
      a: "b",
    });
  });

  test("conflicts over fields that have changed since", () => {
    const applied = appliedObject({ replicas: 2, paused: true });
    expect(message(apply({ live, applied, manager: "kubectl" }))).toBe(
      'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: .spec.paused',
    );
  });

  test("does not add the last-applied annotation, and removes an annotation that would become too long", () => {
    const bare = updated(undefined, appliedObject({ replicas: 1 }), { manager: "kubectl-client-side-apply" });
    const applied = appliedObject({ replicas: 1 }, { labels: { x: "y" } });
    const kept = stored(apply({ live: bare, applied, manager: "kubectl" }));
    expect(objectAt(kept, "metadata")["annotations"]).toBeUndefined();
    const long = appliedObject({ replicas: 1 }, { annotations: { x: "y".repeat(200_000) } });
    const dropped = stored(apply({ live, applied: long, manager: "kubectl" }));
    expect(Object.keys(objectAt(objectAt(dropped, "metadata"), "annotations"))).toEqual(["a", "x"]);
  });
});
