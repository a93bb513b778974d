import { describe, expect, test } from "vitest";
import type { Kv, RangeRequest } from "../../storage/kv.ts";
import { createNamespaceContent, namespaceKeys, namespaceParts } from "./namespace-content.ts";
import { json, plantedStore } from "../../../test/testing/cluster/inspect/planted-store.ts";

const VALUE = json("v1");

async function countsIn(keys: readonly string[], namespace = "team"): Promise<string[]> {
  const kv = await plantedStore(Object.fromEntries(keys.map((key) => [key, VALUE])));
  const counts = await createNamespaceContent({ kv, storageRoot: "/registry/" })(namespace);
  return counts.map(({ resource, count }) => `${count} ${resource}`).sort();
}

describe("the content of a namespace", () => {
  test("is counted by resource, including resources that only other releases store", async () => {
    const keys = [
      "pods/team/a",
      "pods/team/b",
      "resourceclaimparameters/team/c",
      "services/specs/team/d",
      "leases/team/e",
    ];
    expect(await countsIn(keys)).toEqual([
      "1 leases.coordination.k8s.io",
      "1 resourceclaimparameters.resource.k8s.io",
      "1 services",
      "2 pods",
    ]);
  });

  test("excludes other namespaces, the namespace itself, cluster-scoped objects and records of servers", async () => {
    const keys = [
      "pods/team-2/a",
      "pods/other/team",
      "namespaces/team",
      "clusterroles/team",
      "minions/team",
      "evenkeel/served/team/x",
      "masterleases/team",
      "peerserverleases/team",
      "ranges/team",
    ];
    expect(await countsIn(keys)).toEqual([]);
  });

  test("includes custom resources of unknown groups", async () => {
    const keys = [
      "example.com/widgets/team/a",
      "example.com/widgets/team/b",
      "example.com/gadgets/team/c",
      "example.com/gadgets/other/d",
      "example.org/clusterwides/team",
      "oddities/team/e",
    ];
    expect(await countsIn(keys)).toEqual(["1 gadgets.example.com", "1 oddities", "2 widgets.example.com"]);
  });

  test("is not confused with a storage prefix that is named like the namespace", async () => {
    expect(await countsIn(["services/specs/default/kubernetes", "services/other/x"], "specs")).toEqual([]);
  });

  test.each(["", "a/b"])("is empty for the invalid name %j", async (name) => {
    expect(await countsIn(["pods/a/b/c", "pods/a"], name)).toEqual([]);
  });
});

test("objects are counted without reading them: under each unknown prefix only one key is read", async () => {
  const many = Array.from({ length: 300 }, (_, at) => [`example.com/widgets/team/w-${at}`, VALUE] as const);
  const pods = Array.from({ length: 300 }, (_, at) => [`pods/team/p-${at}`, VALUE] as const);
  const kv = await plantedStore(Object.fromEntries([...many, ...pods]));
  const requests: RangeRequest[] = [];
  const counting: Pick<Kv, "range"> = {
    range: (request) => {
      requests.push(request);
      return kv.range(request);
    },
  };
  const parts = await namespaceParts({ kv: counting, storageRoot: "/registry/" }, "team");
  expect(parts.map(({ resource, count }) => [resource, count])).toEqual([
    ["pods", 300],
    ["widgets", 300],
  ]);
  expect(requests.every(({ limit, countOnly }) => limit === 1 || countOnly === true)).toBe(true);
  expect(requests.filter(({ limit }) => limit === 1)).toHaveLength(3);
  expect(requests.every(({ revision }) => revision === undefined)).toBe(true);
});

test("keys are listed in order and with their revisions, up to the limit", async () => {
  const names = Array.from({ length: 250 }, (_, at) => `w-${String(at).padStart(3, "0")}`);
  const kv = await plantedStore(Object.fromEntries(names.map((name) => [`pods/team/${name}`, VALUE])));
  const options = { kv, storageRoot: "/registry/" };
  const [part] = await namespaceParts(options, "team");
  const keys = await namespaceKeys(options, part!, 1_000);
  expect(keys.map(({ name }) => name)).toEqual(names);
  expect(keys[0]).toMatchObject({ group: "", resource: "pods", key: "/registry/pods/team/w-000", revision: 2 });
  expect(await namespaceKeys(options, part!, 120)).toHaveLength(120);
});
