import { expect, test } from "vitest";
import { hasDepartedResource, newServerRun, servesAnyVersion } from "./stage.ts";

const OLD = { ...newServerRun("apiserver-1", "1.33"), readyAtMs: 0 };
const NEW = { ...newServerRun("apiserver-1", "1.34"), readyAtMs: 0 };

test("after a rollback, a resource that only the newer release served counts as departed, if the newer server ended after the given time", () => {
  const gone = { ...NEW, endedAtMs: 5_000 };
  expect(hasDepartedResource([gone, OLD], 4_000)).toBe(true);
  expect(hasDepartedResource([gone, OLD], 6_000)).toBe(false);
  expect(hasDepartedResource([gone, NEW], 4_000)).toBe(false);
});

test("after an upgrade, no resource of the older release counts as departed", () => {
  expect(hasDepartedResource([{ ...OLD, endedAtMs: 5_000 }, NEW], 0)).toBe(false);
});

test("a resource is served if any of its versions is", () => {
  expect(servesAnyVersion(NEW, { group: "resource.k8s.io", resource: "resourceclaims" })).toBe(true);
  expect(servesAnyVersion(OLD, { group: "resource.k8s.io", resource: "resourceclaims" })).toBe(false);
});
