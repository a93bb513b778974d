import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import type { JsonObject } from "../../meta/json.ts";
import { UPDATE_MANAGERS_MAX } from "./entries.ts";
import { managerName, trackUpdate, type ManagedFieldsUpdate } from "./manager.ts";

const schemas = openSchemas("1.36");
const CONFIG_MAP = schemas.kind("", "v1", "ConfigMap")!;
const DEPLOYMENT = schemas.kind("apps", "v1", "Deployment")!;

function configMap(data: JsonObject, managedFields?: unknown): JsonObject {
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "c", ...(managedFields === undefined ? {} : { managedFields }) },
    data,
  };
}

function track(
  update: Partial<ManagedFieldsUpdate> & Pick<ManagedFieldsUpdate, "live" | "next">,
): readonly JsonObject[] | undefined {
  return trackUpdate({ schema: CONFIG_MAP, apiVersion: "v1", manager: "m", subresource: "", time: at(0), ...update });
}

function at(second: number): string {
  return `2026-01-01T00:00:${String(second).padStart(2, "0")}Z`;
}

function entry(manager: string, fieldsV1: JsonObject, rest: JsonObject = {}): JsonObject {
  return { manager, operation: "Update", apiVersion: "v1", time: at(0), fieldsType: "FieldsV1", fieldsV1, ...rest };
}

const DATA_A = { "f:data": { ".": {}, "f:a": {} } };
const live = configMap({ a: "1" }, [entry("first", DATA_A)]);

describe("a create", () => {
  test("makes the creator own all fields except those that identify the object", () => {
    const metadata = {
      name: "c",
      namespace: "n",
      uid: "u",
      resourceVersion: "1",
      generation: 1,
      creationTimestamp: at(0),
      generateName: "c-",
    };
    const next = { apiVersion: "v1", kind: "ConfigMap", metadata, data: { a: "1" } };
    expect(track({ live: undefined, next, manager: "first" })).toEqual([
      entry("first", { "f:data": { ".": {}, "f:a": {} }, "f:metadata": { "f:generateName": {} } }),
    ]);
  });

  test("of an object without content has no entry", () => {
    expect(
      track({ live: undefined, next: { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "c" } } }),
    ).toBeUndefined();
  });

  test("keeps valid entries that the client sent, and drops invalid entries without an error", () => {
    const sent = [
      entry(
        "restored",
        { "f:data": { "f:a": {} }, "f:metadata": { "f:labels": {} } },
        { time: "2026-01-01T02:00:00+02:00" },
      ),
    ];
    expect(track({ live: undefined, next: configMap({ a: "1" }, sent) })).toEqual([
      entry("m", DATA_A),
      entry("restored", { "f:metadata": { "f:labels": {} } }),
    ]);
    expect(track({ live: undefined, next: configMap({ a: "1" }, [{ manager: "x", operation: "Delete" }]) })).toEqual([
      entry("m", DATA_A),
    ]);
  });

  test("is tracked as usual if the client sent an empty list of entries", () => {
    expect(track({ live: undefined, next: configMap({ a: "1" }, []) })).toEqual([entry("m", DATA_A)]);
  });
});

