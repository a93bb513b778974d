import { describe, expect, test } from "vitest";
import { isFailure, TransportError } from "../../client/transport.ts";
import { StatusError } from "../../meta/status-error.ts";
import { decideCollection, type Collection, type CollectionContext } from "./stale-entry-collector.ts";
import type { StorageVersionObject } from "./objects.ts";
import { Collecting } from "../../../test/testing/cluster/storageversion/collecting.ts";
import {
  CONDITION_FALSE,
  conditionUnknown,
  CONDITION_TRUE,
  entry,
  FOREIGN_CONDITION,
  liveServers,
  statusOf,
} from "../../../test/testing/cluster/storageversion/entries.ts";

const NAME = "k8s.test.resources";
const NOW = "2030-01-01T00:00:00Z";
const V1 = entry("s1", "v1", "v1 v2");
const V2 = entry("s2", "v2", "v1 v2");
const V2_TOO = entry("s3", "v2", "v1 v2");
const GONE = entry("gone", "v1");

const agreed = statusOf([V1], "v1", CONDITION_TRUE);
const differing = statusOf([V1, V2], undefined, CONDITION_FALSE);

describe("the decision:", () => {
  const object = (status: StorageVersionObject["status"], deletionTimestamp?: string): StorageVersionObject => ({
    metadata: { name: NAME, ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }) },
    ...(status === undefined ? {} : { status }),
  });
  const live = liveServers("s1", "s2", "s3");
  const withNew = liveServers("s1", "s2", "s3", "-new");
  const isNew = new Map([["new", 1_500]]);

  test.each<[string, StorageVersionObject, Partial<CollectionContext>, Collection]>([
    ["a correct object is kept", object(agreed), {}, { kind: "keep" }],
    ["an object whose entries are all stale is deleted", object(statusOf([GONE], "v1")), {}, { kind: "delete" }],
    ["an object that is being deleted is not deleted again", object(statusOf([GONE], "v1"), NOW), {}, { kind: "keep" }],
    [
      "an empty object is kept during the grace period",
      object({}),
      { emptyForMs: 7 },
      { kind: "keep", requeueAfterMs: 7 },
    ],
    ["an object without a status is empty", object(undefined), { emptyForMs: 7 }, { kind: "keep", requeueAfterMs: 7 }],
    ["an empty object is deleted after the grace period", object({}), { emptyForMs: 0 }, { kind: "delete" }],
    [
      "an empty object is deleted even if it has conditions of other clients",
      object(statusOf([], undefined, FOREIGN_CONDITION)),
      {},
      { kind: "delete" },
    ],
    ["an empty object that is being deleted is kept", object({}, NOW), {}, { kind: "keep" }],
    [
      "stale entries do not wait for the grace period of empty objects",
      object(statusOf([GONE], "v1")),
      { emptyForMs: 7 },
      { kind: "delete" },
    ],
    [
      "a new server is not pending at once",
      object(agreed),
      { live: withNew, young: isNew },
      { kind: "keep", requeueAfterMs: 1_500 },
    ],
    [
      "of several new servers the first to become pending counts",
      object(agreed),
      {
        live: liveServers("s1", "-new", "-newer", "-newest"),
        young: new Map([
          ["newest", 1_900],
          ["new", 1_500],
          ["newer", 1_700],
        ]),
      },
      { kind: "keep", requeueAfterMs: 1_500 },
    ],
    [
      "a pending server makes the object Unknown",
      object(agreed),
      { live: withNew },
      {
        kind: "update",
        status: statusOf([V1], undefined, { ...conditionUnknown("new"), lastTransitionTime: NOW }),
      },
    ],
    [
      "an object that is Unknown stays so for a collector that has just started",
      object(statusOf([V1], undefined, conditionUnknown("new"))),
      { live: withNew, young: isNew },
      { kind: "keep" },
    ],
    [
      "a new server besides a pending one is not pending at once either",
      object(statusOf([V1], undefined, conditionUnknown("old"))),
      { live: liveServers("s1", "-old", "-new"), young: isNew },
      { kind: "keep", requeueAfterMs: 1_500 },
    ],
    [
      "a write that is due anyway does not claim an agreement without a new server's entry",
      object(statusOf([GONE, V2, V2_TOO], undefined, CONDITION_FALSE)),
      { live: withNew, young: isNew },
      {
        kind: "update",
        status: statusOf([V2, V2_TOO], undefined, { ...conditionUnknown("new"), lastTransitionTime: NOW }),
      },
    ],
  ])("%s", (_rule, given, context, expected) => {
    expect(decideCollection(given, { live, now: NOW, ...context })).toEqual(expected);
  });
});

