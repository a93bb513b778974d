import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalog/schema-source.ts";
import { cloneJson, type JsonObject } from "../../meta/json.ts";
import type { StructSchema } from "../schema.ts";
import { StrategicPatchError } from "./strategic-error.ts";
import { applyStrategicMergePatch } from "./strategic-merge.ts";

const SCHEMAS = openSchemas("1.36");

function kind(group: string, name: string): StructSchema {
  return SCHEMAS.kind(group, "v1", name)!;
}

const POD = kind("", "Pod");
const DEPLOYMENT = kind("apps", "Deployment");

/** Patches the spec of a pod. */
function patchSpec(original: JsonObject, patch: JsonObject): unknown {
  return applyStrategicMergePatch({ spec: original }, { spec: patch }, POD)["spec"];
}

function named(...names: string[]): JsonObject[] {
  return names.map((name) => ({ name }));
}

function namesOf(list: unknown): unknown[] {
  return (list as JsonObject[]).map(({ name }) => name);
}

type SpecCase = readonly [rule: string, original: JsonObject, patch: JsonObject, result: JsonObject];

const MAPS: readonly SpecCase[] = [
  [
    "set the fields of the patch, and keep other fields",
    { hostname: "a", nodeName: "n" },
    { hostname: "b" },
    { hostname: "b", nodeName: "n" },
  ],
  ["lose a field that the patch sets to null", { hostname: "a", nodeName: "n" }, { hostname: null }, { nodeName: "n" }],
  ["ignore null for an absent field", { hostname: "a" }, { nodeName: null }, { hostname: "a" }],
  [
    "are merged field by field",
    { nodeSelector: { a: "1", b: "2" } },
    { nodeSelector: { b: null, c: "3" } },
    { nodeSelector: { a: "1", c: "3" } },
  ],
  ["omit nulls in a new map", {}, { nodeSelector: { a: "1", b: null } }, { nodeSelector: { a: "1" } }],
  ["stay if they become empty", { nodeSelector: { a: "1" } }, { nodeSelector: { a: null } }, { nodeSelector: {} }],
  ["are replaced if the type differs", { nodeSelector: { a: "1" } }, { nodeSelector: "x" }, { nodeSelector: "x" }],
  [
    "become the patch with $patch: replace",
    { securityContext: { runAsUser: 1, fsGroup: 2 } },
    { securityContext: { $patch: "replace", fsGroup: 3 } },
    { securityContext: { fsGroup: 3 } },
  ],
  [
    "become empty with $patch: delete",
    { securityContext: { runAsUser: 1 } },
    { securityContext: { $patch: "delete" } },
    { securityContext: {} },
  ],
  ["ignore $patch: delete for an absent field", {}, { securityContext: { $patch: "delete" } }, {}],
  [
    "omit maps with a directive in new maps",
    {},
    { affinity: { nodeAffinity: { $patch: "delete" }, podAffinity: {} } },
    { affinity: { podAffinity: {} } },
  ],
  [
    "ignore a null directive in a new map",
    {},
    { affinity: { nodeAffinity: { $patch: null } } },
    { affinity: { nodeAffinity: {} } },
  ],
];

describe("maps", () => {
  test.each(MAPS)("%s", (_rule, original, patch, result) => {
    expect(patchSpec(original, patch)).toEqual(result);
  });

  test("are replaced if their patch strategy is replace", () => {
    const budgets = kind("policy", "PodDisruptionBudget");
    const original = { spec: { selector: { matchLabels: { a: "1" } }, maxUnavailable: 1 } };
    const patch = { spec: { selector: { matchLabels: { b: "2" } } } };
    expect(applyStrategicMergePatch(original, patch, budgets)).toEqual({
      spec: { selector: { matchLabels: { b: "2" } }, maxUnavailable: 1 },
    });
  });

  test("merge fields that only other releases have as plain JSON", () => {
    const original = { novel: { a: { b: 1 }, list: [{ name: "x" }] } };
    expect(patchSpec(original, { novel: { a: { c: 2 }, list: [{ name: "y" }] } })).toEqual({
      novel: { a: { b: 1, c: 2 }, list: [{ name: "y" }] },
    });
  });

  test("cannot change prototypes", () => {
    const patch = JSON.parse('{"metadata":{"labels":{"__proto__":"x","constructor":null}}}') as JsonObject;
    const patched = applyStrategicMergePatch({ metadata: { labels: {} } }, patch, POD);
    expect(JSON.stringify(patched)).toBe('{"metadata":{"labels":{"__proto__":"x"}}}');
    const deep = JSON.parse('{"spec":{"__proto__":{"polluted":true}}}') as JsonObject;
    applyStrategicMergePatch({ spec: {} }, deep, POD);
    expect(({} as JsonObject)["polluted"]).toBeUndefined();
  });
});

