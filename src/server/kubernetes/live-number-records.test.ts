import { expect, test } from "vitest";
import { peerOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import type { LiveServer } from "../../cluster/peers/live-servers.ts";
import type { KubeView, PeerView } from "../../cluster/peers/view.ts";
import { liveNumberRecords } from "./live-number-records.ts";

const NOTHING_READ: KubeView = { version: undefined, assumedRelease: undefined, proxiesToPeers: undefined };

/** The records of a server of 1.36 beside this peer. */
function beside(peer: PeerView, published?: string) {
  const { id } = peer;
  const server: LiveServer = {
    ...{ id, incarnation: "1", record: undefined, address: undefined },
    ...{ evidence: "record", release: published },
  };
  return liveNumberRecords("1.36", {
    records: { liveness: () => ({ servers: [server], overdue: [] }) },
    view: () => ({ peers: [peer] }),
  });
}

test("a kube-apiserver uses the records of the release that it reports", () => {
  expect(beside(peerOf("kube", { release: "1.36", kube: NOTHING_READ }))).toMatchObject({ usesBitmap: false });
  expect(beside(peerOf("kube", { release: "1.33", kube: NOTHING_READ }))).toMatchObject({
    ...{ usesBitmap: true, bitmapDecides: false },
  });
});

test("a kube-apiserver that does not report its release uses the records that its discovery document suggests", () => {
  const kube = { ...NOTHING_READ, assumedRelease: "1.34" };
  expect(beside(peerOf("kube", { release: undefined, kube }))).toMatchObject({ usesBitmap: false });
});

test("a kube-apiserver of which nothing is known may use any record", () => {
  expect(beside(peerOf("kube", { release: undefined, kube: NOTHING_READ }))).toEqual({
    ...{ usesBitmap: true, usesAddresses: true, bitmapDecides: true },
  });
});

test("a kube-apiserver of 1.32 that serves IPAddress objects may use any record", () => {
  const serves = { "networking.k8s.io/v1beta1": { ipaddresses: "get" } };
  expect(beside(peerOf("kube", { release: "1.32", kube: NOTHING_READ, serves }))).toMatchObject({
    usesAddresses: true,
  });
  expect(beside(peerOf("kube", { release: "1.33", kube: NOTHING_READ, serves }))).toMatchObject({
    bitmapDecides: false,
  });
});

test("a server that publishes its release needs no view", () => {
  expect(beside(peerOf("b", { release: undefined }), "1.36")).toMatchObject({ usesBitmap: false });
});
