import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openSchemas } from "../catalogue/schema-source.ts";
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

/** Of a pod's spec. */
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
    "members are set, and others stay",
    { hostname: "a", nodeName: "n" },
    { hostname: "b" },
    { hostname: "b", nodeName: "n" },
  ],
  ["null removes", { hostname: "a", nodeName: "n" }, { hostname: null }, { nodeName: "n" }],
  ["null of what is not there does nothing", { hostname: "a" }, { nodeName: null }, { hostname: "a" }],
  [
    "maps merge",
    { nodeSelector: { a: "1", b: "2" } },
    { nodeSelector: { b: null, c: "3" } },
    { nodeSelector: { a: "1", c: "3" } },
  ],
  ["a new map has no nulls", {}, { nodeSelector: { a: "1", b: null } }, { nodeSelector: { a: "1" } }],
  ["an emptied map stays", { nodeSelector: { a: "1" } }, { nodeSelector: { a: null } }, { nodeSelector: {} }],
  ["another type replaces", { nodeSelector: { a: "1" } }, { nodeSelector: "x" }, { nodeSelector: "x" }],
  [
    "$patch: replace is the patch and nothing else",
    { securityContext: { runAsUser: 1, fsGroup: 2 } },
    { securityContext: { $patch: "replace", fsGroup: 3 } },
    { securityContext: { fsGroup: 3 } },
  ],
  [
    "$patch: delete leaves an empty map",
    { securityContext: { runAsUser: 1 } },
    { securityContext: { $patch: "delete" } },
    { securityContext: {} },
  ],
  ["$patch: delete of what is not there does nothing", {}, { securityContext: { $patch: "delete" } }, {}],
  [
    "maps with a directive are not taken over into new maps",
    {},
    { affinity: { nodeAffinity: { $patch: "delete" }, podAffinity: {} } },
    { affinity: { podAffinity: {} } },
  ],
  [
    "a null directive in a new map is none",
    {},
    { affinity: { nodeAffinity: { $patch: null } } },
    { affinity: { nodeAffinity: {} } },
  ],
];

describe("maps", () => {
  test.each(MAPS)("%s", (_rule, original, patch, result) => {
    expect(patchSpec(original, patch)).toEqual(result);
  });

  test("a member of the strategy replace is replaced", () => {
    const budgets = kind("policy", "PodDisruptionBudget");
    const original = { spec: { selector: { matchLabels: { a: "1" } }, maxUnavailable: 1 } };
    const patch = { spec: { selector: { matchLabels: { b: "2" } } } };
    expect(applyStrategicMergePatch(original, patch, budgets)).toEqual({
      spec: { selector: { matchLabels: { b: "2" } }, maxUnavailable: 1 },
    });
  });

  test("what only another release knows is merged as plain JSON", () => {
    const original = { novel: { a: { b: 1 }, list: [{ name: "x" }] } };
    expect(patchSpec(original, { novel: { a: { c: 2 }, list: [{ name: "y" }] } })).toEqual({
      novel: { a: { b: 1, c: 2 }, list: [{ name: "y" }] },
    });
  });

  test("prototypes are not reached", () => {
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
    ["what is not listed goes", { $retainKeys: ["type"], type: "Recreate" }, { type: "Recreate" }],
    [
      "what is listed is merged",
      { $retainKeys: ["type", "rollingUpdate"], rollingUpdate: { maxSurge: 2 } },
      { ...STRATEGY, rollingUpdate: { maxSurge: 2, maxUnavailable: 0 } },
    ],
    ["what is listed need not be there", { $retainKeys: ["type", "bogus"] }, { type: "RollingUpdate" }],
    ["a null need not be listed", { $retainKeys: ["type"], rollingUpdate: null }, { type: "RollingUpdate" }],
    ["an empty list empties", { $retainKeys: [] }, {}],
  ])("%s", (_rule, strategy, result) => {
    expect(patchStrategy({ strategy: STRATEGY }, strategy)).toEqual({ strategy: result });
  });

  test("holds for a struct that is left out because it is empty", () => {
    expect(patchStrategy({}, { $retainKeys: ["type"], type: "Recreate" })).toEqual({ strategy: { type: "Recreate" } });
  });

  test("exchanges one source of a volume for another", () => {
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
    ["a list that lacks a member of the patch", { $retainKeys: ["type"], type: "x", rollingUpdate: {} }],
  ])("%s is a bad request", (_what, strategy) => {
    expect(() => patchStrategy({ strategy: STRATEGY }, strategy)).toThrow(
      new StrategicPatchError("bad-request", "invalid patch format of retainKeys"),
    );
  });
});