describe("$retainKeys", () => {
  const STRATEGY = { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } };

  function patchStrategy(original: JsonObject, strategy: JsonObject): unknown {
    return applyStrategicMergePatch({ spec: original }, { spec: { strategy } }, DEPLOYMENT)["spec"];
  }

  test.each<[rule: string, strategy: JsonObject, result: JsonObject]>([
    ["removes fields that it does not list", { $retainKeys: ["type"], type: "Recreate" }, { type: "Recreate" }],
    [
      "merges the fields that it lists",
      { $retainKeys: ["type", "rollingUpdate"], rollingUpdate: { maxSurge: 2 } },
      { ...STRATEGY, rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } },
    ],
    ["may list absent fields", { $retainKeys: ["type", "bogus"] }, { type: "RollingUpdate" }],
    [
      "does not have to list a field that the patch sets to null",
      { $retainKeys: ["type"], rollingUpdate: null },
      { type: "RollingUpdate" },
    ],
    ["empties the map if the list is empty", { $retainKeys: [] }, {}],
  ])("%s", (_rule, strategy, result) => {
    expect(patchStrategy({ strategy: STRATEGY }, strategy)).toEqual({ strategy: result });
  });

  test("applies to a struct that is omitted because it is empty", () => {
    expect(patchStrategy({}, { $retainKeys: ["type"], type: "Recreate" })).toEqual({ strategy: { type: "Recreate" } });
  });

  test("can replace the source of a volume", () => {
    const original = {
      volumes: [
        { name: "v", emptyDir: {} },
        { name: "w", hostPath: { path: "/" } },
      ],
    };
    const volume = { $retainKeys: ["name", "configMap"], name: "v", configMap: { name: "c" } };
    expect(patchSpec(original, { volumes: [volume] })).toEqual({
      volumes: [
        { name: "v", configMap: { name: "c" } },
        { name: "w", hostPath: { path: "/" } },
      ],
    });
  });

  test.each([
    ["no list", { $retainKeys: "type" }],
    ["null", { $retainKeys: null }],
    ["a list that lacks a field of the patch", { $retainKeys: ["type"], type: "x", rollingUpdate: {} }],
  ])("%s is a bad request", (_what, strategy) => {
    expect(() => patchStrategy({ strategy: STRATEGY }, strategy)).toThrow(
      new StrategicPatchError("bad-request", "invalid patch format of retainKeys"),
    );
  });
});