describe("after the departure of a server", () => {
  test("its entry is dropped, and if the others agree, the condition becomes True in the same write", async () => {
    await using collecting = new Collecting("s1", "s2", "s3");
    const { api, members, world } = collecting;
    api.put(NAME, statusOf([V1, V2, V2_TOO], undefined, CONDITION_FALSE));
    collecting.start();
    await world.advance(1_000);
    expect(api.writes).toEqual([]);
    members.leave("s1");
    await world.advance(0);
    expect(collecting.summary(NAME)).toBe("s2:v2 s3:v2 | v2 | True");
    expect(api.writes).toEqual([`PUT ${NAME}/status`]);
    expect(collecting.metric("evenkeel_storage_version_collected_entries_total")).toBe(1);
    expect(collecting.metric("evenkeel_storage_version_collected_objects_total")).toBe(0);
  });

  test("an object without an entry of that server is not written", async () => {
    await using collecting = new Collecting("s1", "s2", "s3");
    const { api, members, world } = collecting;
    api.put(NAME, statusOf([V1, V2_TOO], undefined, CONDITION_FALSE));
    collecting.start();
    members.leave("s2");
    await world.advance(120_000);
    expect(api.writes).toEqual([]);
  });

  test("a common version that does not match the entries is corrected", async () => {
    await using collecting = new Collecting("s1", "s3");
    collecting.api.put(NAME, statusOf([V1, V2_TOO], "v1", CONDITION_TRUE));
    await collecting.reconcile(NAME);
    expect(collecting.summary(NAME)).toBe("s1:v1 s3:v2 | none | False");
  });

  test("an entry of a server that has no lease is dropped at the start of a term", async () => {
    await using collecting = new Collecting("s1", "s2", "s3");
    collecting.api.put(NAME, statusOf([V1, V2, V2_TOO, GONE], undefined, CONDITION_FALSE));
    await collecting.start().world.advance(1_000);
    expect(collecting.summary(NAME)).toBe("s1:v1 s2:v2 s3:v2 | none | False");
  });

  test("an object is deleted with its last entry", async () => {
    await using collecting = new Collecting("s1");
    const { api, members, world } = collecting;
    api.put(NAME, agreed);
    collecting.start();
    await world.advance(1_000);
    expect(api.get(NAME)).toBeDefined();
    members.leave("s1");
    await world.advance(0);
    expect(api.get(NAME)).toBeUndefined();
    expect(collecting.metric("evenkeel_storage_version_collected_objects_total")).toBe(1);
    expect(collecting.metric("evenkeel_storage_version_collected_entries_total")).toBe(1);
  });
});

