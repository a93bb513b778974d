/** Checks the checkers: after a restore of the store, they judge by its new history. */
import { describe, expect, test } from "vitest";
import { noFalse404 } from "../../src/tools/simulator/checkers/no-false-404.ts";
import type { SimulatedRequest } from "../../src/tools/simulator/checker.ts";
import type { Run } from "../../src/tools/simulator/server.ts";
import { collectedIsGarbage } from "./checkers/collected-is-garbage.ts";
import { entriesMatchCommonVersion } from "./checkers/entries-match-common-version.ts";
import { fencedUntilPublished } from "./checkers/fenced-until-published.ts";
import { informersRecover } from "./checkers/informers-recover.ts";
import { migratedIsMigrated } from "./checkers/migrated-is-migrated.ts";
import { namespacesEmpty } from "./checkers/namespaces-empty.ts";
import { neverBack } from "./checkers/never-back.ts";
import { noLostWrite } from "./checkers/no-lost-write.ts";
import { readsAreCurrent } from "./checkers/reads-are-current.ts";
import { restoresEndWatches } from "./checkers/restores-end-watches.ts";
import { sentOnce } from "./checkers/sent-once.ts";
import { writtenAsPublished } from "./checkers/written-as-published.ts";
import { KnownObjects } from "./objects.ts";
import { RestoredStage } from "./restored-stage.ts";

const PATH = "/api/v1/namespaces/default/configmaps/object-1";
const CLAIM = "resourceclaims/default/object-1";
const CLAIMS = "storageversions/resource.k8s.io.resourceclaims";
const DECODABLE = ["resource.k8s.io/v1", "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"];

function request(changes: Partial<SimulatedRequest> = {}): SimulatedRequest {
  const question = { group: "batch", version: "v1", resource: "jobs", subresource: "" };
  return {
    ...{ auditId: "one", serverId: "a", method: "GET", target: PATH, startedAtMs: 0, resource: question },
    ...{ name: "object-1", ...changes },
  };
}

function storageVersion(common: string | undefined, entries: Readonly<Record<string, string>>): object {
  const storageVersions = Object.entries(entries).map(([apiServerID, encodingVersion]) => ({
    ...{ apiServerID, encodingVersion, decodableVersions: DECODABLE },
  }));
  return { status: { storageVersions, ...(common && { commonEncodingVersion: common }) } };
}

const [V1, V1BETA1] = ["resource.k8s.io/v1", "resource.k8s.io/v1beta1"] as const;