const LISTS_OF_MAPS: readonly SpecCase[] = [
  [
    "merge items with the same key",
    { containers: [{ name: "a", image: "1", tty: true }] },
    { containers: [{ name: "a", image: "2" }] },
    { containers: [{ name: "a", image: "2", tty: true }] },
  ],
  [
    "remove a field of an item by null",
    { containers: [{ name: "a", image: "1" }] },
    { containers: [{ name: "a", image: null }] },
    { containers: [{ name: "a" }] },
  ],
  [
    "merge lists in items by their own keys",
    { containers: [{ name: "a", env: [{ name: "X", value: "1" }] }] },
    { containers: [{ name: "a", env: [{ name: "X", value: "2" }] }] },
    { containers: [{ name: "a", env: [{ name: "X", value: "2" }] }] },
  ],
  [
    "remove an item with $patch: delete",
    { containers: named("a", "b") },
    { containers: [{ name: "a", $patch: "delete" }] },
    { containers: named("b") },
  ],
  [
    "remove all items with the key of a $patch: delete",
    {
      containers: [
        {
          name: "a",
          ports: [
            { containerPort: 1, protocol: "TCP" },
            { containerPort: 1, protocol: "UDP" },
          ],
        },
      ],
    },
    { containers: [{ name: "a", ports: [{ containerPort: 1, $patch: "delete" }] }] },
    { containers: [{ name: "a" }] },
  ],
  [
    "ignore $patch: delete for an absent item",
    { containers: named("a") },
    { containers: [{ name: "b", $patch: "delete" }] },
    { containers: named("a") },
  ],
  [
    "can add a deleted item anew",
    { containers: [{ name: "a", tty: true }] },
    {
      containers: [
        { name: "a", $patch: "delete" },
        { name: "a", stdin: true },
      ],
    },
    { containers: [{ name: "a", stdin: true }] },
  ],
  [
    "become the other items of the patch with $patch: replace",
    { containers: named("a", "b") },
    { containers: [{ $patch: "replace" }, { name: "c" }] },
    { containers: named("c") },
  ],
  [
    "accept $patch: replace at any position",
    { containers: named("a") },
    { containers: [{ name: "c" }, { $patch: "replace" }, { name: "d" }] },
    { containers: named("c", "d") },
  ],
  [
    "merge an item twice if the patch has it twice",
    { containers: named("a") },
    {
      containers: [
        { name: "b", tty: true },
        { name: "b", stdin: true },
      ],
    },
    { containers: [{ name: "b", tty: true, stdin: true }, { name: "a" }] },
  ],
  [
    "merge the first of several items with the same key",
    {
      containers: [
        {
          name: "a",
          ports: [
            { containerPort: 1, protocol: "TCP" },
            { containerPort: 1, protocol: "UDP" },
          ],
        },
      ],
    },
    { containers: [{ name: "a", ports: [{ containerPort: 1, name: "x" }] }] },
    {
      containers: [
        {
          name: "a",
          ports: [
            { containerPort: 1, protocol: "TCP", name: "x" },
            { containerPort: 1, protocol: "UDP" },
          ],
        },
      ],
    },
  ],
  [
    "distinguish a number and its text as keys",
    { containers: [{ name: "a", ports: [{ containerPort: 80 }] }] },
    { containers: [{ name: "a", ports: [{ containerPort: "80" }] }] },
    { containers: [{ name: "a", ports: [{ containerPort: "80" }, { containerPort: 80 }] }] },
  ],
  ["are kept by an empty patch", { containers: named("b", "a") }, { containers: [] }, { containers: named("b", "a") }],
  ["are omitted if they become empty", { volumes: named("a") }, { volumes: [{ name: "a", $patch: "delete" }] }, {}],
  [
    "are kept if they become empty but are required",
    { containers: named("a") },
    { containers: [{ name: "a", $patch: "delete" }] },
    { containers: [] },
  ],
  [
    "omit items with a directive in a new list",
    {},
    {
      volumes: [
        { name: "a", $patch: "delete" },
        { name: "b", x: null },
      ],
    },
    { volumes: named("b") },
  ],
  [
    "are replaced without a merge key",
    { tolerations: [{ key: "a" }] },
    { tolerations: [{ key: "b" }] },
    { tolerations: [{ key: "b" }] },
  ],
  [
    "of strings are replaced without the strategy merge",
    { containers: [{ name: "a", args: ["x"] }] },
    { containers: [{ name: "a", args: ["y"] }] },
    { containers: [{ name: "a", args: ["y"] }] },
  ],
];

describe("lists of maps", () => {
  test.each(LISTS_OF_MAPS)("%s", (_rule, original, patch, result) => {
    expect(patchSpec(original, patch)).toEqual(result);
  });

  test("are merged without changing the object or the patch", () => {
    const original = { spec: { containers: [{ name: "a", env: named("X") }], volumes: named("v") } };
    const patch = {
      spec: {
        containers: [{ name: "a", env: [{ name: "X", $patch: "delete" }] }],
        volumes: [{ $retainKeys: ["name"], name: "v" }],
      },
    };
    const before = cloneJson({ original, patch });
    applyStrategicMergePatch(original, patch, POD);
    expect({ original, patch }).toEqual(before);
  });
});

