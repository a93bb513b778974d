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
  ["nothing is tolerated", undefined, [NOT_READY, UNREACHABLE]],
  ["something else is tolerated", [OTHER], [OTHER, NOT_READY, UNREACHABLE]],
  ["one is tolerated for any effect", [{ key: NOT_READY.key }], [{ key: NOT_READY.key }, UNREACHABLE]],
  ["everything is tolerated", [{ operator: "Exists" }], [{ operator: "Exists" }]],
  [
    "one is tolerated for another effect",
    [{ key: UNREACHABLE.key, effect: "NoSchedule" }],
    [{ key: UNREACHABLE.key, effect: "NoSchedule" }, NOT_READY, UNREACHABLE],
  ],
])("if %s, the missing tolerations are added", async (_, tolerations, expected) => {
  const given = attributes({ object: pod(tolerations === undefined ? {} : { tolerations }) });
  expect(objectAt(await mutated(plugin, given), "spec")["tolerations"]).toEqual(expected);
});

test("subresources are ignored", () => {
  const about = { groupVersion: { group: "", version: "v1" }, resource: "pods", subresource: "status" };
  expect(plugin.handles("UPDATE", about)).toBe(false);
  expect(plugin.handles("UPDATE", { ...about, subresource: "" })).toBe(true);
});
