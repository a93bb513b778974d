import { describe, expect, test } from "vitest";
import type { EndpointRecord } from "./endpoint-record.ts";
import { decideLiveness, type Liveness, type LivenessInput } from "./live-servers.ts";

const NOTHING: LivenessInput = {
  selfId: "self",
  ownAddress: "192.0.2.1",
  endpoints: [],
  starting: [],
  vanished: [],
  leases: [],
  masterLeases: [],
  kubernetesPort: 6443,
  paired: new Map(),
  unpaired: new Map(),
  named: new Map(),
  mayDoubt: false,
  hasDeparted: () => false,
  rewriteMs: 5_000,
};

function record(id: string, more: Partial<EndpointRecord> = {}): EndpointRecord {
  return {
    id,
    address: { host: "192.0.2.2", port: 6443 },
    publishedAddress: undefined,
    generation: 1,
    state: "serving",
    release: "1.36",
    compatibilityVersion: "1.36",
    binaryVersion: "1.36.4",
    incarnation: "run-1",
    document: "etag",
    hasPublishedStorageVersions: true,
    ...more,
  };
}

function lease(id: string, more: { incarnation?: string; isExpired?: boolean } = {}): LivenessInput["leases"][number] {
  return { id, incarnation: "run-1", isExpired: false, ...more };
}

function starting(id: string, ageMs: number, incarnation = "run-2"): LivenessInput["starting"][number] {
  return { record: { id, incarnation, release: "1.36" }, ageMs };
}

function vanished(id: string, ageMs: number, more: Partial<EndpointRecord> = {}): LivenessInput["vanished"][number] {
  return { id, incarnation: "run-1", record: record(id, more), ageMs, hasDeparted: false };
}

function decide(more: Partial<LivenessInput>): Liveness {
  return decideLiveness({ ...NOTHING, ...more });
}

function evidence(more: Partial<LivenessInput>): string[] {
  return decide(more).servers.map((server) => `${server.id}: ${server.evidence} ${server.incarnation}`);
}

describe("a server with an endpoint record", () => {
  test("is live without an identity lease, and this server itself is not listed", () => {
    expect(evidence({ endpoints: [record("b"), record("a"), record("self")], leases: [lease("self")] })).toEqual([
      "a: record run-1",
      "b: record run-1",
    ]);
  });

  test("keeps the run of its record, although its identity lease has another holder", () => {
    const leases = [lease("a", { incarnation: "forged" })];
    expect(evidence({ endpoints: [record("a")], leases })).toEqual(["a: record run-1"]);
  });

  test("that does not publish its run, such as a kube-apiserver, has the run of its lease", () => {
    const endpoints = [record("a", { incarnation: undefined })];
    expect(evidence({ endpoints, leases: [lease("a", { incarnation: "run-7" })] })).toEqual(["a: record run-7"]);
    expect(evidence({ endpoints })).toEqual(["a: record undefined"]);
  });
});

describe("a server that is starting", () => {
  test("is live for 30 s, also if the endpoint record of its previous run still exists", () => {
    expect(evidence({ starting: [starting("a", 29_999)], endpoints: [record("a")] })).toEqual(["a: starting run-2"]);
  });

  test("is overdue after 30 s, and its lease does not count", () => {
    const result = decide({ starting: [starting("a", 30_000)], leases: [lease("a")], mayDoubt: true });
    expect(result.servers).toEqual([]);
    expect(result.overdue).toEqual([{ id: "a", incarnation: "run-2", release: "1.36" }]);
    expect(result.ignored).toEqual([]);
  });

  test("is ready when its own run has an endpoint record", () => {
    expect(evidence({ starting: [starting("a", 5, "run-1")], endpoints: [record("a")] })).toEqual(["a: record run-1"]);
  });

  test("does not hide a server with the same ID that stays live", () => {
    expect(evidence({ starting: [starting("a", 40_000)], endpoints: [record("a")] })).toEqual(["a: record run-1"]);
  });
});

describe("a server whose record has disappeared", () => {
  test.each([
    ["stays live for 30 s while its lease is renewed", 29_999, [lease("a")], 1],
    ["departs after 30 s, although its lease is renewed", 30_000, [lease("a")], 0],
    ["stays live while it may write the record again, although its lease is missing", 4_999, [], 1],
    ["departs if its lease is missing and it does not write the record again", 5_000, [], 0],
    ["departs at once if its lease has expired", 0, [lease("a", { isExpired: true })], 0],
  ])("%s", (_name, ageMs, leases, count) => {
    expect(decide({ vanished: [vanished("a", ageMs)], leases }).servers).toHaveLength(count);
  });

  test("departs at once if it was draining", () => {
    expect(decide({ vanished: [vanished("a", 0, { state: "draining" })], leases: [lease("a")] }).servers).toEqual([]);
  });

  test("that has departed stays departed, and its remaining lease is neither a server nor ignored", () => {
    const departed = [{ ...vanished("a", 10), hasDeparted: true }];
    const result = decide({ vanished: departed, leases: [lease("a")], mayDoubt: true });
    expect(result).toEqual({ servers: [], overdue: [], ignored: [], paired: new Map() });
  });
});