describe("the order of merged lists", () => {
  function order(original: string[], patch: JsonObject[], wanted?: string[]): unknown[] {
    const directive = wanted === undefined ? {} : { "$setElementOrder/containers": named(...wanted) };
    const spec = patchSpec({ containers: named(...original) }, { containers: patch, ...directive });
    return namesOf((spec as JsonObject)["containers"]);
  }
  const gone = (name: string): JsonObject => ({ name, $patch: "delete" });

  test.each<[rule: string, original: string[], patch: JsonObject[], result: string[]]>([
    ["has new items first", ["a", "b"], named("c"), ["c", "a", "b"]],
    ["keeps the order of the patch for its items", ["a", "b", "c"], named("c", "a"), ["b", "c", "a"]],
    [
      "has items that the patch does not name before the named items that followed them",
      ["a", "b", "c", "d"],
      named("b", "d"),
      ["a", "b", "c", "d"],
    ],
    [
      "has items that the patch does not name after the new items that precede an existing one in the patch",
      ["a", "b"],
      named("x", "b"),
      ["x", "a", "b"],
    ],
    ["ignores the order of deletions", ["a", "b", "c"], [gone("a")], ["b", "c"]],
  ])("%s", (_rule, original, patch, result) => {
    expect(order(original, patch)).toEqual(result);
  });

  test.each<{ rule: string; original: string[]; patch?: JsonObject[]; wanted: string[]; result: string[] }>([
    { rule: "is the order of the list", original: ["a", "b", "c"], wanted: ["c", "a", "b"], result: ["c", "a", "b"] },
    { rule: "may name absent items", original: ["a", "b"], wanted: ["x", "b", "a"], result: ["b", "a"] },
    {
      rule: "sets the positions of new items",
      original: ["a", "b"],
      patch: named("n"),
      wanted: ["a", "n", "b"],
      result: ["a", "n", "b"],
    },
    {
      rule: "keeps the positions of items that it does not list",
      original: ["s", "a", "t", "b"],
      wanted: ["b", "a"],
      result: ["s", "t", "b", "a"],
    },
    {
      rule: "ignores deletions",
      original: ["a", "b", "c"],
      patch: [gone("b")],
      wanted: ["c", "a"],
      result: ["c", "a"],
    },
    {
      rule: "puts an existing item before a new one at the position of a deleted one",
      original: ["a", "b", "s"],
      patch: [gone("b"), { name: "n" }],
      wanted: ["a", "n"],
      result: ["a", "s", "n"],
    },
    {
      rule: "puts an existing item after a new one if nothing was deleted",
      original: ["a", "s"],
      patch: named("n"),
      wanted: ["a", "n"],
      result: ["a", "n", "s"],
    },
    {
      rule: "without items puts new items first",
      original: ["a", "b"],
      patch: named("n"),
      wanted: [],
      result: ["n", "a", "b"],
    },
    {
      rule: "applies to a replaced list",
      original: ["a"],
      patch: [{ $patch: "replace" }, ...named("c", "d")],
      wanted: ["c", "d"],
      result: ["c", "d"],
    },
  ])("$setElementOrder $rule", ({ original, patch = [], wanted, result }) => {
    expect(order(original, patch, wanted)).toEqual(result);
  });

  test.each<[rule: string, original: JsonObject, patch: JsonObject, result: JsonObject]>([
    [
      "without a patch of the list only sorts the list",
      { containers: named("a", "b") },
      { "$setElementOrder/containers": named("b", "a") },
      { containers: named("b", "a") },
    ],
    [
      "sorts a new list",
      {},
      {
        volumes: [...named("b"), { name: "x", $patch: "delete" }, ...named("a")],
        "$setElementOrder/volumes": named("b", "a"),
      },
      { volumes: named("b", "a") },
    ],
    ["is ignored for an absent list", {}, { "$setElementOrder/volumes": named("a") }, {}],
    [
      "is ignored for a list of another release",
      {},
      { novel: named("a"), "$setElementOrder/novel": named("a") },
      { novel: named("a") },
    ],
  ])("$setElementOrder %s", (_rule, original, patch, result) => {
    expect(patchSpec(original, patch)).toEqual(result);
  });
});

describe("lists of scalars", () => {
  function patchFinalizers(finalizers: string[] | undefined, metadata: JsonObject): unknown {
    const original = finalizers === undefined ? {} : { finalizers };
    return (applyStrategicMergePatch({ metadata: original }, { metadata }, POD)["metadata"] as JsonObject)[
      "finalizers"
    ];
  }
  const DELETE = "$deleteFromPrimitiveList/finalizers";
  const ORDER = "$setElementOrder/finalizers";

  test.each<[rule: string, original: string[] | undefined, metadata: JsonObject, result: string[] | undefined]>([
    ["are merged, with new items first", ["a", "b"], { finalizers: ["c", "a"] }, ["c", "a", "b"]],
    ["have each item once", ["a"], { finalizers: ["b", "b", "a"] }, ["b", "a"]],
    ["are copied if the object has no such list", undefined, { finalizers: ["b", "a"] }, ["b", "a"]],
    ["lose deleted items", ["a", "b", "c"], { [DELETE]: ["b", "x"] }, ["a", "c"]],
    ["are omitted if all items are deleted", ["a"], { [DELETE]: ["a"] }, undefined],
    ["ignore deletions from an absent list", undefined, { [DELETE]: ["a"] }, undefined],
    ["can lose and gain items", ["a", "b"], { [DELETE]: ["a"], finalizers: ["c"] }, ["c", "b"]],
    ["are removed by null, also by null deletions", ["a"], { [DELETE]: null }, undefined],
    ["can be sorted", ["a", "b", "c"], { [ORDER]: ["c", "b", "a"] }, ["c", "b", "a"]],
    ["can be sorted with new items", ["a", "b"], { finalizers: ["n"], [ORDER]: ["b", "n", "a"] }, ["b", "n", "a"]],
  ])("%s", (_rule, original, metadata, result) => {
    expect(patchFinalizers(original, metadata)).toEqual(result);
  });
});

