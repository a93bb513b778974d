import { expect, test } from "vitest";
import { clusterStatus, type ClusterStatus, type ClusterStatusInput } from "./cluster-status.ts";
import type { ServedRecord } from "./served-record.ts";
import { peerOf, viewOf } from "../../../test/testing/cluster/peers/cluster-view.ts";
import { documentOf, type ShortDocument } from "../../../test/testing/cluster/peers/documents.ts";
import type { ClusterView } from "./view.ts";

const LOCAL = { v1: { pods: "get", "pods/log": "get" }, "apps/v1": { deployments: "get" } };

function statusOf(view: ClusterView, input: Partial<ClusterStatusInput> = {}): ClusterStatus {
  return clusterStatus({
    view,
    isProxyEnabled: true,
    record: () => undefined,
    own: {},
    fence: undefined,
    storeHistory: undefined,
    builtInGroups: documentOf(LOCAL),
    sources: [],
    departed: [],
    kubernetesService: { addresses: [] },
    liveness: { servers: [], overdue: [], ignored: [] },
    publishesStorageVersions: () => undefined,
    gone: [],
    controllers: { controllers: [], heldByKubeControllerManager: null, waitingFor: [] },
    nowMs: 0,
    wallMs: Date.parse("2030-01-01T00:00:25.000Z"),
    ...input,
  });
}

function source(serverId: string, document: ShortDocument): ClusterStatusInput["sources"][number] {
  return { serverId, release: "1.36", isReachable: true, groups: documentOf(document) };
}

function departedRecord(resources: Record<string, string[]>): ServedRecord {
  const at = "2030-01-01T00:00:00.000Z";
  return {
    serverId: "gone",
    incarnation: "1",
    release: "1.36",
    servedAt: at,
    departedAt: at,
    resources: new Map(Object.entries(resources)),
  };
}

test("resources and subresources that only one server serves are listed at that server", () => {
  const peers = [peerOf("b"), peerOf("c")];
  const sources = [
    source("b", { v1: { pods: "get", "pods/log": "get", "pods/resize": "patch" } }),
    source("c", { v1: { pods: "get" }, "batch/v1": { jobs: "get" } }),
  ];
  const { servers } = statusOf(viewOf({ local: LOCAL, peers }), { sources });
  expect(servers.map(({ id, onlyServes }) => [id, onlyServes])).toEqual([
    ["self", [{ groupVersion: "apps/v1", resources: ["deployments"] }]],
    ["b", [{ groupVersion: "v1", resources: ["pods/resize"] }]],
    ["c", [{ groupVersion: "batch/v1", resources: ["jobs"] }]],
  ]);
});

test("properties of a server that are unknown are omitted", () => {
  const peer = peerOf("b", { release: undefined, address: undefined, serves: undefined, isReachable: false });
  const [, b] = statusOf(viewOf({ peers: [peer] })).servers;
  expect(b).toEqual({
    id: "b",
    isSelf: false,
    isKubeApiserver: false,
    lacks: [],
    isReachable: false,
    isDraining: false,
    isDescribed: false,
    onlyServes: [],
  });
});

test("the reasons why a peer is unreachable and has no document are reported", () => {
  const reasons = { unreachableBecause: "connection refused", undescribedBecause: "HTTP 503" };
  const peer = peerOf("b", { serves: undefined, isReachable: false, ...reasons });
  const [, b] = statusOf(viewOf({ peers: [peer] })).servers;
  expect(b).toMatchObject({ id: "b", isReachable: false, isDescribed: false, ...reasons });
});

test("the age of a discovery document counts from when the peer last confirmed it", () => {
  const [, b] = statusOf(viewOf({ peers: [peerOf("b")] }), { nowMs: 1_500 }).servers;
  expect(b?.documentAgeSeconds).toBe(1.5);
});

test("`departed` lists the resources that no live server serves, under the server that a 503 for them would name", () => {
  const departedAt = "2030-01-01T00:00:00.000Z";
  const view = viewOf({
    local: LOCAL,
    peers: [peerOf("b", { serves: { "batch/v1": { jobs: "get" } } })],
    departed: () => ({ serverId: "gone", release: "1.36", departedAt }),
  });
  const first = departedRecord({ "/v1": ["pods", "pods/resize"], "batch/v1": ["jobs", "cronjobs"] });
  const again = departedRecord({ "batch/v1": ["cronjobs"] });
  expect(statusOf(view, { departed: [first, again] }).departed).toEqual([
    {
      server: "gone",
      release: "1.36",
      departedAt,
      secondsAgo: 25,
      isGone: false,
      resourceCount: 2,
      resources: [
        { groupVersion: "v1", resources: ["pods/resize"] },
        { groupVersion: "batch/v1", resources: ["cronjobs"] },
      ],
    },
  ]);
});

test("`departed` lists every gone server once, also if other servers serve all of its resources", () => {
  const departedAt = "2030-01-01T00:00:00.000Z";
  const departed = { serverId: "gone", release: "1.36", departedAt };
  const view = viewOf({ local: LOCAL, departed: () => departed });
  const gone = [
    { ...departed, isGraceful: true },
    { serverId: "old", release: undefined, departedAt, isGraceful: false },
  ];
  const records = [departedRecord({ "batch/v1": ["jobs"] })];
  expect(statusOf(view, { departed: records, gone }).departed).toMatchObject([
    { server: "gone", secondsAgo: 25, isGone: true, isGraceful: true, resourceCount: 1 },
    { server: "old", secondsAgo: 25, isGone: true, isGraceful: false, resourceCount: 0, resources: [] },
  ]);
});

test("the reason of the fence and the missing flag are reported unchanged", () => {
  const view = viewOf({ missingFlag: "--peer-ca-file" });
  expect(statusOf(view, { fence: "the lease is late" })).toMatchObject({
    fence: "the lease is late",
    proxy: { isEnabled: true, missingFlag: "--peer-ca-file" },
  });
});

test("a kube-apiserver has the release that it reports, and the list of what it lacks", () => {
  const version = { release: "1.33", binary: "1.33", minCompatibility: undefined, binaryVersion: "1.33.13" };
  const kube = { version, assumedRelease: undefined, proxiesToPeers: false };
  const server = { id: "b", incarnation: "1", record: undefined, address: undefined, release: undefined } as const;
  const [, b] = statusOf(viewOf({ peers: [peerOf("b", { release: "1.33", kube })] }), {
    liveness: { servers: [{ ...server, evidence: "flag" }], overdue: [], ignored: [] },
    publishesStorageVersions: () => false,
  }).servers;
  expect(b).toMatchObject({ isKubeApiserver: true, release: "1.33", binaryVersion: "1.33.13" });
  expect(b?.lacks.map((lack) => lack.split(" (")[0])).toEqual([
    "writes no endpoint record",
    "does not proxy requests to other servers",
    "publishes no storage versions",
  ]);
});
