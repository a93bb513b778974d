import { describe, expect, test } from "vitest";
import type { DiscoveryGroup } from "../../serving/discovery/groups.ts";
import { Query } from "../../serving/http/query.ts";
import { parseRequestInfo } from "../../serving/http/request-info.ts";
import type { ServedSet } from "../../cluster/peers/served-set.ts";
import { judgeResponse, missingFromDiscovery, readNotFound, type ObservedResponse, type Truth } from "./judge.ts";
import { Ledger } from "./ledger.ts";
import type { ServerRun } from "./stage.ts";

const PAGE = "404 page not found\n";
const ABSENT = JSON.stringify({
  kind: "Status",
  reason: "NotFound",
  message: 'configmaps "a" not found',
  details: { name: "a", kind: "configmaps" },
});

function answered(
  target: string,
  status: number,
  text: string,
  changed: Partial<ObservedResponse> = {},
): ObservedResponse {
  const [path = "", rawQuery = ""] = target.split("?");
  const query = new Query(rawQuery);
  const method = changed.method ?? "GET";
  return {
    ...{ client: "kubectl-1", serverId: "apiserver-2", auditId: "1", method, target, query, status, text },
    ...{ info: parseRequestInfo(method, path, query)!, startedAtMs: 10_000, atMs: 10_010, servedBy: undefined },
    ...changed,
  };
}

function truth(changed: Partial<Truth> = {}): Truth {
  return { ledger: new Ledger(), serverRuns: [], noFalse404: { onResponse: () => [] }, ...changed };
}

function ledgerWith(atMs = 500): Ledger {
  const ledger = new Ledger();
  const entry = ledger.begin(
    { group: "", resource: "configmaps", namespace: "default", name: "a" },
    { storagePrefix: "configmaps" },
  );
  ledger.acknowledge(entry, { uid: "u", revision: 40, atMs });
  return ledger;
}

const kinds = (response: ObservedResponse, from: Truth): string[] =>
  judgeResponse(response, from).map(({ kind }) => kind);

describe("a 500", () => {
  const message =
    'the object stored at "/registry/deviceclasses/gpu" cannot be read: no kind "DeviceClass" is registered';

  test("for an object in a version that the release of the server cannot decode is wrong", () => {
    const text = JSON.stringify({ message: `${message} for version "resource.k8s.io/v1"` });
    expect(kinds(answered("/apis/resource.k8s.io/v1beta1/deviceclasses", 500, text), truth())).toEqual([
      "unreadable-encoding",
    ]);
  });

  test("for another reason is not wrong", () => {
    expect(kinds(answered("/api/v1/pods", 500, JSON.stringify({ message: "store" })), truth())).toEqual([]);
  });
});

describe("a 404", () => {
  const OBJECT = "/api/v1/namespaces/default/configmaps/a";

  test("for an object whose creation was acknowledged before the request is wrong", () => {
    expect(kinds(answered(OBJECT, 404, ABSENT), truth({ ledger: ledgerWith() }))).toEqual(["object-called-absent"]);
  });

  test("for an object whose creation was acknowledged only during the request is not wrong", () => {
    expect(kinds(answered(OBJECT, 404, ABSENT), truth({ ledger: ledgerWith(10_005) }))).toEqual([]);
  });

  test("for an object whose deletion a client has requested is not wrong", () => {
    const ledger = ledgerWith();
    ledger.markDeleting(ledger.all()[0]!);
    expect(kinds(answered(OBJECT, 404, ABSENT), truth({ ledger }))).toEqual([]);
  });

  test("for a resource that a server serves is wrong, and the finding names the server", () => {
    const served = { ...SERVES_NOTHING, has: () => true };
    const serverRuns = [serverRun({ serverId: "apiserver-1", served })];
    const from = truth({
      serverRuns,
      noFalse404: { onResponse: ({ unknown }) => (unknown === "resource" ? ["it is"] : []) },
    });
    expect(judgeResponse(answered("/apis/resource.k8s.io/v1/resourceclaims", 404, PAGE), from)).toEqual([
      {
        kind: "resource-called-unknown",
        said: "404: 404 page not found",
        right: "apiserver-1 (1.34) serves it",
      },
    ]);
  });

  test("is about an object if its details name one, otherwise about the resource, and about neither if it is truncated", () => {
    expect(readNotFound(ABSENT).unknown).toBe("object");
    expect(readNotFound(JSON.stringify({ kind: "Status", message: "no" })).unknown).toBe("resource");
    expect(readNotFound(PAGE).unknown).toBe("resource");
    expect(readNotFound(ABSENT.slice(0, 20)).unknown).toBeUndefined();
  });
});