describe("after a restore of the store, the checker", () => {
  test("collected-is-garbage reports an object whose owner was deleted only in the lost history", async () => {
    const stage = new RestoredStage();
    stage.observe(collectedIsGarbage({ record: stage.objects }));
    await stage.write("owners/one", { metadata: { uid: "owner" } });
    await stage.write("children/two", { metadata: { uid: "child", ownerReferences: [{ uid: "owner" }] } });
    const backup = stage.backUp();
    await stage.write("owners/one", undefined);
    stage.restore(backup);
    expect(stage.takeFound()).toEqual([]);
    await stage.write("children/two", undefined);
    expect(stage.takeFound()).toEqual(["children/two was collected although its owner owner exists"]);
  });

  test("namespaces-empty reports content that was deleted only in the lost history, and allows new content", async () => {
    const stage = new RestoredStage();
    stage.observe(namespacesEmpty(stage.objects));
    const thing = { metadata: { uid: "thing", namespace: "here" } };
    await stage.write("namespaces/here", { metadata: { uid: "here" } });
    await stage.write("things/here/one", thing);
    const backup = stage.backUp();
    await stage.write("things/here/one", undefined);
    await stage.write("namespaces/here", undefined);
    stage.restore(backup);
    await stage.write("things/here/two", thing);
    expect(stage.takeFound()).toEqual([]);
    await stage.write("namespaces/here", undefined);
    expect(stage.takeFound()).toEqual([
      "namespace here was finalized while the store contained things/here/one, things/here/two",
    ]);
  });

  test("never-back ignores a lost common version, and an entry that joined only in the lost history", async () => {
    const stage = new RestoredStage();
    const [a, b] = [stage.addRun("a"), stage.addRun("b")];
    stage.observe(neverBack(stage.encodings));
    await stage.write(CLAIMS, storageVersion(V1BETA1, { a: V1BETA1 }), a);
    const first = stage.backUp();
    await stage.write(CLAIMS, storageVersion(V1, { a: V1 }), a);
    stage.restore(first);
    await stage.write(CLAIMS, storageVersion(V1BETA1, { a: V1 }), a);
    expect(stage.takeFound()).toEqual([]);
    await stage.write(CLAIMS, storageVersion(V1, { a: V1 }), a);
    const second = stage.backUp();
    await stage.write(CLAIMS, storageVersion(undefined, { a: V1, b: V1BETA1 }), b);
    stage.restore(second);
    await stage.write(CLAIMS, storageVersion(V1BETA1, { a: V1 }), a);
    expect(stage.takeFound()).toEqual([expect.stringContaining("moved from resource.k8s.io/v1 back to")]);
  });

  test("migrated-is-migrated reports a migration that only the lost history has completed", async () => {
    const stage = new RestoredStage();
    const a = stage.addRun("a");
    stage.observe(migratedIsMigrated(stage.encodings));
    await stage.write(CLAIM, { apiVersion: V1BETA1, metadata: {} }, a);
    const backup = stage.backUp();
    await stage.write(CLAIM, { apiVersion: V1, metadata: {} }, a);
    stage.restore(backup);
    const state = { "resource.k8s.io.resourceclaims": JSON.stringify({ persistedVersions: [V1] }) };
    await stage.write("configmaps/kube-system/evenkeel-storage-state", { metadata: {}, data: state }, a);
    expect(stage.takeFound()).toEqual([expect.stringContaining("is reported as stored only in resource.k8s.io/v1")]);
  });

  test("fenced-until-published and written-as-published require the lease and the entry in the new history", async () => {
    const stage = new RestoredStage();
    const a = stage.addRun("a");
    stage.observe(fencedUntilPublished(stage.encodings));
    stage.observe(writtenAsPublished(stage.encodings));
    const backup = stage.backUp();
    await stage.write("leases/kube-system/a", { metadata: {} }, a);
    await stage.write(CLAIMS, storageVersion(V1, { a: V1 }), a);
    await stage.write(CLAIM, { apiVersion: V1, metadata: {} }, a);
    expect(stage.takeFound()).toEqual([]);
    stage.restore(backup);
    await stage.write(CLAIM, { apiVersion: V1, metadata: {} }, a);
    expect(stage.takeFound()).toEqual([
      `a changed ${CLAIM} before it had a lease`,
      expect.stringContaining("without an entry in resource.k8s.io.resourceclaims"),
    ]);
  });

  test("nobody-contradicts requires the entries of the backup, not those that were lost", async () => {
    const stage = new RestoredStage();
    const [a, b] = [stage.addRun("a"), stage.addRun("b")];
    stage.observe(entriesMatchCommonVersion(stage.encodings));
    await stage.write("leases/kube-system/a", { metadata: {} }, a);
    await stage.write(CLAIMS, storageVersion(V1, { a: V1 }), a);
    const backup = stage.backUp();
    await stage.write("leases/kube-system/b", { metadata: {} }, b);
    await stage.write(CLAIMS, storageVersion(V1, { a: V1, b: V1 }), b);
    stage.restore(backup);
    await stage.write(CLAIMS, storageVersion(V1, { a: V1 }), a);
    expect(stage.takeFound()).toEqual([]);
    await stage.write(CLAIMS, storageVersion(V1, { b: V1 }), b);
    expect(stage.takeFound()).toEqual([expect.stringContaining("without an entry of a")]);
  });

  test("no-false-404 requires a departed server only if the new history has its record, and a live one always", async () => {
    const stage = new RestoredStage();
    const run = Object.assign(stage.addRun("b"), { served: { has: () => true } as unknown as Run["served"] });
    const checker = noFalse404({
      ...{ runs: stage.runs, departedGraceMs: 60_000, leaseKeptMs: 10_000 },
      isRecorded: (one) => stage.encodings.isRecorded(one),
    });
    const notFound = { request: request(), atMs: 1_000, status: 404, unknown: "resource", message: "" } as const;
    const empty = stage.backUp();
    await stage.write("evenkeel/served/b/1", { metadata: {} }, run);
    const recorded = stage.backUp();
    run.endedAtMs = 500;
    expect(checker.onResponse!(notFound)).toHaveLength(1);
    stage.restore(recorded);
    expect(checker.onResponse!(notFound)).toHaveLength(1);
    stage.restore(empty);
    expect(checker.onResponse!(notFound)).toEqual([]);
    run.endedAtMs = undefined;
    expect(checker.onResponse!(notFound)).toHaveLength(1);
  });

  test("reads-are-current reports an object as the lost history had it", async () => {
    const stage = new RestoredStage();
    const checker = readsAreCurrent(stage.versions);
    const get = (resourceVersion: number): readonly string[] => {
      const atMs = stage.world.clock.monotonic();
      const sent = request({ startedAtMs: atMs });
      const outcome = { unknown: undefined, message: "", resourceVersion: String(resourceVersion) };
      return checker.onResponse!({ request: sent, atMs, status: 200, ...outcome });
    };
    await stage.write("configmaps/default/object-1", { metadata: {} });
    const kept = stage.history.revision;
    const backup = stage.backUp();
    await stage.write("configmaps/default/object-1", { metadata: {} });
    const lost = stage.history.revision;
    await stage.world.advance(1);
    expect([get(kept).length, get(lost).length]).toEqual([1, 0]);
    stage.restore(backup);
    await stage.world.advance(1);
    expect([get(kept).length, get(lost).length]).toEqual([0, 1]);
  });

  test("restores-end-watches reports a watch that stays open, and one that ends without code 410", async () => {
    const { runs } = stageWithRun();
    const end = (auditId: string, text: string, atMs: number): readonly string[] => {
      const checker = restoresEndWatches(runs);
      const watch = request({ auditId, isWatch: true });
      checker.onResponse!({ request: watch, atMs: 1, status: 200, unknown: undefined, message: "" });
      checker.onRestore!({ revision: 1, atMs: 5_000 });
      checker.onWatch!({ request: watch, atMs, text });
      return checker.onWatch!({ request: watch, atMs, text: undefined });
    };
    const expired = '{"type":"ERROR","object":{"code":410}}';
    expect(end("right", expired, 5_000)).toEqual([]);
    expect(end("late", expired, 7_000)).toEqual([expect.stringContaining("was still open 2000 ms after a restore")]);
    expect(end("wrong", "{}", 5_000)).toEqual([expect.stringContaining("not with code 410")]);
  });

  test("informers-recover reports an object of the lost history that a client still has", async () => {
    const stage = stageWithRun();
    const key = "configmaps/default/object-1";
    await stage.write(key, { metadata: {} });
    const kept = stage.history.revision;
    const backup = stage.backUp();
    await stage.write(key, { metadata: {} });
    const lost = stage.history.revision;
    let copy = new Map([[key, String(lost)]]);
    const informers = { copyOf: () => copy };
    const judge = async (): Promise<readonly string[]> => {
      const checker = informersRecover({ runs: stage.runs, versions: stage.versions, informers });
      checker.onRestore!({ revision: backup.revision, atMs: stage.world.clock.monotonic() });
      await stage.world.advance(20_000);
      const atMs = stage.world.clock.monotonic();
      return checker.onResponse!({ request: request(), atMs, status: 200, unknown: undefined, message: "" });
    };
    await stage.world.advance(1);
    stage.restore(backup);
    await stage.world.advance(1);
    expect(await judge()).toHaveLength(1);
    copy = new Map([[key, String(kept)]]);
    expect(await judge()).toEqual([]);
  });
});

