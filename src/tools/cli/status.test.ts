import { expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { explanationText } from "./explain-route.ts";
import { isComplete, statusTable } from "./status.ts";

const A = {
  id: "a",
  isSelf: true,
  release: "1.34",
  binaryVersion: "1.34.11",
  compatibilityVersion: "1.34",
  address: "127.0.0.1:6443",
  isReachable: true,
  isDescribed: true,
  onlyServes: [],
};
const B = {
  id: "apiserver-b",
  isReachable: false,
  isDescribed: false,
  documentAgeSeconds: 61.4,
  onlyServes: [{ groupVersion: "batch/v1", resources: ["jobs", "jobs/status"] }],
};
const GONE = { server: "c", release: "1.36", secondsAgo: 25, isGone: true, resourceCount: 0, resources: [] };
const HEALTHY = { isSynced: true, proxy: { isEnabled: true } };

test("the table has a line for each server and columns as wide as their widest cell", () => {
  expect(statusTable({ ...HEALTHY, servers: [A, B] })).toBe(
    [
      "SERVER       RELEASE  VERSION  ADDRESS         STATE                               DISCOVERY AGE  SERVES EXCLUSIVELY",
      "a (local)    1.34     1.34.11  127.0.0.1:6443  reachable                           -              nothing",
      "apiserver-b  unknown  unknown  unknown         unreachable, no discovery document  61s            batch/v1 (2)",
      "",
    ].join("\n"),
  );
});

test("the state of a server names the reason why it is unreachable or has no discovery document", () => {
  const stateOf = (server: JsonObject): string | undefined =>
    statusTable({ ...HEALTHY, servers: [A, { ...B, ...server }] })
      .split("\n")[2]
      ?.split(/ {2,}/)[4];
  expect(stateOf({ unreachableBecause: "connection refused", isDescribed: true })).toBe(
    "unreachable (connection refused)",
  );
  const refused = { unreachableBecause: "connection refused", undescribedBecause: "connection refused" };
  expect(stateOf(refused)).toBe("unreachable (connection refused), no discovery document");
  expect(stateOf({ isReachable: true, undescribedBecause: "HTTP 401: not accepted as a peer" })).toBe(
    "reachable, no discovery document (HTTP 401: not accepted as a peer)",
  );
});

test("the row of a server that emulates another release shows both versions", () => {
  const emulating = { ...A, binaryVersion: "1.36.4" };
  expect(statusTable({ ...HEALTHY, servers: [emulating] })).toContain(" 1.34     1.36.4 as 1.34  ");
});

test("what a kube-apiserver lacks follows the table, and an assumed release is marked", () => {
  const lacks = ["writes no endpoint record", "does not proxy requests to other servers"];
  const table = statusTable({ ...HEALTHY, servers: [A, { ...B, assumedRelease: "1.33", lacks }] });
  expect(table).toContain("apiserver-b  1.33 (assumed)  ");
  expect(table).toContain("\napiserver-b: writes no endpoint record; does not proxy requests to other servers.\n");
});

test("notes and departed servers follow the table", () => {
  const departed = [
    { ...GONE, isGraceful: true, resourceCount: 2, resources: B.onlyServes },
    { ...GONE, server: "d", secondsAgo: 180 },
    { ...GONE, server: "e", isGone: false, resourceCount: 2, resources: B.onlyServes },
  ];
  const text = statusTable({
    isSynced: false,
    proxy: { isEnabled: true, missingFlag: "--peer-ca-file" },
    fence: "the lease is late",
    servers: [A],
    departed,
  });
  expect(text).toContain("reachable, fenced");
  expect(text).toContain("--peer-ca-file is not set");
  expect(text).toContain("has not synced its peers yet");
  expect(text).toContain("rejects writes: the lease is late.");
  expect(text.split("\n").filter((line) => line.startsWith("Departed"))).toEqual([
    "Departed: c (1.36), gone 25 s ago after a shutdown; no server serves 2 of its resources: batch/v1 (2).",
    "Departed: d (1.36), gone 3 min ago without a shutdown; other servers serve all of its resources.",
    "Departed: an earlier run of e (1.36), gone 25 s ago; no server serves 2 of its resources: batch/v1 (2).",
  ]);
});

test.each([
  ["that crashed", { isGraceful: false }, false],
  ["that was shut down", { isGraceful: true }, true],
  ["that was shut down and alone served resources", { isGraceful: true, resourceCount: 2 }, false],
  ["that has restarted with other resources", { isGone: false, resourceCount: 2 }, true],
])("a cluster with a recently departed server %s: %j, complete: %s", (_what, more, isWhole) => {
  expect(isComplete({ servers: [A], departed: [{ ...GONE, ...more }] })).toBe(isWhole);
});

test("notes name servers that are not ready in time, ignored leases, and why the server is no endpoint", () => {
  const text = statusTable({
    ...HEALTHY,
    servers: [A],
    overdue: [{ server: "slow", release: "1.36" }],
    ignoredLeases: { count: 5, servers: ["ghost-1", "ghost-2"] },
    kubernetesService: { addresses: ["192.0.2.1"], notPublished: "it listens only on a loopback address" },
  });
  expect(text).toContain("slow (1.36) is starting, and is not ready in time.");
  expect(text).toContain("5 identity leases in kube-system do not count as servers");
  expect(text).toContain(
    "The Service default/kubernetes has the endpoints 192.0.2.1. The local server publishes no endpoint: it listens only on a loopback address.",
  );
});

test("the leader, and the leaders and namespaces for which the cluster waits, follow the table", () => {
  const text = statusTable({
    ...HEALTHY,
    servers: [A],
    controllers: [{ lease: "evenkeel-controllers", leader: "a", since: "2030-01-01T00:00:00Z", renewedSecondsAgo: 1 }],
    waitingFor: [
      { kind: "leader", name: "evenkeel-controllers", until: "2030-01-01T00:00:09Z", because: "a is late" },
      { kind: "namespace", name: "team", because: "1 pod" },
    ],
  });
  expect(text).toContain("\nevenkeel-controllers: a leads since 2030-01-01T00:00:00Z.\n");
  expect(text).toContain("\nWaiting for leader evenkeel-controllers until 2030-01-01T00:00:09Z: a is late.\n");
  expect(text).toContain("\nWaiting for namespace team: 1 pod.\n");
});

test("a cluster is complete if every server is reachable and has published its discovery document", () => {
  expect(isComplete({ servers: [A] })).toBe(true);
  expect(isComplete({ servers: [A, B] })).toBe(false);
  expect(isComplete({ servers: [A, { ...A, isDescribed: false }] })).toBe(false);
});

test("a restore of the store is shown with its evidence, and the status is incomplete until the server has recovered", () => {
  const change = { changes: 1, evidence: "etcd is at revision 5", detectedAt: "2030-01-01T00:00:00Z" };
  const recovering = { servers: [A], storeHistory: { ...change, waitsFor: "watch cache is loading" } };
  expect(statusTable({ ...HEALTHY, ...recovering })).toContain(
    "The store was restored or replaced at 2030-01-01T00:00:00Z: etcd is at revision 5. The local server is recovering: watch cache is loading.",
  );
  expect(isComplete(recovering)).toBe(false);
  const recovered = { servers: [A], storeHistory: { ...change, recoveredAfterSeconds: 1.25 } };
  expect(statusTable({ ...HEALTHY, ...recovered })).toContain("The local server recovered within 1.3 s.");
  expect(isComplete(recovered)).toBe(true);
});

test("an invalid status is still shown as a table, without control characters", () => {
  expect(statusTable({ servers: "none" })).toMatch(/^SERVER/);
  expect(statusTable({ ...HEALTHY, servers: [{ ...A, id: "\u001b[31mred" }, null] })).not.toContain("\u001b");
});

test("an explanation of a route lists the preferred servers first", () => {
  const route = { kind: "peer", rule: "served-by-peer", sentence: "s", reason: "r", candidates: [["b", "c"], ["d"]] };
  expect(explanationText({ server: {}, request: {}, route })).toContain("result:       served by b or c, else d\n");
});

test("a resource that a controller cannot read is listed with the time since when it cannot", () => {
  const wait = {
    kind: "resource",
    name: "widgets.example.com",
    since: "2030-01-01T00:00:00Z",
    because: "HTTP 406: no",
  };
  expect(statusTable({ ...HEALTHY, servers: [A], waitingFor: [wait] })).toContain(
    "\nWaiting for resource widgets.example.com since 2030-01-01T00:00:00Z: HTTP 406: no.\n",
  );
});