describe("an update", () => {
  test("makes the writer own added fields, and leaves other fields with their owners", () => {
    const next = configMap({ a: "1", b: "2" });
    expect(track({ live, next, manager: "second", time: at(1) })).toEqual([
      entry("first", DATA_A),
      entry("second", { "f:data": { "f:b": {} } }, { time: at(1) }),
    ]);
  });

  test("takes changed fields from all other managers", () => {
    expect(track({ live, next: configMap({ a: "2" }), manager: "second", time: at(1) })).toEqual([
      entry("first", { "f:data": {} }),
      entry("second", { "f:data": { "f:a": {} } }, { time: at(1) }),
    ]);
  });

  test("by the same manager extends its entry and updates its time", () => {
    expect(track({ live, next: configMap({ a: "1", b: "2" }), manager: "first", time: at(5) })).toEqual([
      entry("first", { "f:data": { ".": {}, "f:a": {}, "f:b": {} } }, { time: at(5) }),
    ]);
  });

  test("that only removes fields takes them from all managers and changes no entry's time", () => {
    const both = configMap({ a: "1", b: "2" }, [entry("first", { "f:data": { ".": {}, "f:a": {}, "f:b": {} } })]);
    expect(track({ live: both, next: configMap({ a: "1" }), manager: "second", time: at(9) })).toEqual([
      entry("first", DATA_A),
    ]);
  });

  test("that takes the last field of a manager removes the entry of that manager", () => {
    const shared = configMap({ a: "1" }, [
      entry("first", DATA_A),
      entry("other", { "f:metadata": { "f:labels": { "f:x": {} } } }),
    ]);
    const before = { ...shared, metadata: { ...(shared["metadata"] as JsonObject), labels: { x: "1", y: "1" } } };
    const after = { ...configMap({ a: "1" }), metadata: { name: "c", labels: { y: "1" } } };
    expect(track({ live: before, next: after })).toEqual([entry("first", DATA_A)]);
  });

  test("that changes nothing returns the live entries unchanged", () => {
    const stored = (live["metadata"] as JsonObject)["managedFields"];
    expect(track({ live, next: configMap({ a: "1" }), time: at(9) })).toBe(stored);
    expect(track({ live, next: structuredClone(live), time: at(9) })).toBe(stored);
  });

  test("of metadata that identifies the object or counts its changes counts as no change", () => {
    const next = { ...configMap({ a: "1" }), metadata: { name: "c", resourceVersion: "7", generation: 3 } };
    expect(track({ live, next, manager: "second", time: at(9) })).toEqual([entry("first", DATA_A)]);
  });

  test("of an object without managedFields adds no managedFields", () => {
    expect(track({ live: configMap({ a: "1" }), next: configMap({ a: "2" }) })).toBeUndefined();
  });

  test("also takes fields from appliers, whose entries are listed first", () => {
    const applied = entry("applier", { "f:data": { "f:a": {}, "f:b": {} } }, { operation: "Apply", time: at(7) });
    const before = configMap({ a: "1", b: "1" }, [applied]);
    expect(track({ live: before, next: configMap({ a: "2", b: "1" }), time: at(1) })).toEqual([
      { ...applied, fieldsV1: { "f:data": { "f:b": {} } } },
      entry("m", { "f:data": { "f:a": {} } }, { time: at(1) }),
    ]);
  });
});

describe("managedFields sent by a client", () => {
  test.each([
    ["that are an empty list", []],
    ["that are a list of one empty entry", [{}]],
  ])("%s end the tracking of the object", (_, sent) => {
    expect(track({ live, next: configMap({ a: "1" }, sent) })).toBeUndefined();
  });

  test("replace the entries of the live object before the update is tracked", () => {
    const sent = [entry("renamed", { "f:data": { "f:a": {}, ".": {} } })];
    expect(track({ live, next: configMap({ a: "1" }, sent), time: at(3) })).toEqual([entry("renamed", DATA_A)]);
  });

  test.each([
    ["no apiVersion", [entry("x", {}, { apiVersion: "" })]],
    ["no fieldsType", [entry("x", {}, { fieldsType: "" })]],
    ["another fieldsType", [entry("x", {}, { fieldsType: "FieldsV2" })]],
    ["an unknown operation", [entry("x", {}, { operation: "Patch" })]],
    ["invalid fields", [entry("x", { data: {} })]],
    ["an entry that is not an object", ["x"]],
    ["a value that is not a list", "x"],
  ])("with %s are ignored", (_, sent) => {
    expect(track({ live, next: configMap({ a: "1" }, sent) })).toEqual([entry("first", DATA_A)]);
  });

  test("are ignored on a subresource", () => {
    expect(track({ live, next: configMap({ a: "1" }, []), subresource: "status" })).toEqual([entry("first", DATA_A)]);
  });
});