const LISTS_OF_MAPS: readonly SpecCase[] = [
  [
    "items of the same key merge",
    { containers: [{ name: "a", image: "1", tty: true }] },
    { containers: [{ name: "a", image: "2" }] },
    { containers: [{ name: "a", image: "2", tty: true }] },
  ],
  [
    "a null in an item removes",
    { containers: [{ name: "a", image: "1" }] },
    { containers: [{ name: "a", image: null }] },
    { containers: [{ name: "a" }] },
  ],
  [
    "lists in items merge by their own keys",
    { containers: [{ name: "a", env: [{ name: "X", value: "1" }] }] },
    { containers: [{ name: "a", env: [{ name: "X", value: "2" }] }] },
    { containers: [{ name: "a", env: [{ name: "X", value: "2" }] }] },
  ],
  [
    "$patch: delete removes the item",
    { containers: named("a", "b") },
    { containers: [{ name: "a", $patch: "delete" }] },
    { containers: named("b") },
  ],
  [
    "$patch: delete removes all of that key",
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
    "$patch: delete of what is not there does nothing",
    { containers: named("a") },
    { containers: [{ name: "b", $patch: "delete" }] },
    { containers: named("a") },
  ],
  [
    "what is deleted can be added anew",
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
    "$patch: replace is the other items and nothing else",
    { containers: named("a", "b") },
    { containers: [{ $patch: "replace" }, { name: "c" }] },
    { containers: named("c") },
  ],
  [
    "$patch: replace may stand anywhere",
    { containers: named("a") },
    { containers: [{ name: "c" }, { $patch: "replace" }, { name: "d" }] },
    { containers: named("c", "d") },
  ],
  [
    "an item twice is merged twice",
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
    "of items with the same key the first is merged",
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
    "a number and its text are two keys",
    { containers: [{ name: "a", ports: [{ containerPort: 80 }] }] },
    { containers: [{ name: "a", ports: [{ containerPort: "80" }] }] },
    { containers: [{ name: "a", ports: [{ containerPort: "80" }, { containerPort: 80 }] }] },
  ],
  [
    "an empty patch keeps the list",
    { containers: named("b", "a") },
    { containers: [] },
    { containers: named("b", "a") },
  ],
  ["an emptied list is left out", { volumes: named("a") }, { volumes: [{ name: "a", $patch: "delete" }] }, {}],
  [
    "unless it is required",
    { containers: named("a") },
    { containers: [{ name: "a", $patch: "delete" }] },
    { containers: [] },
  ],
  [
    "a new list has no items with a directive",
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
    "lists without a merge key are replaced",
    { tolerations: [{ key: "a" }] },
    { tolerations: [{ key: "b" }] },
    { tolerations: [{ key: "b" }] },
  ],
  [
    "lists of texts without the strategy are replaced",
    { containers: [{ name: "a", args: ["x"] }] },
    { containers: [{ name: "a", args: ["y"] }] },
    { containers: [{ name: "a", args: ["y"] }] },
  ],
];

