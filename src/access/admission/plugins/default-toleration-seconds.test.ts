import { expect, test } from "vitest";
import { objectAt } from "../../../meta/json.ts";
import { defaultTolerationSeconds } from "./default-toleration-seconds.ts";
import { attributes, mutated, pod } from "../../../../test/testing/access/admission/plugins/attributes.ts";

const plugin = defaultTolerationSeconds({ notReadySeconds: 10, unreachableSeconds: 20 });
const NOT_READY = {
  key: "node.kubernetes.io/not-ready",
  operator: "Exists",
  effect: "NoExecute",
  tolerationSeconds: 10,
};
const UNREACHABLE = { ...NOT_READY, key: "node.kubernetes.io/unreachable", tolerationSeconds: 20 };
const OTHER = { key: "a", operator: "Exists" };

test.each([
  ["no taint", undefined, [NOT_READY, UNREACHABLE]],
  ["another taint", [OTHER], [OTHER, NOT_READY, UNREACHABLE]],
  ["not-ready with any effect", [{ key: NOT_READY.key }], [{ key: NOT_READY.key }, UNREACHABLE]],
  ["every taint", [{ operator: "Exists" }], [{ operator: "Exists" }]],
  [
    "unreachable with another effect",
    [{ key: UNREACHABLE.key, effect: "NoSchedule" }],
    [{ key: UNREACHABLE.key, effect: "NoSchedule" }, NOT_READY, UNREACHABLE],
  ],
])("a pod that tolerates %s gets the missing default tolerations", async (_, tolerations, expected) => {
  const given = attributes({ object: pod(tolerations === undefined ? {} : { tolerations }) });
  expect(objectAt(await mutated(plugin, given), "spec")["tolerations"]).toEqual(expected);
});

test("writes to subresources are not handled", () => {
  const about = { groupVersion: { group: "", version: "v1" }, resource: "pods", subresource: "status" };
  expect(plugin.handles("UPDATE", about)).toBe(false);
  expect(plugin.handles("UPDATE", { ...about, subresource: "" })).toBe(true);
});