describe("a list", () => {
  const list = (revision: string, names: readonly string[], more = ""): string =>
    JSON.stringify({
      kind: "ConfigMapList",
      metadata: { resourceVersion: revision, ...(more && { continue: more }) },
      items: names.map((name) => ({ metadata: { namespace: "default", name } })),
    });
  const from = truth({ ledger: ledgerWith() });

  test("without an acknowledged object is wrong", () => {
    expect(kinds(answered("/api/v1/configmaps", 200, list("50", ["b"])), from)).toEqual(["missing-from-list"]);
    expect(kinds(answered("/api/v1/configmaps", 200, list("50", ["a", "b"])), from)).toEqual([]);
  });

  test("without an acknowledged object is correct for another namespace, with a selector, or as one page", () => {
    expect(kinds(answered("/api/v1/namespaces/other/configmaps", 200, list("50", [])), from)).toEqual([]);
    expect(kinds(answered("/api/v1/configmaps?labelSelector=x", 200, list("50", [])), from)).toEqual([]);
    expect(kinds(answered("/api/v1/configmaps?limit=1", 200, list("50", [], "token")), from)).toEqual([]);
  });

  test("at resourceVersion=0 may be old, so it is checked only up to its own revision", () => {
    expect(kinds(answered("/api/v1/configmaps?resourceVersion=0", 200, list("39", [])), from)).toEqual([]);
    expect(kinds(answered("/api/v1/configmaps?resourceVersion=0", 200, list("40", [])), from)).toEqual([
      "missing-from-list",
    ]);
  });
});

const GROUPS: readonly DiscoveryGroup[] = [
  { name: "apps", versions: [{ version: "v1", freshness: "Current", resources: [{ resource: "deployments" }] }] },
] as unknown as readonly DiscoveryGroup[];

const SERVES_NOTHING: ServedSet = {
  has: () => false,
  hasVerb: () => false,
  hasGroup: () => false,
  hasGroupVersion: () => false,
};

function serverRun(changed: Partial<ServerRun>): ServerRun {
  return {
    ...{ serverId: "apiserver-2", release: "1.34", groups: [], readyAtMs: 10, endedAtMs: undefined },
    ...{ served: SERVES_NOTHING, troubledUntilMs: 0, troubledSinceMs: undefined },
    ...changed,
  };
}

describe("discovery", () => {
  const empty = JSON.stringify({ kind: "APIGroupDiscoveryList", items: [] });
  const serverRuns = [serverRun({}), serverRun({ serverId: "apiserver-1", groups: GROUPS })];

  test("without a resource that a healthy server serves is wrong", () => {
    const [found] = judgeResponse(answered("/apis", 200, empty), truth({ serverRuns }));
    expect(found).toMatchObject({
      kind: "missing-from-discovery",
      right: "apiserver-1 (1.34) serves apps/v1/deployments",
    });
  });

  test("is not checked while the serving or the responding server is unhealthy", () => {
    const gone = [serverRun({}), serverRun({ serverId: "apiserver-1", groups: GROUPS, endedAtMs: 9_000 })];
    const troubled = [serverRun({ troubledUntilMs: Infinity }), serverRuns[1]!];
    for (const doubtful of [gone, troubled])
      expect(kinds(answered("/apis", 200, empty), truth({ serverRuns: doubtful }))).toEqual([]);
  });

  test("may lack the resources of a server that became ready a few seconds ago", () => {
    const young = [serverRun({}), serverRun({ serverId: "apiserver-1", groups: GROUPS, readyAtMs: 6_000 })];
    expect(kinds(answered("/apis", 200, empty), truth({ serverRuns: young }))).toEqual([]);
  });

  test("at /api is not checked for resources of other groups, and legacy documents are not checked", () => {
    expect(kinds(answered("/api", 200, empty), truth({ serverRuns }))).toEqual([]);
    expect(kinds(answered("/apis", 200, '{"kind":"APIGroupList","groups":[]}'), truth({ serverRuns }))).toEqual([]);
  });

  test("is compared by group, version and resource", () => {
    const document = {
      items: [{ metadata: { name: "apps" }, versions: [{ version: "v1", resources: [{ resource: "deployments" }] }] }],
    };
    expect(missingFromDiscovery(document, GROUPS)).toEqual([]);
    expect(missingFromDiscovery({ items: [] }, GROUPS)).toEqual(["apps/v1/deployments"]);
  });
});
