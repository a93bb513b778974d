import { describe, expect, test } from "vitest";
import type { KeyValue, KvEvent } from "../kv.ts";
import type { EtcdHeader } from "./messages.ts";
import { changeIsMissing, headerContradicts, SeenHistory } from "./seen-history.ts";

const SEEN: EtcdHeader = { clusterId: 7n, revision: 100, raftTerm: 3n };

function item(modRevision: number, value: string): KeyValue {
  return { key: "/k", value: Buffer.from(value), createRevision: 1, modRevision };
}

const PUT: KvEvent = { kind: "put", ...item(50, "x") };
const DELETION: KvEvent = { kind: "delete", key: "/k", modRevision: 50 };

describe("a header of etcd", () => {
  test.each<[what: string, header: EtcdHeader]>([
    ["is the same", SEEN],
    ["has a later revision and a later term", { clusterId: 7n, revision: 101, raftTerm: 4n }],
    ["has no cluster ID and no term", { clusterId: 0n, revision: 100, raftTerm: 0n }],
  ])("that %s belongs to the history seen", (_, header) => {
    expect(headerContradicts(SEEN, header)).toBeUndefined();
  });

  test.each<[what: string, header: EtcdHeader, evidence: RegExp]>([
    ["a lower revision", { ...SEEN, revision: 99 }, /at revision 99, and was at 100/],
    ["a lower raft term", { ...SEEN, revision: 500, raftTerm: 2n }, /in raft term 2, and was in 3/],
    ["another cluster ID", { ...SEEN, revision: 500, clusterId: 8n }, /cluster ID 8, and had 7/],
  ])("with %s belongs to another history", (_, header, evidence) => {
    expect(headerContradicts(SEEN, header)).toMatch(evidence);
  });
});

describe("a change that was seen", () => {
  test.each<[what: string, change: KvEvent, found: { before: KeyValue | undefined; at: KeyValue | undefined }]>([
    ["a write with the same revision and value", PUT, { before: undefined, at: item(50, "x") }],
    ["a deletion of a key that existed before", DELETION, { before: item(20, "x"), at: undefined }],
  ])("is found in etcd: %s", (_, change, found) => {
    expect(changeIsMissing(change, found)).toBeUndefined();
  });

  test.each<[what: string, change: KvEvent, found: { before: KeyValue | undefined; at: KeyValue | undefined }]>([
    ["the key does not exist", PUT, { before: undefined, at: undefined }],
    ["the key was last written at another revision", PUT, { before: undefined, at: item(49, "x") }],
    ["the key has another value at that revision", PUT, { before: undefined, at: item(50, "y") }],
    ["the deleted key exists", DELETION, { before: item(20, "x"), at: item(20, "x") }],
    ["the deleted key did not exist before", DELETION, { before: undefined, at: undefined }],
  ])("is missing from etcd if %s", (_, change, found) => {
    expect(changeIsMissing(change, found)).toMatch(/no longer contains the (write|deletion) of \/k at revision 50/);
  });
});

test("what was seen grows with headers and changes, and is forgotten when another history begins", () => {
  const seen = new SeenHistory();
  expect(seen.isEmpty).toBe(true);
  seen.sawHeader(SEEN);
  seen.sawHeader({ clusterId: 7n, revision: 90, raftTerm: 2n });
  expect(seen.mark).toEqual({ generation: 0, header: SEEN });
  seen.sawChange({ ...PUT, modRevision: 120 });
  seen.sawChange({ ...PUT, modRevision: 110 });
  expect(seen.newest?.modRevision).toBe(120);
  expect(seen.mark.header.revision).toBe(120);
  const header = { clusterId: 7n, revision: 30, raftTerm: 1n };
  seen.restart(header);
  expect(seen.mark).toEqual({ generation: 1, header });
  expect(seen.newest).toBeUndefined();
});