describe("lists of maps", () => {
  test.each(LISTS_OF_MAPS)("%s", (_rule, original, patch, result) => {
    expect(patchSpec(original, patch)).toEqual(result);
  });

  test("neither the object nor the patch is changed", () => {
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
    ["new items come first", ["a", "b"], named("c"), ["c", "a", "b"]],
    ["the patch's items keep its order", ["a", "b", "c"], named("c", "a"), ["b", "c", "a"]],
    [
      "others come before the named ones that stood behind them",
      ["a", "b", "c", "d"],
      named("b", "d"),
      ["a", "b", "c", "d"],
    ],
    ["others come behind new items that stand before a known one", ["a", "b"], named("x", "b"), ["x", "a", "b"]],
    ["deletions name nothing", ["a", "b", "c"], [gone("a")], ["b", "c"]],
  ])("%s", (_rule, original, patch, result) => {
    expect(order(original, patch)).toEqual(result);
  });

  test.each<{ rule: string; original: string[]; patch?: JsonObject[]; wanted: string[]; result: string[] }>([
    { rule: "is the order", original: ["a", "b", "c"], wanted: ["c", "a", "b"], result: ["c", "a", "b"] },
    { rule: "may name what is not there", original: ["a", "b"], wanted: ["x", "b", "a"], result: ["b", "a"] },
    {
      rule: "places new items",
      original: ["a", "b"],
      patch: named("n"),
      wanted: ["a", "n", "b"],
      result: ["a", "n", "b"],
    },
    {
      rule: "leaves what it does not name where it stood",
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
      rule: "puts a server's item before the new one that takes a deleted one's place",
      original: ["a", "b", "s"],
      patch: [gone("b"), { name: "n" }],
      wanted: ["a", "n"],
      result: ["a", "s", "n"],
    },
    {
      rule: "puts a server's item behind a new one where nothing was deleted",
      original: ["a", "s"],
      patch: named("n"),
      wanted: ["a", "n"],
      result: ["a", "n", "s"],
    },
    {
      rule: "that names nothing puts new items first",
      original: ["a", "b"],
      patch: named("n"),
      wanted: [],
      result: ["n", "a", "b"],
    },
    {
      rule: "holds for a replaced list",
      original: ["a"],
      patch: [{ $patch: "replace" }, ...named("c", "d")],
      wanted: ["c", "d"],
      result: ["c", "d"],
    },
  ])("$setElementOrder: $rule", ({ original, patch = [], wanted, result }) => {
    expect(order(original, patch, wanted)).toEqual(result);
  });

  test.each<[rule: string, original: JsonObject, patch: JsonObject, result: JsonObject]>([
    [
      "alone only orders",
      { containers: named("a", "b") },
      { "$setElementOrder/containers": named("b", "a") },
      { containers: named("b", "a") },
    ],
    [
      "orders a new list",
      {},
      {
        volumes: [...named("b"), { name: "x", $patch: "delete" }, ...named("a")],
        "$setElementOrder/volumes": named("b", "a"),
      },
      { volumes: named("b", "a") },
    ],
    ["of a list that is nowhere does nothing", {}, { "$setElementOrder/volumes": named("a") }, {}],
    [
      "of a list that another release knows is left to it",
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
    ["are united, what is new first", ["a", "b"], { finalizers: ["c", "a"] }, ["c", "a", "b"]],
    ["hold everything once", ["a"], { finalizers: ["b", "b", "a"] }, ["b", "a"]],
    ["are taken over where nothing was", undefined, { finalizers: ["b", "a"] }, ["b", "a"]],
    ["lose what is deleted from them", ["a", "b", "c"], { [DELETE]: ["b", "x"] }, ["a", "c"]],
    ["are left out when all is deleted", ["a"], { [DELETE]: ["a"] }, undefined],
    ["lose nothing where nothing is", undefined, { [DELETE]: ["a"] }, undefined],
    ["can lose and gain", ["a", "b"], { [DELETE]: ["a"], finalizers: ["c"] }, ["c", "b"]],
    ["go with a null, also of their deletions", ["a"], { [DELETE]: null }, undefined],
    ["come in an order", ["a", "b", "c"], { [ORDER]: ["c", "b", "a"] }, ["c", "b", "a"]],
    ["come in an order with what is new", ["a", "b"], { finalizers: ["n"], [ORDER]: ["b", "n", "a"] }, ["b", "n", "a"]],
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
    "a directive that is no text",
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
    "an order that is no list",
    { "$setElementOrder/containers": {} },
    "expected a []interface {}, but received a map[string]interface {}",
  ],
  [
    "an order that is null",
    { "$setElementOrder/containers": null },
    "expected a []interface {}, but received a %!s(<nil>)",
  ],
  [
    "an order of something unknown",
    { "$setElementOrder/bogus": [] },
    'unable to find api field in struct PodSpec for the json field "bogus"',
  ],
  ["an order of texts for maps", { "$setElementOrder/containers": ["a"] }, "value for key 0 is not a map"],
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

describe("what is wrong with a patch", () => {
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

  test("what a map holds has no tags to be merged by", () => {
    const requests = kind("certificates.k8s.io", "CertificateSigningRequest");
    const request = { spec: { extra: { a: ["x"] } } };
    expect(() => applyStrategicMergePatch(request, request, requests)).toThrow(
      new StrategicPatchError("internal", "merging an object in json but data type is not struct, instead is: map"),
    );
  });

  test("a sentence is not as long as a patch can be", () => {
    const patch = { containers: [{ image: "x".repeat(100_000) }] };
    try {
      patchSpec(CONTAINERS, patch);
      expect.unreachable();
    } catch (thrown) {
      expect((thrown as Error).message.length).toBeLessThan(10_000);
    }
  });
});

describe("properties", () => {
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

  test("a patch with the object itself changes nothing, not even an order", () => {
    fc.assert(
      fc.property(pod, (original) => {
        expect(applyStrategicMergePatch(original, original, POD)).toEqual(original);
      }),
    );
  });

  test("a replaced map is the patch, whatever was there", () => {
    fc.assert(
      fc.property(pod, pod, (original, { spec }) => {
        const patched = applyStrategicMergePatch(original, { spec: { $patch: "replace", ...spec } }, POD);
        expect(patched).toEqual({ ...original, spec });
      }),
    );
  });

  test("a patch applied twice is the patch applied once", () => {
    fc.assert(
      fc.property(pod, pod, (original, patch) => {
        const once = applyStrategicMergePatch(original, patch, POD);
        const twice = applyStrategicMergePatch(once, patch, POD);
        expect(twice).toEqual(once);
      }),
    );
  });

  test("$setElementOrder of everything is the order", () => {
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

  test("what is deleted by key is gone, and nothing else", () => {
    fc.assert(
      fc.property(containers, fc.array(text), (list, deleted) => {
        const patch = { containers: deleted.map((name) => ({ name, $patch: "delete" })) };
        const patched = patchSpec({ containers: list }, patch) as JsonObject;
        expect(patched["containers"]).toEqual(list.filter(({ name }) => !deleted.includes(name)));
      }),
    );
  });
});

test("long lists are merged in a moment", () => {
  const long = (prefix: string): JsonObject[] =>
    named(...Array.from({ length: 50_000 }, (_, index) => `${prefix}${index}`));
  const patch = { containers: [...long("b"), ...long("a").map((item) => ({ ...item, $patch: "delete" }))] };
  const ordered = { ...patch, "$setElementOrder/containers": long("b") };
  expect(patchSpec({ containers: [...long("a"), ...long("c")] }, ordered)).toMatchObject({
    containers: { length: 100_000 },
  });
});