function stageWithRun(): RestoredStage {
  const stage = new RestoredStage();
  stage.addRun("a");
  return stage;
}

describe("after a restore of the store, an object that clients know", () => {
  const STORED = { metadata: {} };
  const DELETED = { metadata: { deletionTimestamp: "2030-01-01T00:00:00Z" } };
  test.each([
    ["there", STORED, "there"],
    ["there", undefined, "lost"],
    ["gone", STORED, "there"],
    ["gone", DELETED, "leaving"],
    ["gone", undefined, "gone"],
    ["perhaps", STORED, "there"],
    ["perhaps", undefined, "perhaps"],
    ["leaving", STORED, "leaving"],
    ["leaving", undefined, "lost"],
  ] as const)("as %s is, if the backup has %j of it, %s", (state, stored, expected) => {
    const objects = new KnownObjects();
    objects.set(PATH, state);
    objects.restore(() => stored);
    expect(objects.get(PATH)).toBe(expected);
  });

  test("must be found if it is in the backup, and need not be found if it is lost", () => {
    const objects = new KnownObjects();
    const checkers = [noLostWrite(objects, () => 5_000), sentOnce((path) => objects.get(path) === "leaving")];
    const notFound = (method: string, startedAtMs: number): number[] => {
      const outcome = { atMs: 9_000, status: 404, unknown: "object", message: "" } as const;
      return checkers.map(
        ({ onResponse }) => onResponse!({ request: request({ method, startedAtMs }), ...outcome }).length,
      );
    };
    objects.set(PATH, "gone");
    objects.restore(() => STORED);
    expect([notFound("GET", 4_000), notFound("GET", 6_000)]).toEqual([
      [0, 0],
      [1, 0],
    ]);
    objects.set(PATH, "leaving");
    expect(notFound("DELETE", 6_000)).toEqual([0, 1]);
    objects.restore(() => undefined);
    expect([notFound("GET", 6_000), notFound("DELETE", 6_000)]).toEqual([
      [0, 0],
      [0, 0],
    ]);
  });
});
