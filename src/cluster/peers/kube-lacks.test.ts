import { describe, expect, test } from "vitest";
import { peerOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import { kubeLacks, type KubeEvidence } from "./kube-lacks.ts";
import type { KubeView, PeerView } from "./view.ts";

const VERSION = { release: "1.33", binary: "1.33", minCompatibility: undefined, binaryVersion: "1.33.13" };
const COMPLETE: KubeView = { version: VERSION, assumedRelease: undefined, proxiesToPeers: true };
const KNOWN: KubeEvidence = { evidence: "record", publishesStorageVersions: true };

function kube(facts: Partial<KubeView> = {}, more: Partial<PeerView> = {}): PeerView {
  return { ...peerOf("kube", { release: "1.33" }), kube: { ...COMPLETE, ...facts }, ...more };
}

test("an Evenkeel server, and a kube-apiserver that publishes everything, lack nothing", () => {
  expect(kubeLacks(peerOf("b"), { evidence: "record", publishesStorageVersions: false })).toEqual([]);
  expect(kubeLacks(kube(), KNOWN)).toEqual([]);
});

describe("a kube-apiserver", () => {
  test.each([
    ["flag", "writes no endpoint record (its address is that of --peer-server)"],
    [
      "masterlease",
      "writes no endpoint record (its address is that of a masterlease, which does not name it; to pair them, set --peer-server)",
    ],
    ["doubt", "has only an identity lease, which counts for 30 s (if it is a server, set --peer-server)"],
  ] as const)("with the evidence %s lacks an endpoint record", (evidence, lack) => {
    expect(kubeLacks(kube(), { ...KNOWN, evidence })).toEqual([lack]);
  });

  test("with a record that does not proxy lacks --peer-ca-file; without a record, its proxy may be off", () => {
    const proxiesToPeers = false;
    expect(kubeLacks(kube({ proxiesToPeers }), KNOWN)).toEqual([
      "does not proxy requests to other servers (--peer-ca-file is not set on it)",
    ]);
    expect(kubeLacks(kube({ proxiesToPeers }), { ...KNOWN, evidence: "flag" })).toContain(
      "does not proxy requests to other servers",
    );
  });

  test("that publishes no storage versions counts with those of its release, if that is known", () => {
    const quiet = { ...KNOWN, publishesStorageVersions: false };
    expect(kubeLacks(kube(), quiet)).toEqual(["publishes no storage versions (those of release 1.33 count)"]);
    expect(kubeLacks(kube({}, { isDescribed: false }), quiet)).toEqual([]);
    expect(kubeLacks(kube(), { ...KNOWN, publishesStorageVersions: undefined })).toEqual([]);
  });

  test("that does not report its release has an assumed one", () => {
    const peer = kube({ version: undefined, assumedRelease: "1.34" }, { release: undefined });
    expect(kubeLacks(peer, { ...KNOWN, publishesStorageVersions: false })).toEqual([
      "publishes no storage versions (those of release 1.34 count)",
      "does not report its release (1.34 is assumed from its discovery document)",
    ]);
  });
});
