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

test("a resource is told once, with every version somebody serves, reachable ones first", () => {
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

describe("what is served", () => {
  test("is what this server and its peers serve together", () => {
    expect(names({ peers: [source("b", APPS)] })).toEqual(["/configmaps v1", "apps/deployments v1"]);
  });

  test("without the mixed version proxy is what this server serves, and nothing is in doubt", async () => {
    const given = { peers: [source("b", APPS, { isReachable: false })], view: { isSynced: false }, isEnabled: false };
    expect(names(given)).toEqual(["/configmaps v1"]);
    expect(doubts(given)).toEqual([]);
    expect(await told(given).catchUp()).toBe(true);
    expect(await told({}).catchUp()).toBe(false);
  });
});

describe("in doubt is", () => {
  test("nothing, when everybody has spoken and can be reached", () => {
    expect(doubts({ peers: [source("b", APPS)], view: { peers: [peerOf("b")] } })).toEqual([]);
  });

  test("everything, while it is not known who is there, or a server has not said what it serves", () => {
    expect(doubts({ view: { isSynced: false } })).toEqual([
      "*/*: self does not know yet which other servers there are",
    ]);
    expect(doubts({ view: { peers: [peerOf("b", { isDescribed: false })] } })).toEqual([
      "*/*: b has not said yet what it serves",
    ]);
  });

  test("what only servers serve that cannot be reached", () => {
    const gone = source("b", [...LOCAL, ...APPS], { isReachable: false });
    expect(doubts({ peers: [gone] })).toEqual(["apps/deployments: b cannot be reached"]);
    expect(doubts({ peers: [gone, source("c", APPS)] })).toEqual([]);
  });

  test("what a server served that has left, unless somebody serves it in some version", () => {
    const departed = [record({ "/v1": ["configmaps", "pods", "pods/status"], "apps/v1beta1": ["deployments"] })];
    expect(doubts({ departed, peers: [source("b", APPS)] })).toEqual(["/pods: gone left at 2030-01-01T00:05:00Z"]);
    expect(told({ departed }).doubts()[0]).toMatchObject({ group: "", resource: "pods", namespaced: true });
  });
});
