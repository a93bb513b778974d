import { describe, expect, test } from "vitest";
import { createManualClock, type ManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { createEntry } from "./entry.ts";
import { History, type CacheEvent, type Delivery, type HistoryWatcher } from "./history.ts";
import { Memo } from "./memo.ts";
import { HISTORY_AGE_MS, HISTORY_BYTES_MAX, HISTORY_EVENTS_MAX, HISTORY_EVENTS_MIN } from "./cache-limits.ts";

function eventOf(revision: number, key = "/registry/pods/a/x", bytes = 0): CacheEvent {
  const value = Buffer.from(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"${"x".repeat(bytes)}"}}`);
  return {
    kind: "put",
    revision,
    entry: createEntry({ key, value, modRevision: revision, createRevision: revision }),
    previous: undefined,
    memo: new Memo(),
  };
}

class Recorder implements HistoryWatcher {
  readonly revisions: number[] = [];
  isTaking = true;
  fellBehindCount = 0;

  deliver(event: CacheEvent): Delivery {
    this.revisions.push(event.revision);
    return this.isTaking ? "sent" : "full";
  }

  fellBehind(): void {
    this.fellBehindCount++;
  }
}

function openHistory(baseRevision = 10): { history: History; clock: ManualClock } {
  const clock = createManualClock();
  return { history: new History({ clock, baseRevision }), clock };
}

function appendMany(history: History, range: { from: number; to: number }, key?: string): void {
  for (let revision = range.from; revision <= range.to; revision++) history.append(eventOf(revision, key));
}

describe("a watcher of the history", () => {
  test("receives the events after its start revision, then new events", () => {
    const { history } = openHistory();
    appendMany(history, { from: 11, to: 15 });
    const follower = new Recorder();
    const following = history.follow("/registry/pods/", 12, follower);
    history.append(eventOf(16));
    expect(follower.revisions).toEqual([13, 14, 15, 16]);
    expect(following?.isCurrent()).toBe(true);
  });

  test("cannot start before the oldest event of the history", () => {
    const { history } = openHistory();
    expect(history.follow("/registry/pods/", 9, new Recorder())).toBeUndefined();
    expect(history.follow("/registry/pods/", 10, new Recorder())).toBeDefined();
  });

  test("that starts while an event is delivered receives this event once", () => {
    const { history } = openHistory();
    const late = new Recorder();
    const starter = new Recorder();
    const deliver = starter.deliver.bind(starter);
    starter.deliver = (event) => {
      if (event.revision === 11) history.follow("/registry/pods/", 10, late);
      return deliver(event);
    };
    history.follow("/registry/pods/", 10, starter);
    appendMany(history, { from: 11, to: 13 });
    expect(starter.revisions).toEqual([11, 12, 13]);
    expect(late.revisions).toEqual([11, 12, 13]);
  });

  test("that starts at a future revision receives no earlier events", () => {
    const { history } = openHistory();
    const follower = new Recorder();
    history.follow("/registry/pods/", 13, follower);
    appendMany(history, { from: 11, to: 15 });
    expect(follower.revisions).toEqual([14, 15]);
  });

  test.each([
    ["/registry/pods/", [11, 12, 13, 14]],
    ["/registry/pods/a/", [11, 12]],
    ["/registry/pods/a/x", [11]],
    ["/registry/pods/b/", [14]],
  ])("of %s receives only events of keys under that prefix", (prefix, revisions) => {
    const { history } = openHistory();
    const [early, late] = [new Recorder(), new Recorder()];
    history.follow(prefix, 10, early);
    for (const [index, key] of ["a/x", "a/xy", "ab/x", "b/x"].entries())
      history.append(eventOf(11 + index, `/registry/pods/${key}`));
    history.follow(prefix, 10, late);
    expect(early.revisions).toEqual(revisions);
    expect(late.revisions).toEqual(revisions);
  });

  test("that was blocked continues where it stopped, without gap or duplicate", () => {
    const { history } = openHistory();
    const follower = new Recorder();
    follower.isTaking = false;
    const following = history.follow("/registry/pods/", 10, follower);
    appendMany(history, { from: 11, to: 14 });
    expect(follower.revisions).toEqual([11]);
    expect(following?.isCurrent()).toBe(false);
    following?.resume();
    expect(follower.revisions).toEqual([11, 12]);
    follower.isTaking = true;
    following?.resume();
    following?.resume();
    history.append(eventOf(15));
    expect(follower.revisions).toEqual([11, 12, 13, 14, 15]);
    expect(following?.isCurrent()).toBe(true);
  });

  test("receives nothing once it is stopped, even if it stops itself during delivery", () => {
    const { history } = openHistory();
    const revisions: number[] = [];
    const following = history.follow("/registry/pods/", 10, {
      deliver: (event) => {
        revisions.push(event.revision);
        if (event.revision === 12) following?.stop();
        return "sent";
      },
      fellBehind: () => expect.unreachable(),
    });
    appendMany(history, { from: 11, to: 14 });
    following?.stop();
    following?.resume();
    history.reset(20);
    expect(revisions).toEqual([11, 12]);
    expect(following?.isCurrent()).toBe(false);
  });

  test("may add another watcher while it receives an event", () => {
    const { history } = openHistory();
    const second = new Recorder();
    history.follow("/registry/pods/", 10, {
      deliver: (event) => (history.follow("/registry/pods/", event.revision, second) === undefined ? "full" : "sent"),
      fellBehind: () => {},
    });
    appendMany(history, { from: 11, to: 11 });
    history.append(eventOf(12));
    expect(second.revisions[0]).toBe(12);
  });

  test("that was blocked too long is ended as fallen behind when it resumes", () => {
    const { history } = openHistory();
    const follower = new Recorder();
    follower.isTaking = false;
    const following = history.follow("/registry/pods/", 10, follower);
    appendMany(history, { from: 11, to: 12 + HISTORY_EVENTS_MAX });
    following?.resume();
    expect(follower).toMatchObject({ revisions: [11], fellBehindCount: 1 });
    following?.resume();
    expect(follower.fellBehindCount).toBe(1);
  });

  test("of a quiet prefix does not fall behind because of events under busy prefixes", () => {
    const { history } = openHistory();
    const follower = new Recorder();
    history.follow("/registry/pods/quiet/", 10, follower);
    appendMany(history, { from: 11, to: 50 + HISTORY_EVENTS_MAX });
    const revision = 51 + HISTORY_EVENTS_MAX;
    history.append(eventOf(revision, "/registry/pods/quiet/x"));
    expect(follower).toMatchObject({ revisions: [revision], fellBehindCount: 0 });
  });

  test("is ended once when the history is reset, and can watch again from the new base revision", () => {
    const { history } = openHistory();
    const follower = new Recorder();
    const again = new Recorder();
    history.follow("/registry/pods/", 10, {
      deliver: () => "sent",
      fellBehind: () => void history.follow("/registry/pods/", 20, again),
    });
    history.follow("/registry/pods/a/", 10, follower);
    appendMany(history, { from: 11, to: 12 });
    history.reset(20);
    expect(history.baseRevision).toBe(20);
    history.append(eventOf(21));
    expect(follower).toMatchObject({ revisions: [11, 12], fellBehindCount: 1 });
    expect(again.revisions).toEqual([21]);
    expect(history.follow("/registry/pods/", 19, new Recorder())).toBeUndefined();
  });
});

describe("the history", () => {
  test("keeps a limited number of events", () => {
    const { history } = openHistory(0);
    appendMany(history, { from: 1, to: HISTORY_EVENTS_MAX + 500 });
    expect(history.baseRevision).toBe(500);
    const follower = new Recorder();
    history.follow("/registry/pods/", 500, follower);
    expect(follower.revisions).toHaveLength(HISTORY_EVENTS_MAX);
    expect(follower.revisions[0]).toBe(501);
  });

  test("keeps a limited size in bytes, but always the newest event", () => {
    const { history } = openHistory(0);
    const bytes = HISTORY_BYTES_MAX / 4;
    for (let revision = 1; revision <= 6; revision++) history.append(eventOf(revision, "/registry/pods/a/x", bytes));
    expect(history.baseRevision).toBe(3);
    history.append(eventOf(7, "/registry/pods/a/x", 5 * bytes));
    expect(history.baseRevision).toBe(6);
  });

  test("drops old events, except for a minimum number", () => {
    const { history, clock } = openHistory(0);
    appendMany(history, { from: 1, to: 300 });
    clock.advance(HISTORY_AGE_MS + 1);
    history.append(eventOf(301));
    expect(history.baseRevision).toBe(301 - HISTORY_EVENTS_MIN);
  });

  test("starts a watcher at every revision that it still holds, even after it has dropped events in bulk", () => {
    const { history } = openHistory(0);
    appendMany(history, { from: 1, to: 3 * HISTORY_EVENTS_MAX });
    for (const start of [
      2 * HISTORY_EVENTS_MAX,
      2 * HISTORY_EVENTS_MAX + 1,
      3 * HISTORY_EVENTS_MAX - 1,
      3 * HISTORY_EVENTS_MAX,
    ]) {
      const follower = new Recorder();
      history.follow("/registry/pods/", start, follower);
      expect(follower.revisions[0] ?? start + 1).toBe(start + 1);
      expect(follower.revisions).toHaveLength(3 * HISTORY_EVENTS_MAX - start);
    }
  });

  test("keeps shared encodings only of the newest events", () => {
    const { history } = openHistory(0);
    const first = eventOf(1);
    first.memo.set("frame", 1);
    history.append(first);
    appendMany(history, { from: 2, to: 256 });
    expect(first.memo.size).toBe(1);
    history.append(eventOf(257));
    expect(first.memo.size).toBe(0);
  });
});

test("the history ignores a resume call of a watcher that was never blocked", () => {
  const history = new History({ clock: { monotonic: () => 0, now: () => 0, after: () => () => {} }, baseRevision: 0 });
  let fell = false;
  const following = history.follow("/r/pods/quiet/", 0, { deliver: () => "sent", fellBehind: () => (fell = true) });
  for (let revision = 1; revision <= HISTORY_EVENTS_MAX + 1_000; revision++) {
    const value = Buffer.from('{"kind":"Pod","apiVersion":"v1","metadata":{}}');
    const entry = createEntry({ key: "/r/pods/loud/x", value, modRevision: revision, createRevision: 1 });
    history.append({ kind: "put", revision, entry, previous: undefined, memo: new Memo() });
  }
  following?.resume();
  expect(fell).toBe(false);
});