describe("in a cluster of two servers", () => {
  const foos = "storageversion.integration.test.foos";
  const id1 = entry("id-1", "v1");
  const id2 = entry("id-2", "v2");

  test("an object of a server that does not exist is deleted", async () => {
    await using collecting = new Collecting("id-1", "id-2").start();
    const { api, world } = collecting;
    await world.advance(1_000);
    api.put(foos, statusOf([entry("id-non-exist", "v1")], "v1", CONDITION_TRUE));
    await world.advance(10_000);
    expect(api.get(foos)).toBeUndefined();
  });

  test("an object with an entry of one of them stays, and is agreed when the other has published everything", async () => {
    await using collecting = new Collecting("id-1", "id-2").start();
    const { api, world } = collecting;
    api.put(foos, statusOf([id1], "v1", CONDITION_TRUE));
    await world.advance(120_000);
    expect(collecting.summary(foos)).toBe("id-1:v1 | v1 | True");
    expect(api.writes).toEqual([]);
  });

  test("an object is Unknown while the server without an entry has not published everything", async () => {
    await using collecting = new Collecting("id-1", "-id-2").start();
    const { api, members, world } = collecting;
    api.put(foos, statusOf([id1], "v1", CONDITION_TRUE));
    await world.advance(1_900);
    expect(api.writes).toEqual([]);
    await world.advance(8_100);
    expect(collecting.summary(foos)).toBe("id-1:v1 | none | Unknown");
    members.join("id-2");
    await world.advance(0);
    expect(collecting.summary(foos)).toBe("id-1:v1 | v1 | True");
    expect(api.writes).toHaveLength(2);
  });

  test("the entry of each stays until that server departs", async () => {
    await using collecting = new Collecting("id-1", "id-2").start();
    const { api, members, world } = collecting;
    api.put(foos, statusOf([id1, id2], undefined, CONDITION_FALSE));
    await world.advance(10_000);
    expect(collecting.summary(foos)).toBe("id-1:v1 id-2:v2 | none | False");
    members.leave("id-1");
    await world.advance(0);
    expect(collecting.summary(foos)).toBe("id-2:v2 | v2 | True");
    members.leave("id-2");
    await world.advance(0);
    expect(api.get(foos)).toBeUndefined();
  });
});

describe("after errors, and with incomplete data:", () => {
  test.each(["unknown", new Error("the store cannot be read")] as const)(
    "entries stay while the live servers are unknown: %s",
    async (view) => {
      await using collecting = new Collecting("s1");
      const { api, members, world } = collecting;
      members.view = view;
      api.put(NAME, statusOf([V1, GONE], "v1", CONDITION_TRUE));
      api.put("k8s.test.others", statusOf([GONE], "v1", CONDITION_TRUE));
      await expect(collecting.reconcile(NAME)).rejects.toThrow(/live servers are currently unknown|cannot be read/);
      collecting.start();
      await world.advance(60_000);
      expect(api.writes).toEqual([]);
      members.view = "caught up";
      await world.advance(60_000);
      expect(collecting.summary(NAME)).toBe("s1:v1 | v1 | True");
      expect(api.get("k8s.test.others")).toBeUndefined();
    },
  );

  test("the live servers are determined after the object was read", async () => {
    await using collecting = new Collecting("s1");
    const { api, members } = collecting;
    api.put(NAME, statusOf([entry("late", "v1"), V1], "v1", CONDITION_TRUE));
    members.whileCatchingUp = () => {
      expect(api.requests).toEqual([`GET ${NAME}`]);
      members.join("late");
    };
    expect(await collecting.reconcile(NAME)).toBeUndefined();
    expect(members.catchUps).toBe(1);
    expect(api.writes).toEqual([]);
  });

  test.each(["GET", "PUT", "DELETE"])(
    "a %s that fails is an error, and the object is retried later",
    async (method) => {
      await using collecting = new Collecting("s1");
      const { api } = collecting;
      const name = method === "DELETE" ? "k8s.test.others" : NAME;
      api.put(NAME, statusOf([V1, GONE], "v1", CONDITION_TRUE));
      api.put("k8s.test.others", statusOf([GONE], "v1", CONDITION_TRUE));
      api.before = (asked) => {
        if (asked.startsWith(method)) throw new StatusError("InternalError", "the store is tired");
      };
      await expect(collecting.reconcile(name)).rejects.toThrow("the store is tired");
      api.before = (asked) => {
        if (asked.startsWith(method)) throw new TransportError("refused", "nobody listens");
      };
      await expect(collecting.reconcile(name)).rejects.toSatisfy((thrown) => isFailure(thrown, "refused"));
      expect(collecting.metric("evenkeel_storage_version_collected_entries_total")).toBe(0);
      api.before = () => {};
      await collecting.reconcile(name);
      expect(collecting.summary(name)).toBe(method === "DELETE" ? undefined : "s1:v1 | v1 | True");
    },
  );

  test("an object without uid or resourceVersion is not written", async () => {
    await using collecting = new Collecting("s1");
    const { api } = collecting;
    api.put(NAME, statusOf([GONE], "v1", CONDITION_TRUE), { uid: "" });
    await expect(collecting.reconcile(NAME)).rejects.toThrow(/has no uid/);
    expect(api.writes).toEqual([]);
  });
});