const FAILURES: readonly (readonly [rule: string, patch: JsonObject, sentence: string])[] = [
  [
    "an item without its key",
    { containers: [{ image: "x", tty: true }] },
    "map: map[image:x tty:true] does not contain declared merge key: name",
  ],
  [
    "a deletion without the key",
    { containers: [{ $patch: "delete" }] },
    "map: map[$patch:delete] does not contain declared merge key: name",
  ],
  [
    "an unknown directive in a map",
    { nodeSelector: { $patch: "merge", a: null } },
    "unknown patch type: merge in map: map[$patch:merge a:<nil>]",
  ],
  [
    "a directive that is not a string",
    { nodeSelector: { $patch: 1 } },
    "unknown patch type: %!s(int64=1) in map: map[$patch:1]",
  ],
  [
    "an unknown directive in a list",
    { containers: [{ $patch: "x", name: "a" }] },
    "unknown patch type: x in map: map[$patch:x name:a]",
  ],
  [
    "a merge directive in a list",
    { containers: [{ $patch: "merge" }] },
    "merging lists cannot yet be specified in the patch",
  ],
  [
    "items of another type",
    { containers: ["a"] },
    "list element types are not identical: [[map[image:1 name:a ports:[map[containerPort:1]]]] [a]]",
  ],
  [
    "deletions from maps without a key",
    { "$deleteFromPrimitiveList/tolerations": [{}] },
    "cannot merge lists without merge key for struct",
  ],
  [
    "an order that is not a list",
    { "$setElementOrder/containers": {} },
    "expected a []interface {}, but received a map[string]interface {}",
  ],
  [
    "an order that is null",
    { "$setElementOrder/containers": null },
    "expected a []interface {}, but received a %!s(<nil>)",
  ],
  [
    "an order of an unknown list",
    { "$setElementOrder/bogus": [] },
    'unable to find api field in struct PodSpec for the json field "bogus"',
  ],
  ["an order of strings for maps", { "$setElementOrder/containers": ["a"] }, "value for key 0 is not a map"],
  [
    "an order without keys",
    { "$setElementOrder/containers": [{}] },
    "map: map[] does not contain declared merge key: name",
  ],
  [
    "an order that contradicts the patch",
    { containers: named("b", "a"), "$setElementOrder/containers": named("a", "b") },
    "The order in patch list:\n[map[name:b] map[name:a]]\n doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
  ],
  [
    "an order that lacks an item of the patch",
    { containers: named("b"), "$setElementOrder/containers": named("a") },
    "The order in patch list:\n[map[name:b]]\n doesn't match $setElementOrder list:\n[map[name:a]]\n",
  ],
];

describe("an invalid patch:", () => {
  const CONTAINERS = { containers: [{ name: "a", image: "1", ports: [{ containerPort: 1 }] }] };

  test.each(FAILURES)("%s", (_rule, patch, sentence) => {
    const original = { ...CONTAINERS, tolerations: [{ key: "t" }], nodeSelector: {} };
    expect(() => patchSpec(original, patch)).toThrow(new StrategicPatchError("internal", sentence));
  });

  test.each<[patch: JsonObject, problem: StrategicPatchError["problem"], sentence: string]>([
    [{ $setElementOrder: [] }, "bad-request", "invalid patch format of setElementOrder list"],
    [{ $setElementOrderX: [] }, "bad-request", "invalid patch format of setElementOrder list"],
    [{ $deleteFromPrimitiveList: ["a"] }, "bad-request", "invalid patch format of primitive list"],
  ])("%j", (patch, problem, sentence) => {
    expect(() => patchSpec(CONTAINERS, patch)).toThrow(new StrategicPatchError(problem, sentence));
  });

  test("lists of lists cannot be merged", () => {
    const finalizers = { metadata: { finalizers: [] } };
    expect(() => applyStrategicMergePatch(finalizers, { metadata: { finalizers: [["a"]] } }, POD)).toThrow(
      new StrategicPatchError("unprocessable", "lists of lists are not supported"),
    );
  });

  test("values of a map have no tags for merging", () => {
    const requests = kind("certificates.k8s.io", "CertificateSigningRequest");
    const request = { spec: { extra: { a: ["x"] } } };
    expect(() => applyStrategicMergePatch(request, request, requests)).toThrow(
      new StrategicPatchError("internal", "merging an object in json but data type is not struct, instead is: map"),
    );
  });

  test("messages quote only the beginning of a long patch", () => {
    const patch = { containers: [{ image: "x".repeat(100_000) }] };
    try {
      patchSpec(CONTAINERS, patch);
      expect.unreachable();
    } catch (thrown) {
      expect((thrown as Error).message.length).toBeLessThan(10_000);
    }
  });
});

