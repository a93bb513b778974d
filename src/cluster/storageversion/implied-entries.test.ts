import { describe, expect, test } from "vitest";
import { settle } from "./agreement.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { withImpliedEntries, type ImpliedFor, type ImpliedStorage } from "./implied-entries.ts";
import type { AgreementMember } from "./members.ts";
import type { ServerStorageVersion } from "./objects.ts";

const DEVICE_CLASSES: ImpliedFor = { name: "resource.k8s.io.deviceclasses", custom: undefined };
const IMPLIED_33: ServerStorageVersion = {
  apiServerID: "kube",
  encodingVersion: "resource.k8s.io/v1beta1",
  decodableVersions: ["resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1alpha3"],
};
const OWN: ServerStorageVersion = {
  apiServerID: "own",
  encodingVersion: "resource.k8s.io/v1",
  decodableVersions: ["resource.k8s.io/v1", "resource.k8s.io/v1beta2", "resource.k8s.io/v1beta1"],
  servedVersions: ["resource.k8s.io/v1"],
};

function members(...all: readonly AgreementMember[]): ReadonlyMap<string, AgreementMember> {
  return new Map(all.map((member) => [member.id, member]));
}

function kube(release: ReleaseName, more: Partial<ImpliedStorage> = {}): AgreementMember {
  return { id: "kube", isPublished: true, implied: { release, serves: () => true, ...more } };
}

const LIVE = members({ id: "own", isPublished: true }, kube("1.33"));

describe("the entry of a kube-apiserver that publishes none", () => {
  test("has the versions that its release writes and reads", () => {
    expect(withImpliedEntries([OWN], DEVICE_CLASSES, LIVE)).toEqual([OWN, IMPLIED_33]);
  });

  test("is replaced when the server has restarted as another release", () => {
    const live = members(kube("1.36"));
    expect(withImpliedEntries([IMPLIED_33], DEVICE_CLASSES, live)).toMatchObject([
      { apiServerID: "kube", encodingVersion: "resource.k8s.io/v1" },
    ]);
  });

  test("does not exist for a resource that its release does not have, and is removed if an earlier release had it", () => {
    const about = { name: "resource.k8s.io.deviceclasses", custom: undefined };
    const live = members(kube("1.28"));
    expect(withImpliedEntries([OWN, IMPLIED_33], about, live)).toEqual([OWN]);
  });

  test("does not exist for a resource that the server does not serve, because it reads no objects of it", () => {
    const live = members(kube("1.33", { serves: ({ resource }) => resource === "pods" }));
    expect(withImpliedEntries([OWN, IMPLIED_33], DEVICE_CLASSES, live)).toEqual([OWN]);
    expect(withImpliedEntries([], { name: "core.pods", custom: undefined }, live)).toHaveLength(1);
  });

  test("of an emulating server reads what its binary can read, and writes what its minimum compatible release can read", () => {
    const emulation = {
      ...({ binary: "1.36", minCompatibility: "1.33" } as const),
      ...{ isForwardCompatible: false, isRuntimeConfigForwardCompatible: false },
    };
    const live = members(kube("1.33", { emulation }));
    const [entry] = withImpliedEntries([], DEVICE_CLASSES, live);
    expect(entry!.encodingVersion).toBe("resource.k8s.io/v1beta2");
    expect(entry!.decodableVersions).toContain("resource.k8s.io/v1");
  });

  test("for a custom resource has the versions of the CRD, and stays on a server that does not know the CRD", () => {
    const name = "example.com.widgets";
    const custom = { preferred: "example.com/v2", decodable: ["example.com/v2", "example.com/v1"] };
    const implied = withImpliedEntries([], { name, custom }, LIVE);
    expect(implied).toEqual([
      { apiServerID: "kube", encodingVersion: custom.preferred, decodableVersions: custom.decodable },
    ]);
    expect(withImpliedEntries(implied, { name, custom: undefined }, LIVE)).toBe(implied);
  });
});

describe("the entry that a kube-apiserver has published itself", () => {
  test("is kept, whatever its release", () => {
    const published = [{ ...OWN, apiServerID: "kube" }];
    expect(withImpliedEntries(published, DEVICE_CLASSES, LIVE)).toBe(published);
  });
});

test("servers agree with a kube-apiserver that publishes no entries, if its release writes the same version", () => {
  const own = { ...OWN, encodingVersion: "resource.k8s.io/v1beta1" };
  const options = { live: LIVE, now: "2030-01-01T00:00:00Z", resource: DEVICE_CLASSES };
  expect(settle({}, { ...options, own })).toMatchObject({
    commonEncodingVersion: "resource.k8s.io/v1beta1",
    conditions: [{ status: "True" }],
  });
  expect(settle({}, { ...options, own: OWN }).conditions).toMatchObject([{ status: "False" }]);
});
