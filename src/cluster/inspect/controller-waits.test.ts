import { expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { controllerWaits } from "./controller-waits.ts";
import { CONTROLLERS_LEASE, type LeaderLease } from "./leader-leases.ts";

const NOW = Date.parse("2030-01-01T00:01:00Z");
const NOW_MS = 100_000;
const LEASE: LeaderLease = {
  name: CONTROLLERS_LEASE,
  leader: "a",
  acquireTime: "2030-01-01T00:00:00.000000Z",
  durationMs: 7_000,
  changedAtMs: NOW_MS - 400,
  reported: { waits: [], hidden: 0 },
};

function waits(
  lease: Partial<LeaderLease> = {},
  namespaces: readonly { readonly seenAtMs: number; readonly object: JsonObject }[] = [],
): ReturnType<typeof controllerWaits> {
  return controllerWaits({ leases: [{ ...LEASE, ...lease }], namespaces, nowMs: NOW_MS, now: NOW });
}

function terminating(
  name: string,
  secondsAgo: number,
  conditions: readonly JsonObject[] = [],
): { seenAtMs: number; object: JsonObject } {
  const metadata = { name, deletionTimestamp: "2030-01-01T00:00:30Z" };
  return { seenAtMs: NOW_MS - secondsAgo * 1000, object: { metadata, status: { conditions } } };
}

test("a leader that renews its lease is shown, and the cluster waits for nothing", () => {
  expect(waits()).toEqual({
    controllers: [{ lease: CONTROLLERS_LEASE, leader: "a", since: LEASE.acquireTime, renewedSecondsAgo: 0.4 }],
    heldByKubeControllerManager: null,
    waitingFor: [],
  });
});

test("the waits that the leader has published are listed, with the number of those that it has not published", () => {
  const since = "2030-01-01T00:00:30Z";
  const wait = { kind: "resource", name: "widgets.example.com", since, because: "HTTP 406: no" } as const;
  const reported = { waits: [wait], hidden: 3 };
  expect(waits({ reported }).waitingFor).toEqual([
    wait,
    { kind: "resource", name: "", because: "the controllers of a report 3 more waits" },
  ]);
  expect(waits({ reported: { ...reported, hidden: 0 } }).waitingFor).toEqual([wait]);
});

test("the waits of a leader that has released its lease are not listed", () => {
  const wait = { kind: "resource", name: "widgets", since: "", because: "no" } as const;
  const { waitingFor } = waits({ leader: "", reported: { waits: [wait], hidden: 0 } });
  expect(waitingFor.map(({ kind }) => kind)).toEqual(["leader"]);
});

test("the wait for a leader that does not renew its lease has a reason and an end", () => {
  expect(waits({ changedAtMs: NOW_MS - 5_000 }).waitingFor).toEqual([
    {
      kind: "leader",
      name: CONTROLLERS_LEASE,
      since: "2030-01-01T00:00:55Z",
      until: "2030-01-01T00:01:03Z",
      because: "a has not renewed the lease for 5 s; after 7 s another server takes it",
    },
  ]);
});

test("a released lease is a wait for the next leader", () => {
  const { controllers, waitingFor } = waits({ leader: "" });
  expect(controllers).toEqual([{ lease: CONTROLLERS_LEASE, renewedSecondsAgo: 0.4 }]);
  expect(waitingFor[0]?.because).toContain("has released the lease");
});

test("a terminating namespace shows its conditions, its earliest end, or that no server runs the controllers", () => {
  const conditions = [
    { type: "NamespaceContentRemaining", status: "True", message: "1 pod" },
    { type: "NamespaceDeletionContentFailure", status: "False", message: "fine" },
  ];
  const namespaces = [terminating("held", 60, conditions), terminating("new", 2), terminating("old", 60)];
  const since = "2030-01-01T00:00:30Z";
  expect(waits({}, namespaces).waitingFor).toEqual([
    { kind: "namespace", name: "held", since, because: "NamespaceContentRemaining: 1 pod" },
    {
      ...{ kind: "namespace", name: "new", since, until: "2030-01-01T00:01:03Z" },
      because: "a namespace is finalized 5 s after its deletion at the earliest",
    },
    { kind: "namespace", name: "old", since, because: "the namespace controller has not reported an obstacle" },
  ]);
  expect(waits({ leader: "" }, namespaces).waitingFor.at(-1)?.because).toBe("no server runs the controllers now");
});

test("of many terminating namespaces 20 are shown, and messages are cut", () => {
  const message = `${"x".repeat(1_000)}: b cannot be reached`;
  const condition = { type: "NamespaceContentRemaining", status: "True", message };
  const long = Array.from({ length: 9 }, () => condition);
  const { waitingFor } = waits(
    {},
    Array.from({ length: 25 }, (_, index) => terminating(`n${index}`, 60, long)),
  );
  expect(waitingFor).toHaveLength(21);
  expect(waitingFor[0]?.because).toMatch(/^NamespaceContentRemaining: x+ … x+: b cannot be reached; /);
  expect(waitingFor[0]?.because).toHaveLength(5 * 303 + 4 * 2);
  expect(waitingFor.at(-1)?.because).toBe("5 more namespaces are being deleted");
});
