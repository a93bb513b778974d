import { describe, expect, test } from "vitest";
import type { KvEvent } from "../kv.ts";
import { EtcdWatch } from "./etcd-watch.ts";
import type { WatchResponse } from "./watch-messages.ts";

const NOTHING: WatchResponse = {
  revision: 100,
  watchId: 1,
  isCreated: false,
  isCanceled: false,
  compactRevision: 0,
  cancelReason: "",
  isFragment: false,
  events: [],
};

function events(...revisions: number[]): KvEvent[] {
  return revisions.map((modRevision, index) => ({ kind: "delete", key: `/k/${index}`, modRevision }));
}

function following(fromRevision: number): { follower: EtcdWatch; seen: unknown[] } {
  const seen: unknown[] = [];
  const follower = new EtcdWatch(
    { prefix: "/k/", fromRevision },
    {
      events: (batch) => seen.push(batch.map((event) => event.modRevision)),
      progress: (revision) => seen.push(`progress ${revision}`),
      interrupted: (isInterrupted) => seen.push(isInterrupted ? "interrupted" : "following"),
      closed: (error) => seen.push(error.code),
    },
  );
  follower.createMessage(1);
  follower.created();
  return { follower, seen };
}

describe("a watch on an etcd stream", () => {
  test("resumes after the last revision that it delivered", () => {
    const { follower } = following(5);
    expect(follower.createMessage(2).startRevision).toBe(5);
    follower.accept({ ...NOTHING, events: events(7, 9) });
    expect(follower.createMessage(3)).toEqual({ watchId: 3, key: "/k/", rangeEnd: "/k0", startRevision: 10 });
  });

  test("drops events that it has already delivered", () => {
    const { follower, seen } = following(5);
    follower.accept({ ...NOTHING, events: events(5, 6) });
    follower.accept({ ...NOTHING, events: events(6, 7) });
    follower.accept({ ...NOTHING, events: events(6, 7) });
    expect(seen).toEqual([[5, 6], [7]]);
  });

  test("delivers all events of a revision in one batch, even if etcd split them into fragments", () => {
    const { follower, seen } = following(5);
    follower.accept({ ...NOTHING, isFragment: true, events: events(5, 6, 6) });
    expect(seen).toEqual([[5]]);
    follower.accept({ ...NOTHING, isFragment: true, events: events(6) });
    follower.accept({ ...NOTHING, events: events(6, 7) });
    expect(seen).toEqual([[5], [6, 6, 6, 6, 7]]);
  });

  test("discards the first part of a split revision when the stream is lost, and receives the whole revision on the next stream", () => {
    const { follower, seen } = following(5);
    follower.accept({ ...NOTHING, isFragment: true, events: events(5, 6) });
    follower.interrupt();
    expect(follower.createMessage(2).startRevision).toBe(6);
    follower.created();
    follower.accept({ ...NOTHING, events: events(6, 6) });
    expect(seen).toEqual([[5], "interrupted", "following", [6, 6]]);
  });

  test("reports progress only for revisions whose events it has delivered", () => {
    const { follower, seen } = following(50);
    follower.accept({ ...NOTHING, revision: 20 });
    follower.accept({ ...NOTHING, isCreated: true, revision: 60 });
    follower.accept({ ...NOTHING, isFragment: true, events: events(61) });
    follower.accept({ ...NOTHING, revision: 70 });
    follower.accept({ ...NOTHING, events: events(62) });
    follower.accept({ ...NOTHING, revision: 71 });
    expect(seen).toEqual([[61, 62], "progress 71"]);
    expect(follower.createMessage(2).startRevision).toBe(72);
  });

  test("reports an interruption once, even if several attempts to resume fail", () => {
    const { follower, seen } = following(5);
    follower.interrupt();
    follower.interrupt();
    follower.createMessage(2);
    follower.interrupt();
    follower.createMessage(3);
    follower.created();
    expect(seen).toEqual(["interrupted", "following"]);
  });

  test("delivers nothing once it is closed", () => {
    const { follower, seen } = following(5);
    follower.isClosed = true;
    follower.interrupt();
    follower.created();
    follower.accept({ ...NOTHING, events: events(7) });
    expect(seen).toEqual([]);
  });
});