describe("properties of strategic merge patches:", () => {
  const text = fc.constantFrom("a", "b", "c", "d", "e", "f");
  const env = fc.uniqueArray(fc.record({ name: text, value: text }), {
    selector: ({ name }) => name,
    minLength: 1,
    maxLength: 5,
  });
  const container = fc.record({ name: text, image: text, env, args: fc.array(text, { maxLength: 3 }) });
  const containers = fc.uniqueArray(container, { selector: ({ name }) => name, minLength: 1, maxLength: 5 });
  const labels = fc.dictionary(text, text);
  const pod = fc.record({
    metadata: fc.record({ labels, finalizers: fc.uniqueArray(text, { minLength: 1 }) }),
    spec: fc.record({ containers }),
  });

  test("an empty patch changes nothing", () => {
    fc.assert(
      fc.property(pod, (original) => {
        expect(applyStrategicMergePatch(original, {}, POD)).toEqual(original);
      }),
    );
  });

  test("a patch that equals the object changes nothing, not even the order of lists", () => {
    fc.assert(
      fc.property(pod, (original) => {
        expect(applyStrategicMergePatch(original, original, POD)).toEqual(original);
      }),
    );
  });

  test("$patch: replace yields the patch, regardless of the existing map", () => {
    fc.assert(
      fc.property(pod, pod, (original, { spec }) => {
        const patched = applyStrategicMergePatch(original, { spec: { $patch: "replace", ...spec } }, POD);
        expect(patched).toEqual({ ...original, spec });
      }),
    );
  });

  test("applying a patch twice equals applying it once", () => {
    fc.assert(
      fc.property(pod, pod, (original, patch) => {
        const once = applyStrategicMergePatch(original, patch, POD);
        const twice = applyStrategicMergePatch(once, patch, POD);
        expect(twice).toEqual(once);
      }),
    );
  });

  test("$setElementOrder of all items sets the order of the list", () => {
    fc.assert(
      fc.property(containers, fc.array(fc.nat(100)), (list, seeds) => {
        const order = list
          .map(({ name }, index) => ({ name, at: seeds[index] ?? 0 }))
          .toSorted((left, right) => left.at - right.at);
        const wanted = order.map(({ name }) => ({ name }));
        const patched = patchSpec({ containers: list }, { "$setElementOrder/containers": wanted }) as JsonObject;
        expect(namesOf(patched["containers"])).toEqual(namesOf(wanted));
      }),
    );
  });

  test("$patch: delete removes the item with the key, and no other item", () => {
    fc.assert(
      fc.property(containers, fc.array(text), (list, deleted) => {
        const patch = { containers: deleted.map((name) => ({ name, $patch: "delete" })) };
        const patched = patchSpec({ containers: list }, patch) as JsonObject;
        expect(patched["containers"]).toEqual(list.filter(({ name }) => !deleted.includes(name)));
      }),
    );
  });
});

test("long lists are merged quickly", () => {
  const long = (prefix: string): JsonObject[] =>
    named(...Array.from({ length: 50_000 }, (_, index) => `${prefix}${index}`));
  const patch = { containers: [...long("b"), ...long("a").map((item) => ({ ...item, $patch: "delete" }))] };
  const ordered = { ...patch, "$setElementOrder/containers": long("b") };
  expect(patchSpec({ containers: [...long("a"), ...long("c")] }, ordered)).toMatchObject({
    containers: { length: 100_000 },
  });
});
