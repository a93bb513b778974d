import { expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import { World } from "../../tools/simulator/world.ts";
import { endpointRecordKind } from "./endpoint-record.ts";
import type { LeaseEvidence } from "./live-servers.ts";
import { kubernetesPortKind } from "./kubernetes-port.ts";
import { encodeMasterLease, masterLeaseKey, masterLeaseKind } from "./master-leases.ts";
import { RecordTable } from "./record-table.ts";
import { ServerObserver } from "./server-observer.ts";
import { encodeStartingRecord, startingKey, startingRecordKind } from "./starting-record.ts";

const ROOT = "/registry/";
const KEY = "/registry/peerserverleases/a";
const RECORD = {
  ...{ kind: "Endpoints", apiVersion: "v1", metadata: { labels: { apiserverIdentity: "a" } } },
  subsets: [{ addresses: [{ ip: "192.0.2.2" }], ports: [{ name: "https", port: 6443 }] }],
};

function setUp() {
  const world = new World({ seed: 1 });
  const endpoints = new RecordTable(endpointRecordKind(ROOT), SILENT_LOG);
  const starting = new RecordTable(startingRecordKind(ROOT), SILENT_LOG);
  const masterLeases = new RecordTable(masterLeaseKind(ROOT), SILENT_LOG);
  const kubernetesPort = new RecordTable(kubernetesPortKind(ROOT), SILENT_LOG);
  const state = { leases: [] as LeaseEvidence[], mayDoubt: false, isLoaded: true, changes: 0 };
  const observer = new ServerObserver({
    ...{
      selfId: "self",
      ownAddress: undefined,
      clock: world.clock,
      log: SILENT_LOG,
      endpoints,
      starting,
      masterLeases,
      kubernetesPort,
    },
    leases: () => state.leases,
    named: new Map(),
    isLoaded: () => state.isLoaded,
    mayDoubt: () => state.mayDoubt,
    hasDeparted: () => false,
    ...{ intervalMs: 1_000, rewriteMs: 5_000 },
  });
  observer.onChange(() => state.changes++);
  const shown = (): string[] =>
    observer.servers.map(({ id, evidence, incarnation }) => `${id} ${evidence} ${incarnation}`);
  return { world, endpoints, starting, masterLeases, kubernetesPort, state, observer, shown };
}

const lease = (incarnation: string, isExpired = false): LeaseEvidence => ({ id: "a", incarnation, isExpired });

test("no server is listed before the records are loaded, and a change is reported once", () => {
  const { endpoints, state, observer, shown } = setUp();
  state.isLoaded = false;
  endpoints.upsert(KEY, RECORD);
  expect(shown()).toEqual([]);
  state.isLoaded = true;
  observer.reconsider();
  observer.reconsider();
  expect([shown(), state.changes]).toEqual([["a record undefined"], 1]);
});

test("a server that departed after its record disappeared stays departed until it writes a record", async () => {
  const { world, endpoints, state, observer, shown } = setUp();
  endpoints.upsert(KEY, RECORD);
  state.leases = [lease("run-1")];
  endpoints.remove(KEY);
  expect(shown()).toEqual(["a recent run-1"]);
  state.leases = [lease("run-1", true)];
  observer.reconsider();
  state.leases = [];
  await world.advance(1_000);
  observer.reconsider();
  expect(shown()).toEqual([]);
  endpoints.upsert(KEY, RECORD);
  expect(shown()).toEqual(["a record undefined"]);
});

test("the run that only a lease shows changes at most every 10 s", async () => {
  const { world, endpoints, state, observer, shown } = setUp();
  state.leases = [lease("run-1")];
  endpoints.upsert(KEY, RECORD);
  state.leases = [lease("forged")];
  observer.reconsider();
  expect(shown()).toEqual(["a record run-1"]);
  await world.advance(10_000);
  observer.reconsider();
  expect(shown()).toEqual(["a record forged"]);
});

test("a starting server is overdue 30 s after it was first seen", async () => {
  const { world, starting, observer } = setUp();
  const run = { id: "a", incarnation: "run-1", release: "1.36" };
  starting.upsert(startingKey(ROOT, run), encodeStartingRecord(run));
  expect(observer.servers.map(({ evidence }) => evidence)).toEqual(["starting"]);
  await world.advance(30_000);
  observer.reconsider();
  expect([observer.servers, observer.liveness.overdue]).toEqual([[], [run]]);
});

test("a kube-apiserver without a record is called at its masterlease, and departs 30 s after the masterlease has disappeared", async () => {
  const { world, masterLeases, kubernetesPort, state, observer, shown } = setUp();
  const [ip, key] = ["192.0.2.9", masterLeaseKey(ROOT, "192.0.2.9")];
  state.leases = [lease("one")];
  state.mayDoubt = true;
  const ports = [{ name: "https", port: 7443, protocol: "TCP" }];
  masterLeases.upsert(key, encodeMasterLease({ ip, generation: 1 }));
  kubernetesPort.upsert(`${ROOT}services/endpoints/default/kubernetes`, { kind: "Endpoints", subsets: [{ ports }] });
  expect(observer.servers).toMatchObject([{ address: { host: ip, port: 7443 }, evidence: "masterlease" }]);
  masterLeases.remove(key);
  expect(shown()).toEqual(["a recent one-at-192.0.2.9"]);
  masterLeases.upsert(key, encodeMasterLease({ ip, generation: 1 }));
  expect(shown()).toEqual(["a masterlease one-at-192.0.2.9"]);
  masterLeases.remove(key);
  await world.advance(30_000);
  observer.reconsider();
  expect([shown(), observer.liveness.ignored]).toEqual([[], []]);
  await world.advance(30_000);
  observer.reconsider();
  expect(shown()).toEqual(["a doubt one"]);
});

test("a kube-apiserver without a record departs as soon as its lease has expired after its masterlease", () => {
  const { masterLeases, state, observer, shown } = setUp();
  const [ip, key] = ["192.0.2.9", masterLeaseKey(ROOT, "192.0.2.9")];
  state.leases = [lease("one")];
  masterLeases.upsert(key, encodeMasterLease({ ip, generation: 1 }));
  masterLeases.remove(key);
  expect(shown()).toEqual(["a recent one-at-192.0.2.9"]);
  state.leases = [lease("one", true)];
  observer.reconsider();
  expect([shown(), observer.liveness.ignored]).toEqual([[], []]);
});