describe("during a collection", () => {
  const back = entry("gone", "v2", "v1 v2");

  test("a server keeps the entry that it publishes if the object was about to be deleted", async () => {
    await using collecting = new Collecting("s1");
    const { api, members } = collecting;
    api.put(NAME, statusOf([GONE], "v1", CONDITION_TRUE));
    api.before = (asked) => {
      if (!asked.startsWith("DELETE")) return;
      members.join("gone");
      api.put(NAME, statusOf([back], "v2", CONDITION_TRUE));
    };
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 100 });
    expect(await collecting.reconcile(NAME)).toBeUndefined();
    expect(collecting.summary(NAME)).toBe("gone:v2 | v2 | True");
    expect(collecting.metric("evenkeel_storage_version_collected_objects_total")).toBe(0);
  });

  test("a server keeps the entry that it publishes if the object was deleted and created again", async () => {
    await using collecting = new Collecting("s1", "gone");
    const { api, members } = collecting;
    api.put(NAME, statusOf([GONE], "v1", CONDITION_TRUE));
    members.leave("gone");
    const { resourceVersion } = api.get(NAME)!.metadata!;
    api.before = (asked) => {
      if (!asked.startsWith("DELETE")) return;
      api.remove(NAME);
      api.put(NAME, statusOf([back], "v2", CONDITION_TRUE));
    };
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 100 });
    expect(api.get(NAME)!.metadata!.resourceVersion).not.toBe(resourceVersion);
  });

  test("a server keeps the entry that it publishes if entries of other servers were about to be dropped", async () => {
    await using collecting = new Collecting("s1");
    const { api, members } = collecting;
    api.put(NAME, statusOf([V1, GONE], "v1", CONDITION_TRUE));
    api.before = (asked) => {
      if (!asked.startsWith("PUT")) return;
      members.join("s2");
      api.put(NAME, statusOf([V1, GONE, V2], undefined, CONDITION_FALSE));
      api.before = () => {};
    };
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 100 });
    expect(collecting.summary(NAME)).toBe("s1:v1 gone:v1 s2:v2 | none | False");
    expect(await collecting.reconcile(NAME)).toBeUndefined();
    expect(collecting.summary(NAME)).toBe("s1:v1 s2:v2 | none | False");
    expect(collecting.metric("evenkeel_storage_version_collected_entries_total")).toBe(1);
  });

  test.each([agreed, statusOf([GONE], "v1", CONDITION_TRUE), statusOf([V1, GONE], "v1", CONDITION_TRUE)])(
    "an object that another client deletes is not an error",
    async (status) => {
      await using collecting = new Collecting("s1");
      const { api } = collecting;
      api.put(NAME, status);
      api.before = (asked) => {
        if (!asked.startsWith("GET")) api.remove(NAME);
      };
      await collecting.reconcile(NAME);
      api.remove(NAME);
      expect(await collecting.reconcile(NAME)).toBeUndefined();
    },
  );

  test("the entries of a server that rejoins with the same ID before the collector runs stay", async () => {
    await using collecting = new Collecting("s1", "s2").start();
    const { api, members, world } = collecting;
    api.put(NAME, differing);
    await world.advance(1_000);
    members.leave("s2");
    members.join("-s2");
    await world.advance(120_000);
    expect(api.writes).toEqual([]);
    expect(collecting.summary(NAME)).toBe("s1:v1 s2:v2 | none | False");
  });

  test("data of other clients in an object stays", async () => {
    await using collecting = new Collecting("s1");
    const { api } = collecting;
    api.put(NAME, statusOf([V1, GONE], undefined, FOREIGN_CONDITION, CONDITION_FALSE));
    await collecting.reconcile(NAME);
    expect(api.statusOf(NAME)?.conditions).toEqual([FOREIGN_CONDITION, { ...CONDITION_TRUE, lastTransitionTime: NOW }]);
  });
});

