import { expect, test } from "vitest";
import { pairAddresses } from "./paired-addresses.ts";

function pairs(ids: readonly string[], ips: readonly string[], before: readonly [string, string][] = []): string[] {
  return [...pairAddresses(ids, ips, new Map(before))].map(([id, ip]) => `${id} ${ip}`).sort();
}

test("every address is paired with one server, and no server with two", () => {
  expect(pairs(["b", "a"], ["192.0.2.2", "192.0.2.1"])).toEqual(["a 192.0.2.2", "b 192.0.2.1"]);
  expect(pairs(["a"], ["192.0.2.1", "192.0.2.2"])).toEqual(["a 192.0.2.1"]);
  expect(pairs(["a", "b"], ["192.0.2.1"])).toEqual(["a 192.0.2.1"]);
  expect(pairs([], ["192.0.2.1"])).toEqual([]);
});

test("a pair stays as it is while both parts exist, although another order would give another pair", () => {
  const before: [string, string][] = [["b", "192.0.2.1"]];
  expect(pairs(["a", "b"], ["192.0.2.1", "192.0.2.2"], before)).toEqual(["a 192.0.2.2", "b 192.0.2.1"]);
  expect(pairs(["a", "b"], ["192.0.2.2"], before)).toEqual(["a 192.0.2.2"]);
  expect(pairs(["a"], ["192.0.2.1"], before)).toEqual(["a 192.0.2.1"]);
});
