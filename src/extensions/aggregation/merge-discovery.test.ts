import { expect, test } from "vitest";

import type { DiscoveryGroup, DiscoveryVersion } from "../../serving/discovery/groups.ts";
import { mergeRemoteGroups, type RemoteGroupVersion } from "./merge-discovery.ts";

const LOCAL: readonly DiscoveryGroup[] = [
  { name: "", versions: [version("v1")] },
  { name: "apiregistration.k8s.io", versions: [version("v1")] },
  { name: "apps", versions: [version("v1")] },
  { name: "example.com", versions: [version("v2"), version("v1")] },
];
const APPS = { groupPriorityMinimum: 17_800, versionPriority: 15 };
const prioritiesOf = (group: string): typeof APPS | undefined => (group === "apps" ? APPS : undefined);

test("local groups are returned unchanged if there are no aggregated groups", () => {
  expect(mergeRemoteGroups(LOCAL, [], prioritiesOf)).toBe(LOCAL);
});

test("groups are sorted by their highest priority, then by name, and groups without aggregated versions stay the same object", () => {
  const merged = mergeRemoteGroups(
    LOCAL,
    [remote("zoo.example.com", "v1", 20_000), remote("a.example.com", "v1", 100), remote("b.example.com", "v1", 1_000)],
    prioritiesOf,
  );
  const names = [
    "",
    "apiregistration.k8s.io",
    "zoo.example.com",
    "apps",
    "b.example.com",
    "example.com",
    "a.example.com",
  ];
  expect(merged.map(({ name }) => name)).toEqual(names);
  expect(merged[3]).toBe(LOCAL[2]);
});

test("versions are sorted by priority, then by version order", () => {
  const group = [remote("x", "v1", 5, 10), remote("x", "v1beta1", 9, 20), remote("x", "v2", 5, 10)];
  const [found] = mergeRemoteGroups([], group, prioritiesOf);
  expect(found?.versions.map((entry) => entry.version)).toEqual(["v1beta1", "v2", "v1"]);
});

test("an aggregated group version replaces a local group version of the same name", () => {
  const stale: RemoteGroupVersion = { ...remote("apps", "v1", 1), version: { ...version("v1"), freshness: "Stale" } };
  const apps = mergeRemoteGroups(LOCAL, [stale], prioritiesOf).find(({ name }) => name === "apps");
  expect(apps?.versions).toEqual([{ version: "v1", freshness: "Stale", resources: [] }]);
});

function version(name: string): DiscoveryVersion {
  return { version: name, freshness: "Current", resources: [] };
}

function remote(group: string, name: string, groupPriorityMinimum: number, versionPriority = 100): RemoteGroupVersion {
  return { group, groupPriorityMinimum, versionPriority, version: version(name) };
}