describe("an object without entries", () => {
  test("is deleted after the grace period", async () => {
    await using collecting = new Collecting("s1").start();
    const { api, world } = collecting;
    await world.advance(1_000);
    api.put(NAME, {});
    await world.advance(9_900);
    expect(api.writes).toEqual([]);
    await world.advance(200);
    expect(api.get(NAME)).toBeUndefined();
    expect(collecting.metric("evenkeel_storage_version_collected_objects_total")).toBe(1);
    expect(collecting.metric("evenkeel_storage_version_collected_entries_total")).toBe(0);
  });

  test("is kept until the collector itself has observed it for the grace period, however old it is", async () => {
    await using collecting = new Collecting("s1");
    const { api, world } = collecting;
    api.put(NAME, {}, { creationTimestamp: "2001-01-01T00:00:00Z" });
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 10_000 });
    await world.advance(4_000);
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 6_000 });
    await world.advance(6_000);
    expect(await collecting.reconcile(NAME)).toBeUndefined();
    expect(api.get(NAME)).toBeUndefined();
  });

  test("is kept if its creation time is recent, even if the clock of its creator is ahead", async () => {
    await using collecting = new Collecting("s1");
    const { api, world } = collecting;
    api.put(NAME, {}, { creationTimestamp: "2030-01-01T00:01:00Z" });
    await collecting.reconcile(NAME);
    await world.advance(20_000);
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 10_000 });
    await world.advance(45_000);
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 5_000 });
    await world.advance(5_000);
    await collecting.reconcile(NAME);
    expect(api.get(NAME)).toBeUndefined();
  });

  test("has a new grace period when it is changed or replaced, and in each term", async () => {
    await using collecting = new Collecting("s1");
    const { api, world } = collecting;
    const old = { creationTimestamp: "2001-01-01T00:00:00Z" };
    api.put(NAME, {}, old);
    await collecting.reconcile(NAME);
    await world.advance(9_000);
    api.put(NAME, statusOf([], undefined, FOREIGN_CONDITION), old);
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 10_000 });
    await world.advance(9_000);
    api.remove(NAME);
    api.put(NAME, {}, old);
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 10_000 });
    await world.advance(9_000);
    collecting.collector.sources();
    expect(await collecting.reconcile(NAME)).toEqual({ requeueAfterMs: 10_000 });
  });

  test("stays if its creator fills it in time", async () => {
    await using collecting = new Collecting("s1").start();
    const { api, world } = collecting;
    await world.advance(1_000);
    api.put(NAME, {});
    await world.advance(9_000);
    api.put(NAME, agreed);
    await world.advance(120_000);
    expect(api.writes).toEqual([]);
  });
});

describe("a new server", () => {
  test("makes no object Unknown if it publishes at once", async () => {
    await using collecting = new Collecting("s1").start();
    const { api, members, world } = collecting;
    api.put(NAME, agreed);
    await world.advance(5_000);
    members.join("-new");
    await world.advance(1_500);
    members.join("new");
    await world.advance(120_000);
    expect(api.writes).toEqual([]);
  });

  test("counts as pending after a grace period that begins when it is first seen, not when each object is seen", async () => {
    await using collecting = new Collecting("s1").start();
    const { api, members, world } = collecting;
    await world.advance(5_000);
    members.join("-new");
    await world.advance(1_500);
    api.put(NAME, agreed);
    await world.advance(400);
    expect(collecting.summary(NAME)).toBe("s1:v1 | v1 | True");
    await world.advance(200);
    expect(collecting.summary(NAME)).toBe("s1:v1 | none | Unknown");
  });

  test("gets the grace period again when it rejoins", async () => {
    await using collecting = new Collecting("s1").start();
    const { api, members, world } = collecting;
    api.put(NAME, agreed);
    members.join("-new");
    await world.advance(1_500);
    members.leave("new");
    await world.advance(1_000);
    members.join("-new");
    await world.advance(1_500);
    expect(api.writes).toEqual([]);
    await world.advance(600);
    expect(collecting.summary(NAME)).toBe("s1:v1 | none | Unknown");
  });
});

