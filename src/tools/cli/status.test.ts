import { expect, test } from "vitest";
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

test("the row of a server that emulates another release shows both versions", () => {
  const emulating = { ...A, binaryVersion: "1.36.4" };
  expect(statusTable({ ...HEALTHY, servers: [emulating] })).toContain(" 1.34     1.36.4 as 1.34  ");
});

test("notes and departed servers follow the table", () => {
  const departed = [
    { server: "c", release: "1.36", departedAt: "2030-01-01T00:00:00Z", resourceCount: 2, resources: B.onlyServes },
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
  expect(text).toContain(
    "Departed: c (1.36) at 2030-01-01T00:00:00Z; no server serves 2 of its resources: batch/v1 (2).",
  );
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
