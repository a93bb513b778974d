import { describe, expect, test } from "vitest";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import type { DiscoverySource } from "../../serving/discovery/merge.ts";
import type { ServedRecord } from "../peers/served-record.ts";
import { clusterResources, resourcesOf } from "./merge-cluster-resources.ts";
import { group, resource, source, version } from "../../../test/testing/serving/discovery/documents.ts";
import { peerOf, viewOf } from "../../../test/testing/cluster/peers/cluster-view.ts";

const LOCAL = [group("", version("v1", "configmaps"))];

interface Given {
  readonly peers?: readonly DiscoverySource[];
  readonly departed?: readonly ServedRecord[];
  readonly view?: Parameters<typeof viewOf>[0];
  readonly isEnabled?: boolean;
}

function told({ peers = [], departed = [], view = {}, isEnabled = true }: Given): ReturnType<typeof clusterResources> {
  return clusterResources({
    config: { release: "1.36", peers: { serverId: "self", isEnabled } },
    peers: {
      view: () => viewOf(view),
      catchUp: () => Promise.resolve(false),
      documents: {
        sources: () => peers,
        generation: () => 1,
        undescribed: () => (view.peers ?? []).flatMap(({ id, isDescribed }) => (isDescribed ? [] : [id])),
        onChange: () => () => {},
      },
      records: { departed: () => departed },
    },
    local: { groups: LOCAL, etag: "local" },
    shared: { onChange: () => () => {} },
  });
}

function names(given: Given): string[] {
  return told(given)
    .served()
    .map(({ group: name, resource: plural, versions }) => `${name}/${plural} ${versions.join(",")}`);
}

function doubts(given: Given): string[] {
  return told(given)
    .doubts()
    .map(({ group: name = "*", resource: plural = "*", server, because }) => `${name}/${plural}: ${server} ${because}`);
}

function record(resources: Record<string, string[]>): ServedRecord {
  const { serverId, incarnation, release, servedAt } = {
    ...{ serverId: "gone", incarnation: "1", release: "1.33", servedAt: "2030-01-01T00:00:00Z" },
  };
  const departedAt = "2030-01-01T00:05:00Z";
  return { serverId, incarnation, release, servedAt, departedAt, resources: new Map(Object.entries(resources)) };
}

const APPS: readonly DiscoveryGroup[] = [group("apps", version("v1", "deployments"))];

test("a resource is listed once with every served version, and versions of reachable servers come first", () => {
  const things = [
    group(
      "g",
      { ...version("v2", "things"), freshness: "Stale" },
      version("v1", resource("things", { scope: "Cluster" })),
    ),
    group("", version("v1", "pods")),
  ];
  expect(resourcesOf(things)).toMatchObject([
    { group: "", resource: "pods", kind: "pods-kind", namespaced: true, versions: ["v1"] },
    { group: "g", resource: "things", namespaced: false, versions: ["v1", "v2"], verbs: new Set(["get", "list"]) },
  ]);
});

describe("the served resources", () => {
  test("are those of this server and its peers", () => {
    expect(names({ peers: [source("b", APPS)] })).toEqual(["/configmaps v1", "apps/deployments v1"]);
  });

  test("are only those of this server, without doubts, if the mixed version proxy is off", async () => {
    const given = { peers: [source("b", APPS, { isReachable: false })], view: { isSynced: false }, isEnabled: false };
    expect(names(given)).toEqual(["/configmaps v1"]);
    expect(doubts(given)).toEqual([]);
    expect(await told(given).catchUp()).toBe(true);
    expect(await told({}).catchUp()).toBe(false);
  });
});

describe("the doubts", () => {
  test("are empty if all servers are described and reachable", () => {
    expect(doubts({ peers: [source("b", APPS)], view: { peers: [peerOf("b")] } })).toEqual([]);
  });

  test("cover everything while the live servers are unknown, or a server has not published what it serves", () => {
    expect(doubts({ view: { isSynced: false } })).toEqual(["*/*: self does not know yet which other servers are live"]);
    expect(doubts({ view: { peers: [peerOf("b", { isDescribed: false })] } })).toEqual([
      "*/*: b has not yet published what it serves",
    ]);
  });

  test("cover resources that only unreachable servers serve", () => {
    const gone = source("b", [...LOCAL, ...APPS], { isReachable: false });
    expect(doubts({ peers: [gone] })).toEqual(["apps/deployments: b cannot be reached"]);
    expect(doubts({ peers: [gone, source("c", APPS)] })).toEqual([]);
  });

  test("name the reason why a server is unreachable, or why its discovery document is missing", () => {
    const gone = source("b", APPS, { isReachable: false });
    const refused = { unreachableBecause: "connection refused" };
    expect(doubts({ peers: [gone], view: { peers: [peerOf("b", { isReachable: false, ...refused })] } })).toEqual([
      "apps/deployments: b cannot be reached (connection refused)",
    ]);
    const undescribed = { isDescribed: false, undescribedBecause: "HTTP 401: not accepted as a peer" };
    expect(doubts({ view: { peers: [peerOf("b", undescribed)] } })).toEqual([
      "*/*: b has not yet published what it serves (HTTP 401: not accepted as a peer)",
    ]);
    expect(doubts({ view: { peers: [peerOf("b", { ...undescribed, ...refused })] } })).toEqual([
      "*/*: b has not yet published what it serves (connection refused)",
    ]);
  });

  test("cover resources of a departed server that no server serves in any version", () => {
    const departed = [record({ "/v1": ["configmaps", "pods", "pods/status"], "apps/v1beta1": ["deployments"] })];
    expect(doubts({ departed, peers: [source("b", APPS)] })).toEqual(["/pods: gone departed at 2030-01-01T00:05:00Z"]);
    expect(told({ departed }).doubts()[0]).toMatchObject({ group: "", resource: "pods", namespaced: true });
  });
});
