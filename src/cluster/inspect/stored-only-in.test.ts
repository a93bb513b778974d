import { expect, test } from "vitest";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import { storedOnlyIn } from "./stored-only-in.ts";

const NAME = "resource.k8s.io.resourceclaims";
const V1 = "resource.k8s.io/v1";

/** By key: the stored version, or undefined for a corrupt value. */
function cacheOf(versions: Record<string, string | undefined>, isCaughtUp = true): Parameters<typeof storedOnlyIn>[0] {
  const entries = Object.entries(versions).map(
    ([key, apiVersion = ""]) =>
      ({ key, apiVersion, corrupt: apiVersion === "" ? "no JSON" : undefined }) as unknown as Entry,
  );
  return {
    catchUp: () => Promise.resolve(isCaughtUp),
    range: (start, end) => entries.filter(({ key }) => key >= start && key < end),
  };
}

const AT = { storageRoot: "/registry/" };
const KEY = "/registry/resourceclaims/default/a";

test.each([
  [{}, true],
  [{ [KEY]: V1, "/registry/deviceclasses/b": "resource.k8s.io/v1beta1" }, true],
  [{ [KEY]: V1, [`${KEY}b`]: "resource.k8s.io/v1beta1" }, false],
  [{ [KEY]: undefined }, false],
])("of a store with %j, it is %s that all objects are stored in one version", async (versions, isOnly) => {
  expect(await storedOnlyIn(cacheOf(versions), AT)(NAME, V1)).toBe(isOnly);
});

test("an object that must be written again for another reason is not taken for up to date", async () => {
  const isOutdated = ({ key }: Entry): boolean => key === KEY;
  expect(await storedOnlyIn(cacheOf({ [KEY]: V1 }), { ...AT, isOutdated })(NAME, V1)).toBe(false);
  expect(await storedOnlyIn(cacheOf({ [`${KEY}b`]: V1 }), { ...AT, isOutdated })(NAME, V1)).toBe(true);
});

test("nothing is certain of a resource that is not built in, or while the cache is behind", async () => {
  expect(await storedOnlyIn(cacheOf({}), AT)("example.com.widgets", "example.com/v1")).toBe(false);
  expect(await storedOnlyIn(cacheOf({ [KEY]: V1 }, false), AT)(NAME, V1)).toBe(false);
});