describe("an identity lease without a record", () => {
  test("counts as a server only while doubt is allowed, and is ignored otherwise", () => {
    const leases = [lease("ghost"), lease("old", { isExpired: true })];
    expect(evidence({ leases, mayDoubt: true })).toEqual(["ghost: doubt run-1"]);
    expect(decide({ leases })).toEqual({ servers: [], overdue: [], ignored: ["ghost"], paired: new Map() });
  });

  test("counts while a masterlease exists for an address that no known server has, and is called there", () => {
    const { servers } = decide({ leases: [lease("old")], masterLeases: ["192.0.2.1", "192.0.2.9"] });
    expect(servers).toMatchObject([
      {
        id: "old",
        evidence: "masterlease",
        incarnation: "run-1-at-192.0.2.9",
        address: { host: "192.0.2.9", port: 6443 },
      },
    ]);
  });

  test("counts without an address while the port of the kubernetes Service is unknown", () => {
    const masterLeases = ["192.0.2.9"];
    const { servers } = decide({ leases: [lease("old")], masterLeases, kubernetesPort: undefined });
    expect(servers).toMatchObject([{ id: "old", evidence: "masterlease", address: undefined }]);
  });

  test("beyond the number of such masterleases counts only while doubt is allowed", () => {
    const more = { leases: [lease("old"), lease("ghost")], masterLeases: ["192.0.2.9"] };
    const paired = new Map([["old", "192.0.2.9"]]);
    expect(decide({ ...more, paired }).ignored).toEqual(["ghost"]);
    expect(evidence({ ...more, paired, mayDoubt: true })).toEqual([
      "ghost: doubt run-1",
      "old: masterlease run-1-at-192.0.2.9",
    ]);
  });

  test("whose masterlease has disappeared stays a server for 30 s; after that it is neither a server nor ignored", () => {
    const after = (ageMs: number): Liveness =>
      decide({ leases: [lease("old")], unpaired: new Map([["old", { ip: "192.0.2.9", ageMs }]]), mayDoubt: true });
    expect(after(29_999).servers).toMatchObject([
      { evidence: "recent", incarnation: "run-1-at-192.0.2.9", address: { host: "192.0.2.9" } },
    ]);
    expect([after(30_000).servers, after(30_000).ignored]).toEqual([[], []]);
  });

  test("that the store notes as departed is neither a server nor ignored, unless its masterlease exists", () => {
    const departed = { leases: [lease("old")], hasDeparted: () => true, mayDoubt: true };
    expect([decide(departed).servers, decide(departed).ignored]).toEqual([[], []]);
    expect(evidence({ ...departed, masterLeases: ["192.0.2.9"] })).toEqual(["old: masterlease run-1-at-192.0.2.9"]);
  });

  test("that appears together with a masterlease gets its address, although another server has lost one", () => {
    const unpaired = new Map([["departed", { ip: "192.0.2.8", ageMs: 10 }]]);
    const leases = [lease("departed"), lease("new")];
    expect(evidence({ leases, unpaired, masterLeases: ["192.0.2.9"] })).toEqual([
      "departed: recent run-1-at-192.0.2.8",
      "new: masterlease run-1-at-192.0.2.9",
    ]);
  });

  test.each<[string, Partial<LivenessInput>]>([
    ["this server", { masterLeases: ["192.0.2.1"] }],
    ["an endpoint record", { masterLeases: ["192.0.2.2"], endpoints: [record("b")] }],
    [
      "the published address in an endpoint record",
      { masterLeases: ["192.0.2.3"], endpoints: [record("b", { publishedAddress: "192.0.2.3" })] },
    ],
    ["a server that has just departed", { masterLeases: ["192.0.2.2"], vanished: [vanished("b", 60_000)] }],
    ["a flag", { masterLeases: ["192.0.2.8"], named: new Map([["c", { host: "192.0.2.8", port: 1 }]]) }],
  ])("does not count because of the masterlease of %s", (_name, more) => {
    expect(decide({ ...more, leases: [lease("ghost")] }).ignored).toEqual(["ghost"]);
  });

  test("counts if --peer-server names it, with the address of the flag", () => {
    const address = { host: "192.0.2.8", port: 6443 };
    const { servers } = decide({ leases: [lease("old")], named: new Map([["old", address]]) });
    expect(servers).toEqual([{ id: "old", incarnation: "run-1", record: undefined, address, evidence: "flag" }]);
  });
});
