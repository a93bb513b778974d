import { expect, test } from "vitest";
import { storageOfRelease, storagePlaceOf } from "../../objects/catalog/storage-places.ts";
import type { KubeVersion } from "./kube-facts.ts";
import { clusterMembers } from "./members.ts";
import type { Peers } from "./peers.ts";

/** The version in which the peer is assumed to write mutating admission policies. */
function writtenBy(version: Partial<KubeVersion>): string | undefined {
  const kube = { version: { binaryVersion: "", minCompatibility: undefined, ...version } };
  const peers = {
    identity: { leases: { otherComponents: () => [] } },
    records: { liveness: () => ({ servers: [{ id: "kube" }], overdue: [] }) },
    view: () => ({ peers: [{ id: "kube", kube, document: { served: new Set() } }] }),
  } as unknown as Peers;
  const { implied } = clusterMembers(peers, "self", () => true)
    .live()
    .get("kube")!;
  const place = storagePlaceOf("admissionregistration.k8s.io", "mutatingadmissionpolicies")!;
  return implied && storageOfRelease(place, implied.release, implied.emulation)?.storageVersion.split("/")[1];
}

test.each<[Partial<KubeVersion>, string | undefined]>([
  [{ release: "1.37", binary: "1.37" }, "v1"],
  [{ release: "1.37", binary: "1.37", minCompatibility: "1.36" }, "v1"],
  [{ release: "1.37", binary: "1.37", minCompatibility: "1.35" }, "v1beta1"],
  [{ release: "1.36", binary: "1.37", minCompatibility: "1.35" }, "v1beta1"],
  [{ release: "1.36", binary: "1.37", minCompatibility: "1.36" }, "v1"],
  [{ release: "1.36", binary: "1.36", minCompatibility: "1.36" }, "v1beta1"],
  [{ release: "1.32", binary: "1.32" }, "v1alpha1"],
  [{ release: "1.31", binary: "1.32" }, "v1alpha1"],
  [{ release: "1.99", binary: "1.99", minCompatibility: "1.98" }, undefined],
])("a kube-apiserver of %j is assumed to write the version of its binary, %s", (version, written) => {
  expect(writtenBy(version)).toBe(written);
});
