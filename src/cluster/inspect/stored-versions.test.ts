import { expect, test } from "vitest";
import { openCatalog } from "../../objects/catalog/catalog.ts";
import { resolveRelease } from "../../objects/catalog/release-options.ts";
import { storedVersions } from "./stored-versions.ts";
import { json, plantedStore, protobuf, walking } from "../../../test/testing/cluster/inspect/planted-store.ts";

test("objects are counted by resource and stored version, in either encoding", async () => {
  const kv = await plantedStore({
    "resourceclaims/default/a": json("resource.k8s.io/v1"),
    "resourceclaims/default/b": protobuf("resource.k8s.io/v1beta1"),
    "resourceclaims/other/a": protobuf("resource.k8s.io/v1"),
    "resourceclaims/other/broken": Buffer.from("{"),
    "configmaps/default/c": json("v1"),
    "podschedulingcontexts/default/old": json("resource.k8s.io/v1alpha3"),
    "secrets/default/broken": Buffer.alloc(0),
    "ranges/serviceips": json("v1"),
    "ranges/evenkeel/x": Buffer.from("x"),
    "masterleases/10.0.0.1": json("v1"),
    "example.com/widgets/default/w": json("example.com/v1"),
    "example.com/widgets/default/v": json("example.com/v1"),
  });
  expect(await storedVersions({ ...walking(kv), catalog: openCatalog({ release: "1.36" }) })).toEqual({
    kind: "StoredVersions",
    apiVersion: "evenkeel.io/v1",
    release: "1.36",
    keys: 12,
    revision: await kv.currentRevision(),
    isSnapshot: true,
    resources: [
      { group: "", resource: "configmaps", writes: "v1", versions: [{ apiVersion: "v1", objects: 1 }], unreadable: 0 },
      {
        group: "resource.k8s.io",
        resource: "podschedulingcontexts",
        versions: [{ apiVersion: "resource.k8s.io/v1alpha3", objects: 1 }],
        unreadable: 0,
      },
      {
        group: "resource.k8s.io",
        resource: "resourceclaims",
        writes: "resource.k8s.io/v1",
        versions: [
          { apiVersion: "resource.k8s.io/v1", objects: 2 },
          { apiVersion: "resource.k8s.io/v1beta1", objects: 1 },
        ],
        unreadable: 1,
      },
      { group: "", resource: "secrets", writes: "v1", versions: [], unreadable: 1 },
    ],
    privateKeys: 3,
    unknown: [{ prefix: "example.com/widgets", keys: 2 }],
  });
});

test("a server that emulates a release writes the versions of the emulation, and reports the releases of both", async () => {
  const policies = "admissionregistration.k8s.io";
  const kv = await plantedStore({
    "mutatingadmissionpolicies/a": json(`${policies}/v1`),
    "resourceclaims/default/a": json("resource.k8s.io/v1"),
  });
  const writes = async (emulatedVersion: string[], minCompatibilityVersion: string[] = []): Promise<unknown> => {
    const { catalog } = resolveRelease({ release: "1.37", emulatedVersion, minCompatibilityVersion });
    const { release, binary, resources } = await storedVersions({ ...walking(kv), catalog });
    return { release, binary, writes: resources.map((one) => one.writes) };
  };
  const claims = "resource.k8s.io/v1";
  expect(await writes([])).toEqual({ release: "1.37", binary: undefined, writes: [`${policies}/v1`, claims] });
  expect(await writes(["1.36"])).toEqual({
    ...{ release: "1.36", binary: "1.37", writes: [`${policies}/v1beta1`, claims] },
  });
  expect(await writes(["1.36"], ["1.36"])).toMatchObject({ writes: [`${policies}/v1`, claims] });
  expect(await writes([], ["1.34"])).toMatchObject({ release: "1.37", writes: [`${policies}/v1beta1`, claims] });
});

test("a store full of invalid values leads to a report of limited length", async () => {
  const numbers = Array.from({ length: 400 }, (_, index) => index);
  const kv = await plantedStore({
    ...Object.fromEntries(numbers.map((index) => [`pods/default/${index}`, json(`v${index}`)])),
    ...Object.fromEntries(numbers.map((index) => [`nonsense-${index}/x`, json("v1")])),
  });
  const { resources, unknown } = await storedVersions({ ...walking(kv), catalog: openCatalog({ release: "1.36" }) });
  expect(resources[0]!.versions).toHaveLength(17);
  expect(resources[0]!.versions).toContainEqual({ apiVersion: "(others)", objects: 384 });
  expect(unknown).toHaveLength(101);
  expect(unknown).toContainEqual({ prefix: "(others)", keys: 300 });
});