describe("endpoints", () => {
  const deployment = (replicas: number, status: JsonObject, managedFields?: unknown): JsonObject => ({
    metadata: { name: "d", ...(managedFields === undefined ? {} : { managedFields }) },
    spec: { replicas },
    status,
  });
  const apps = { schema: DEPLOYMENT, apiVersion: "apps/v1" } as const;
  const spec = entry("m", { "f:spec": { "f:replicas": {} } }, { apiVersion: "apps/v1" });

  test("do not make the writer own a field that the endpoint cannot write", () => {
    const update = { ...apps, live: undefined, next: deployment(1, { replicas: 5 }), resetFields: [["status"]] };
    expect(track(update)).toEqual([spec]);
  });

  test("for subresources have entries of their own", () => {
    const before = deployment(1, {}, [spec]);
    const next = deployment(2, { replicas: 1, conditions: [{ type: "Available", status: "True" }] });
    expect(track({ ...apps, live: before, next, subresource: "status", time: at(0), resetFields: [["spec"]] })).toEqual(
      [
        spec,
        {
          ...entry("m", {
            "f:status": {
              "f:conditions": { ".": {}, 'k:{"type":"Available"}': { ".": {}, "f:status": {}, "f:type": {} } },
              "f:replicas": {},
            },
          }),
          apiVersion: "apps/v1",
          subresource: "status",
        },
      ],
    );
  });

  test("for scale write an entry without a time, which is therefore listed first", () => {
    const before = deployment(1, {}, [
      entry("m", { "f:spec": { "f:paused": {}, "f:replicas": {} } }, { apiVersion: "apps/v1" }),
    ]);
    const scaled = track({ ...apps, live: before, next: deployment(2, {}), subresource: "scale", time: undefined });
    expect(scaled?.map((item) => [item["subresource"], item["time"], item["fieldsV1"]])).toEqual([
      ["scale", undefined, { "f:spec": { "f:replicas": {} } }],
      [undefined, at(0), { "f:spec": { "f:paused": {} } }],
    ]);
  });
});

describe("entries of many managers", () => {
  const fields = (index: number): JsonObject => ({ "f:data": { [`f:k${index}`]: {} } });
  const data = (count: number): JsonObject =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`k${index}`, "1"]));
  const managers = (count: number): JsonObject[] =>
    Array.from({ length: count }, (_, index) => entry(`m${index}`, fields(index), { time: at(index) }));

  test("are kept separate up to the limit", () => {
    const before = configMap(data(9), managers(9));
    expect(track({ live: before, next: configMap(data(10)), manager: "m9", time: at(9) })).toHaveLength(
      UPDATE_MANAGERS_MAX,
    );
  });

  test("above the limit are merged as ancient-changes, oldest first, with the time of the latest merged entry", () => {
    const before = configMap(data(10), managers(10));
    const list = track({ live: before, next: configMap(data(11)), manager: "m10", time: at(20) });
    expect(list?.map((item) => item["manager"])).toEqual([
      "ancient-changes",
      "m2",
      "m3",
      "m4",
      "m5",
      "m6",
      "m7",
      "m8",
      "m9",
      "m10",
    ]);
    expect(list?.[0]).toEqual(entry("ancient-changes", { "f:data": { "f:k0": {}, "f:k1": {} } }, { time: at(1) }));
  });

  test("are merged into an existing ancient-changes entry", () => {
    let object = configMap(data(10), managers(10));
    for (let index = 10; index < 14; index++) {
      const next = configMap(data(index + 1));
      const managedFields = track({ live: object, next, manager: `m${index}`, time: at(index + 10) });
      object = configMap(data(index + 1), managedFields);
    }
    const list = (object["metadata"] as JsonObject)["managedFields"] as JsonObject[];
    expect(list).toHaveLength(UPDATE_MANAGERS_MAX);
    const merged = { "f:k0": {}, "f:k1": {}, "f:k2": {}, "f:k3": {}, "f:k4": {} };
    expect(list[0]).toEqual(entry("ancient-changes", { "f:data": merged }, { time: at(4) }));
  });

  test("are counted without entries of appliers, and merged separately for each version", () => {
    const others = managers(10).map((item, index) => ({ ...item, ...(index === 0 ? { apiVersion: "v0" } : {}) }));
    const applied = entry("applier", {}, { operation: "Apply", fieldsV1: { "f:data": { "f:k0": {} } } });
    const before = configMap(data(10), [applied, ...others]);
    const list = track({ live: before, next: configMap(data(11)), manager: "m10", time: at(20) });
    expect(list?.map((item) => item["manager"])).toEqual([
      "applier",
      "m0",
      "ancient-changes",
      "m3",
      "m4",
      "m5",
      "m6",
      "m7",
      "m8",
      "m9",
      "m10",
    ]);
  });
});