describe("the sources", () => {
  test("enqueue objects that are added, changed or deleted, and all objects when members change and every minute", async () => {
    await using collecting = new Collecting("s1");
    const { api, members, world, collector } = collecting;
    api.put("k8s.test.a", agreed);
    api.put("k8s.test.b", agreed);
    const named: string[] = [];
    const stop = new AbortController();
    const sources = collector.sources();
    expect(sources.map(({ hasSynced }) => hasSynced)).toEqual([false, true]);
    const running = sources.map((source) => source.run((key) => void named.push(key.slice(-1)), stop.signal));
    const news = async (afterMs = 0): Promise<string> => {
      await world.advance(afterMs);
      return named.splice(0).join(" ");
    };
    expect(await news()).toBe("a b");
    expect(sources.map(({ hasSynced }) => hasSynced)).toEqual([true, true]);
    api.put("k8s.test.a", statusOf([], undefined));
    expect(await news()).toBe("a");
    api.put("k8s.test.c", agreed);
    expect(await news()).toBe("c");
    api.remove("k8s.test.b");
    expect(await news()).toBe("b");
    members.leave("s1");
    expect(await news()).toBe("a c");
    expect(await news(60_000)).toBe("a c");
    stop.abort();
    await world.run(Promise.all(running));
    members.join("s1");
    api.put("k8s.test.a", agreed);
    expect(await news(60_000)).toBe("");
    expect(members.listeners).toBe(0);
  });

  test("can be created again for another term", async () => {
    await using collecting = new Collecting("s1");
    const { api, world, collector } = collecting;
    api.put(NAME, agreed);
    for (let term = 1; term <= 2; term++) {
      const named: string[] = [];
      const stop = new AbortController();
      const running = collector.sources().map((source) => source.run((key) => void named.push(key), stop.signal));
      await world.advance(0);
      expect(named).toEqual([NAME]);
      stop.abort();
      await world.run(Promise.all(running));
    }
  });
});

describe("the time to agreement", () => {
  const series = "evenkeel_storage_version_agreement_seconds";

  test("is measured from the first observed disagreement to a common version, set by any server", async () => {
    await using collecting = new Collecting("s1", "s2").start();
    const { api, world, members } = collecting;
    api.put(NAME, differing);
    await world.advance(30_000);
    expect(collecting.metric(`${series}_count`)).toBe(0);
    members.leave("s1");
    await world.advance(0);
    expect(collecting.summary(NAME)).toBe("s2:v2 | v2 | True");
    expect(collecting.metric(`${series}_count`)).toBe(1);
    expect(collecting.metric(`${series}_sum`)).toBeCloseTo(29.9, 0);
    api.put(NAME, statusOf([V2], undefined, conditionUnknown("s1")));
    members.join("-s1");
    await world.advance(4_000);
    api.put(NAME, statusOf([entry("s1", "v2", "v1 v2"), V2], "v2", CONDITION_TRUE));
    await world.advance(0);
    expect(collecting.metric(`${series}_count`)).toBe(2);
    expect(collecting.metric(`${series}_sum`)).toBeCloseTo(33.9, 0);
  });

  test("does not include objects that always agreed, are empty, or were deleted", async () => {
    await using collecting = new Collecting("s1", "s2").start();
    const { api, world } = collecting;
    api.put("k8s.test.a", agreed);
    api.put("k8s.test.b", {});
    api.put("k8s.test.c", differing);
    api.put("k8s.test.d", differing);
    await world.advance(5_000);
    api.put("k8s.test.b", agreed);
    api.remove("k8s.test.c");
    api.remove("k8s.test.d");
    api.put("k8s.test.d", agreed);
    await world.advance(5_000);
    api.put("k8s.test.c", agreed);
    await world.advance(60_000);
    expect(collecting.metric(`${series}_count`)).toBe(0);
  });
});
