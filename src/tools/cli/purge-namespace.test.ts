import { describe, expect, test } from "vitest";
import { leftoversText, purgedText, purgePath } from "./purge-namespace.ts";

const key = (name: string) => ({ resource: "resourceclaims.resource.k8s.io", name, key: `/registry/x/team/${name}` });

describe("what is left of a namespace", () => {
  test("is listed by resource and name", () => {
    const leftovers = { namespace: "team", keys: [key("a"), key("b")], more: 0, token: "t", kept: [] };
    expect(leftoversText(leftovers)).toBe(
      "No server serves 2 of the objects left in the namespace team:\n" +
        "  resourceclaims.resource.k8s.io a\n" +
        "  resourceclaims.resource.k8s.io b\n",
    );
  });

  test("is cut when it is long", () => {
    const keys = Array.from({ length: 60 }, (_, at) => key(`n-${at}`));
    expect(leftoversText({ namespace: "team", keys, more: 5, kept: [] })).toMatch(/n-49\n {2}and 15 more\n$/);
  });

  test("that must stay is told with the reason", () => {
    const kept = [{ resource: "jobs.batch", objects: 3, because: "b left at noon, and may serve it" }];
    expect(leftoversText({ namespace: "team", keys: [], more: 0, kept })).toBe(
      "Nothing of what is left in the namespace team may be removed.\nThese stay:\n  3 jobs.batch: b left at noon, and may serve it\n",
    );
  });

  test("may be nothing", () => {
    expect(leftoversText({ namespace: "team", keys: [], more: 0, kept: [] })).toBe(
      "The store holds nothing of the namespace team.\n",
    );
  });

  test("cannot steer a terminal", () => {
    expect(leftoversText({ namespace: "team", keys: [key("\u001b[2J")], more: 0, kept: [] })).not.toContain("\u001b");
  });
});

test("what was removed is told, and what was not", () => {
  expect(purgedText({ namespace: "team", removed: 2, changed: 0 })).toBe("Removed 2 objects of the namespace team.\n");
  expect(purgedText({ namespace: "team", removed: 1, changed: 0 })).toBe("Removed 1 object of the namespace team.\n");
  expect(purgedText({ namespace: "team", removed: 2, changed: 1 })).toContain("1 have changed since they were listed");
});

test("names are quoted on their way", () => {
  expect(purgePath("a b", "t+/")).toBe("/evenkeel/v1/purge-namespace?namespace=a+b&token=t%2B%2F");
});
