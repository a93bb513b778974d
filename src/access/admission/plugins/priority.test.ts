import { describe, expect, test } from "vitest";
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { priority } from "./priority.ts";
import {
  attributes,
  mutated,
  pod,
  readerOf,
  rejectionOf,
} from "../../../../test/testing/access/admission/plugins/attributes.ts";

const CLASSES = "priorityclasses.scheduling.k8s.io";
const HIGH = { metadata: { name: "high" }, value: 1000, preemptionPolicy: "Never" };
const LOW = { metadata: { name: "low" }, value: 5, globalDefault: true, preemptionPolicy: "PreemptLowerPriority" };

async function specOf(spec: JsonObject, classes: readonly JsonObject[], unseen: readonly JsonObject[] = []) {
  const plugin = priority(readerOf({ [CLASSES]: classes }, { [CLASSES]: unseen }));
  return objectAt(await mutated(plugin, attributes({ object: pod(spec) })), "spec");
}

describe("a new pod", () => {
  test.each([
    ["without a class", {}, [], { priority: 0, preemptionPolicy: "PreemptLowerPriority" }],
    ["that names a class", { priorityClassName: "high" }, [HIGH], { priority: 1000, preemptionPolicy: "Never" }],
    [
      "without a class, if a default class exists,",
      {},
      [HIGH, LOW],
      { priorityClassName: "low", priority: 5, preemptionPolicy: "PreemptLowerPriority" },
    ],
  ])("%s gets its priority and preemption policy", async (_, spec, classes, expected) => {
    expect(await specOf(spec, classes)).toEqual({ ...spec, ...expected });
  });

  test("may name a class that this server has not cached yet", async () => {
    expect(await specOf({ priorityClassName: "high" }, [], [HIGH])).toMatchObject({ priority: 1000 });
  });

  test("gets the default class with the lowest value if there are several default classes", async () => {
    const higher = { ...LOW, metadata: { name: "b" }, value: 9 };
    expect(await specOf({}, [higher, LOW])).toMatchObject({ priorityClassName: "low" });
  });

  test.each([
    [{ priorityClassName: "nope" }, 'pods "p" is forbidden: no PriorityClass with name nope was found'],
    [
      { priority: 7 },
      'pods "p" is forbidden: the integer value of priority (7) must not be provided in pod spec; priority admission controller computed 0 from the given PriorityClass name',
    ],
    [
      { preemptionPolicy: "Never" },
      'pods "p" is forbidden: the string value of PreemptionPolicy (Never) must not be provided in pod spec; priority admission controller computed PreemptLowerPriority from the given PriorityClass name',
    ],
  ])("with %j is rejected", async (spec, message) => {
    expect(await rejectionOf(() => specOf(spec, [HIGH]))).toBe(`403 ${message}`);
  });
});

test("an updated pod keeps the preemption policy that the update omits", async () => {
  const existing = pod({ priority: 5, preemptionPolicy: "Never" });
  const given = attributes({ operation: "UPDATE", object: pod({ priority: 6 }), existing });
  expect(objectAt(await mutated(priority(readerOf({})), given), "spec")).toEqual({
    priority: 6,
    preemptionPolicy: "Never",
  });
});

describe("a priority class with globalDefault", () => {
  const about = { groupVersion: { group: "scheduling.k8s.io", version: "v1" }, resource: "priorityclasses" };
  const plugin = priority(readerOf({ [CLASSES]: [LOW] }));
  const other = { ...LOW, metadata: { name: "other" } };

  test("is rejected if another class is the default", async () => {
    const message =
      '403 priorityclasses.scheduling.k8s.io "other" is forbidden: PriorityClass low is already marked as default. Only one default can exist';
    for (const operation of ["CREATE", "UPDATE"] as const)
      expect(await rejectionOf(() => plugin.validate?.(attributes({ ...about, operation, object: other })))).toBe(
        message,
      );
  });

  test("may be updated while it is the default", async () => {
    const given = attributes({ ...about, operation: "UPDATE", object: LOW });
    expect(await rejectionOf(() => plugin.validate?.(given))).toBeUndefined();
  });
});
