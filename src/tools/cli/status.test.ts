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

test("the table has a line for each server, each column as wide as its widest cell", () => {
  expect(statusTable({ ...HEALTHY, servers: [A, B] })).toBe(
    [
      "SERVER       RELEASE   VERSION   ADDRESS         STATE                       AGE  ONLY IT SERVES",
      "a (asked)    1.34      1.34.11   127.0.0.1:6443  reachable                   -    nothing",
      "apiserver-b  not told  not told  not known       unreachable, not described  61s  batch/v1 (2)",
      "",
    ].join("\n"),
  );
});

test("of a server that emulates another release both versions are shown", () => {
  const emulating = { ...A, binaryVersion: "1.36.4" };
  expect(statusTable({ ...HEALTHY, servers: [emulating] })).toContain(" 1.34     1.36.4 as 1.34  ");
});

test("below it stands what else an operator must know", () => {
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
  expect(text).toContain("does not know the others yet");
  expect(text).toContain("takes no writes: the lease is late.");
  expect(text).toContain(
    "Departed: c (1.36) left at 2030-01-01T00:00:00Z; 2 resources that nobody serves now: batch/v1 (2).",
  );
});

test("a cluster is complete when every server is reachable and has said what it serves", () => {
  expect(isComplete({ servers: [A] })).toBe(true);
  expect(isComplete({ servers: [A, B] })).toBe(false);
  expect(isComplete({ servers: [A, { ...A, isDescribed: false }] })).toBe(false);
});

test("what is no status at all still makes a table, and nothing in it steers the terminal", () => {
  expect(statusTable({ servers: "none" })).toMatch(/^SERVER/);
  expect(statusTable({ ...HEALTHY, servers: [{ ...A, id: "\u001b[31mred" }, null] })).not.toContain("\u001b");
});

test("an explanation names tiers in order", () => {
  const route = { kind: "peer", rule: "served-by-peer", sentence: "s", reason: "r", candidates: [["b", "c"], ["d"]] };
  expect(explanationText({ server: {}, request: {}, route })).toContain("answer:         by b or c, else d\n");
});
