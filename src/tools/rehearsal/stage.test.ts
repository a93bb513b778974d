import { expect, test } from "vitest";
import { isMissed, newServerRun, servesAtAll } from "./stage.ts";

const OLD = { ...newServerRun("apiserver-1", "1.33"), readyAtMs: 0 };
const NEW = { ...newServerRun("apiserver-1", "1.34"), readyAtMs: 0 };

test("a resource of a newer release is missed after the rollback, until the given time", () => {
  const gone = { ...NEW, endedAtMs: 5_000 };
  expect(isMissed([gone, OLD], 4_000)).toBe(true);
  expect(isMissed([gone, OLD], 6_000)).toBe(false);
  expect(isMissed([gone, NEW], 4_000)).toBe(false);
});

test("after a rollback to a release with the same resources nothing is missed", () => {
  expect(isMissed([{ ...OLD, endedAtMs: 5_000 }, NEW], 0)).toBe(false);
});

test("a resource is served if any of its versions is", () => {
  expect(servesAtAll(NEW, { group: "resource.k8s.io", resource: "resourceclaims" })).toBe(true);
  expect(servesAtAll(OLD, { group: "resource.k8s.io", resource: "resourceclaims" })).toBe(false);
});