describe("entries of other versions", () => {
  const hpa = (version: string): NonNullable<ManagedFieldsUpdate["schema"]> =>
    schemas.kind("autoscaling", version, "HorizontalPodAutoscaler")!;
  const v1 = entry(
    "old",
    { "f:spec": { "f:maxReplicas": {}, "f:targetCPUUtilizationPercentage": {} } },
    { apiVersion: "autoscaling/v1" },
  );
  const object = (cpu: number, managedFields?: unknown): JsonObject => ({
    metadata: { name: "h", ...(managedFields === undefined ? {} : { managedFields }) },
    spec: { maxReplicas: 3, metrics: [{ cpu }] },
  });
  const update = {
    schema: hpa("v2"),
    apiVersion: "autoscaling/v2",
    live: object(50, [v1]),
    next: object(60),
    time: at(1),
  };
  const v2 = entry("m", { "f:spec": { "f:metrics": {} } }, { apiVersion: "autoscaling/v2", time: at(1) });

  test("lose the fields whose values in that version have changed", () => {
    const inVersion: ManagedFieldsUpdate["inVersion"] = ({ spec }) => {
      const { maxReplicas, metrics } = spec as { maxReplicas: number; metrics: [{ cpu: number }] };
      return { object: { spec: { maxReplicas, targetCPUUtilizationPercentage: metrics[0].cpu } }, schema: hpa("v1") };
    };
    expect(track({ ...update, inVersion })).toEqual([{ ...v1, fieldsV1: { "f:spec": { "f:maxReplicas": {} } } }, v2]);
  });

  test("are removed if their version no longer exists", () => {
    expect(track({ ...update, inVersion: () => undefined })).toEqual([v2]);
  });

  test("are unchanged if this server cannot convert the object", () => {
    expect(track(update)).toEqual([v1, v2]);
  });
});

describe("entries of other releases", () => {
  test("own a list as a whole if the schema of this release declares the list atomic", () => {
    const granular = entry("m", {
      "f:spec": { "f:tolerations": { ".": {}, 'k:{"key":"a"}': { ".": {}, "f:key": {} } }, "f:nodeName": {} },
    });
    const pod = (nodeName: string, managedFields?: unknown): JsonObject => ({
      metadata: { ...(managedFields === undefined ? {} : { managedFields }) },
      spec: { nodeName, tolerations: [{ key: "a" }] },
    });
    const schema = schemas.kind("", "v1", "Pod")!;
    expect(track({ schema, live: pod("a", [granular]), next: pod("b"), manager: "n" })).toEqual([
      entry("m", { "f:spec": { "f:tolerations": {} } }),
      entry("n", { "f:spec": { "f:nodeName": {} } }),
    ]);
  });
});

test("an object with list items that have no key keeps its entries", () => {
  const next = { ...configMap({ a: "2" }), metadata: { name: "c", finalizers: [{}] } };
  expect(track({ live, next })).toEqual([entry("first", DATA_A)]);
  expect(track({ live: undefined, next })).toBeUndefined();
});

describe("the name of a manager", () => {
  test.each([
    ["kubectl", "curl/8", "kubectl"],
    [undefined, "curl/8.0 (x)", "curl"],
    ["", "kube-controller-manager/v1.36 (linux) a/b", "kube-controller-manager"],
    [undefined, "Mozilla", "Mozilla"],
    [undefined, undefined, "unknown"],
    [undefined, "/1.0", "unknown"],
    [undefined, "a\u0000b\nc/1", "abc"],
    [undefined, "x".repeat(300), "x".repeat(128)],
    [undefined, `${"x".repeat(127)}é`, "x".repeat(127)],
  ])("from %j and User-Agent %j is %j", (fieldManager, userAgent, name) => {
    expect(managerName(fieldManager, userAgent)).toBe(name);
  });
});
