import { describe, expect, test } from "vitest";
import { containers, pod } from "../../../../../test/testing/access/admission/plugins/attributes.ts";
import { createQuotaCalculator } from "./recalculate.ts";
import { gatesOf } from "../../../../objects/catalog/release-gates.ts";

const calculator = createQuotaCalculator({ gates: gatesOf("1.36"), now: () => 0 });
const POD = pod({ containers: containers({ requests: { cpu: "500m" } }) });

describe("the status of a quota", () => {
  test("is the usage of all objects of the namespace", () => {
    const hard = {
      cpu: "4",
      pods: "9",
      "count/deployments.apps": "5",
      services: "1",
      "count/unknown.example.com": "1",
    };
    const objects = new Map([
      ["pods", [POD, POD, POD]],
      ["deployments.apps", [{}]],
      ["services", []],
    ]);
    const status = calculator.statusOf({ spec: { hard } }, objects);
    expect(status).toEqual({ hard, used: { cpu: "1500m", pods: "3", "count/deployments.apps": "1", services: "0" } });
  });

  test("counts only objects in its scopes", () => {
    const brief = pod({ activeDeadlineSeconds: 5, containers: [] });
    const quota = { spec: { hard: { pods: "9" }, scopes: ["Terminating"] } };
    expect(calculator.statusOf(quota, new Map([["pods", [POD, brief]]]))["used"]).toEqual({ pods: "1" });
  });

  test("keeps the usage of objects that could not be listed, and drops resources without a limit", () => {
    const quota = { spec: { hard: { pods: "9" } }, status: { used: { pods: "4", cpu: "1" } } };
    expect(calculator.statusOf(quota, new Map())["used"]).toEqual({ pods: "4" });
  });

  test("is outdated if the stored limits or usage differ", () => {
    const status = { hard: { cpu: "1" }, used: { cpu: "1" } };
    expect(calculator.isOutdated({}, status)).toBe(true);
    expect(calculator.isOutdated({ status: { hard: { cpu: "1" }, used: { cpu: "1000m" } } }, status)).toBe(false);
    expect(calculator.isOutdated({ status: { hard: { cpu: "2" }, used: { cpu: "1" } } }, status)).toBe(true);
    expect(calculator.isOutdated({ status: { hard: { cpu: "1" }, used: { cpu: "2" } } }, status)).toBe(true);
  });
});

test("countedResources returns the resources whose objects count toward a quota", () => {
  const hard = { cpu: "1", "requests.storage": "1", "count/things.example.com": "1", "count/events": "1" };
  expect(calculator.countedResources({ spec: { hard } })).toEqual([
    { group: "", resource: "pods" },
    { group: "", resource: "persistentvolumeclaims" },
    { group: "example.com", resource: "things" },
  ]);
});
