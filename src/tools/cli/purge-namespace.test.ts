import { describe, expect, test } from "vitest";
import { leftoversText, purgedText, purgePath } from "./purge-namespace.ts";

const key = (name: string) => ({ resource: "resourceclaims.resource.k8s.io", name, key: `/registry/x/team/${name}` });

describe("the list of remaining objects", () => {
  test("names resource and object", () => {
    const leftovers = { namespace: "team", keys: [key("a"), key("b")], more: 0, token: "t", kept: [] };
    expect(leftoversText(leftovers)).toBe(
      "Namespace team has 2 objects that no server serves:\n" +
        "  resourceclaims.resource.k8s.io a\n" +
        "  resourceclaims.resource.k8s.io b\n",
    );
  });

  test("is truncated if it is long", () => {
    const keys = Array.from({ length: 60 }, (_, at) => key(`n-${at}`));
    expect(leftoversText({ namespace: "team", keys, more: 5, kept: [] })).toMatch(/n-49\n {2}and 15 more\n$/);
  });

  test("shows why other objects are kept", () => {
    const kept = [{ resource: "jobs.batch", objects: 3, because: "b left at noon, and may serve it" }];
    expect(leftoversText({ namespace: "team", keys: [], more: 0, kept })).toBe(
      "None of the remaining objects of namespace team can be removed.\nKept:\n  3 jobs.batch: b left at noon, and may serve it\n",
    );
  });

  test("is one sentence if there are none", () => {
    expect(leftoversText({ namespace: "team", keys: [], more: 0, kept: [] })).toBe(
      "The store has no objects of namespace team.\n",
    );
  });

  test("contains no control characters", () => {
    expect(leftoversText({ namespace: "team", keys: [key("\u001b[2J")], more: 0, kept: [] })).not.toContain("\u001b");
  });
});

test("the result counts the removed objects and the changed ones that are kept", () => {
  expect(purgedText({ namespace: "team", removed: 2, changed: 0 })).toBe("Removed 2 objects of namespace team.\n");
  expect(purgedText({ namespace: "team", removed: 1, changed: 0 })).toBe("Removed 1 object of namespace team.\n");
  expect(purgedText({ namespace: "team", removed: 2, changed: 1 })).toContain(
    "; kept 1 that changed after they were listed",
  );
});

test("the request path contains the namespace and the token, encoded for URLs", () => {
  expect(purgePath("a b", "t+/")).toBe("/evenkeel/v1/purge-namespace?namespace=a+b&token=t%2B%2F");
});
