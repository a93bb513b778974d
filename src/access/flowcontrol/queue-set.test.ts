import { describe, expect, test } from "vitest";

import { QueueSet, type FlowCounts, type QueuePlace } from "./queue-set.ts";

const counts = (): FlowCounts => ({ executing: 0, executingSeats: 0, waiting: 0, waitingSeats: 0 });

/**
 * A priority level in which each test chooses the queue of a request, and the order in which its requests were served.
 */
class Level {
  nowMs = 0;
  readonly served: string[] = [];
  readonly counts = counts();
  readonly queues = new QueueSet(0);
  readonly places = new Map<string, QueuePlace>();

  constructor(limit: number, queueLengthLimit = 100) {
    this.queues.configure({ isExempt: false, queuing: { queues: 8, handSize: 1, queueLengthLimit } });
    this.queues.setLimit(limit, 0);
  }

  ask(name: string, queue: number, seats = 1): string {
    const entrant = { seats, hand: [queue], counts: this.counts, isUrgent: false };
    const place = this.queues.start(entrant, this.nowMs);
    if (typeof place === "string") return place;
    this.places.set(name, place);
    if (place.state === "executing") this.served.push(name);
    else place.onTurn = () => this.served.push(name);
    return place.state;
  }

  end(name: string, afterMs: number): void {
    this.nowMs += afterMs;
    this.queues.finish(this.places.get(name)!, this.nowMs);
  }

  /** Finishes the executing requests one by one until no request waits. */
  drain(eachMs: number): void {
    for (let index = 0; index < this.served.length; index++) {
      const place = this.places.get(this.served[index]!)!;
      if (place.state === "executing") this.end(this.served[index]!, eachMs);
    }
  }
}

describe("fair queuing", () => {
  test("serves a flow with few requests before the backlog of a flow with many requests", () => {
    const level = new Level(1);
    level.ask("running", 0);
    for (let index = 0; index < 20; index++) level.ask(`elephant-${index}`, 1);
    for (let index = 0; index < 3; index++) level.ask(`mouse-${index}`, 2);
    level.drain(10);
    const mice = level.served.flatMap((name, index) => (name.startsWith("mouse") ? [index] : []));
    expect(level.served).toHaveLength(24);
    expect(mice.at(-1)).toBeLessThanOrEqual(7);
  });

  test("gives a flow of long requests the same time as a flow of short requests", () => {
    const level = new Level(1);
    level.ask("long-start", 1);
    for (let index = 0; index < 40; index++) {
      level.ask(`long-${index}`, 1);
      level.ask(`short-${index}`, 2);
    }
    let [longMs, shortMs] = [0, 0];
    for (let index = 0; index < 44; index++) {
      const name = level.served[index]!;
      const isLong = name.startsWith("long");
      if (isLong) longMs += 100;
      else shortMs += 10;
      level.end(name, isLong ? 100 : 10);
    }
    expect(Math.abs(longMs - shortMs)).toBeLessThanOrEqual(200);
  });

  test("charges a flow for all seats of its requests", () => {
    const level = new Level(4);
    level.ask("first", 0, 4);
    for (let index = 0; index < 8; index++) level.ask(`wide-${index}`, 1, 4);
    for (let index = 0; index < 8; index++) level.ask(`narrow-${index}`, 2, 1);
    level.drain(3);
    const order = level.served.slice(1, 9).filter((name) => name.startsWith("narrow"));
    expect(order.length).toBeGreaterThanOrEqual(5);
    expect(level.served).toHaveLength(17);
  });

  test("serves a request that needs more seats than the limit, but only alone", () => {
    const level = new Level(2);
    expect(level.ask("one", 0)).toBe("executing");
    expect(level.ask("wide", 1, 5)).toBe("waiting");
    level.end("one", 1);
    expect(level.served).toEqual(["one", "wide"]);
    expect(level.ask("two", 2)).toBe("waiting");
  });
});

describe("the queues of a level", () => {
  test("reject a request if its queue is full, even if other queues are not", () => {
    const level = new Level(1, 2);
    expect([0, 1, 2, 3].map((index) => level.ask(`a${index}`, 1))).toEqual([
      "executing",
      "waiting",
      "waiting",
      "queue-full",
    ]);
    expect(level.ask("b", 2)).toBe("waiting");
    expect(level.counts).toEqual({ executing: 1, executingSeats: 1, waiting: 3, waitingSeats: 3 });
  });

  test("hold at most 10,000 requests, whatever queueLengthLimit is configured", () => {
    const level = new Level(1, 1_000_000);
    level.ask("first", 0);
    let waiting = 0;
    while (level.ask(`a${waiting}`, waiting % 8) === "waiting") waiting++;
    expect(waiting).toBe(10_000);
  });

  test("are chosen from the hand of the flow by the least work ahead", () => {
    const level = new Level(1, 2);
    level.ask("first", 0);
    level.ask("a", 1);
    level.ask("b", 2);
    level.ask("c", 2);
    const entrant = { seats: 1, hand: [2, 1], counts: level.counts, isUrgent: false };
    expect(level.queues.start(entrant, 0)).toMatchObject({ queue: { index: 1 } });
  });

  test("remove a canceled request, and serve the requests that it blocked", () => {
    const level = new Level(2);
    level.ask("one", 0);
    level.ask("wide", 1, 2);
    level.nowMs = 100;
    expect(level.ask("narrow", 2)).toBe("waiting");
    level.queues.leave(level.places.get("wide")!, 1);
    expect(level.served).toEqual(["one", "narrow"]);
    level.end("one", 1);
    level.end("narrow", 1);
    expect(level.queues.isIdle).toBe(true);
    expect(level.counts).toEqual(counts());
  });

  test("serve more requests if the limit of seats rises, and fewer if it falls", () => {
    const level = new Level(1);
    for (const name of ["a", "b", "c"]) level.ask(name, 0);
    level.queues.setLimit(3, 1);
    expect(level.served).toEqual(["a", "b", "c"]);
    level.queues.setLimit(1, 2);
    level.ask("d", 0);
    level.end("a", 3);
    level.end("b", 1);
    expect(level.served).toHaveLength(3);
    level.end("c", 1);
    expect(level.served).toHaveLength(4);
  });

  test("serve an urgent request at once, and count its seats toward the limit", () => {
    const level = new Level(1);
    level.ask("a", 0);
    const urgent = { seats: 1, hand: [0], counts: level.counts, isUrgent: true };
    const place = level.queues.start(urgent, 0) as QueuePlace;
    expect(place.state).toBe("executing");
    level.ask("b", 0);
    level.end("a", 1);
    expect(level.served).toEqual(["a"]);
    level.queues.finish(place, 2);
    expect(level.served).toEqual(["a", "b"]);
  });

  test("reject a request that finds no free seat if the level has no queues", () => {
    const level = new Level(2);
    level.queues.configure({ isExempt: false, queuing: undefined });
    expect([level.ask("a", 0), level.ask("b", 0), level.ask("c", 0)]).toEqual([
      "executing",
      "executing",
      "concurrency-limit",
    ]);
  });
});
