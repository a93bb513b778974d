import { describe, expect, test } from "vitest";
import { HANDLER_BACKLOG } from "./client-limits.ts";
import { recorder, RunningInformer } from "../../test/testing/client/running-informer.ts";
import {
  added,
  bookmark,
  configMap,
  deleted,
  initialEnd,
  list,
  modified,
  rejects,
  ScriptedStream,
  status,
  type Reply,
} from "../../test/testing/client/scripted-transport.ts";

/** Longer than the first backoff after a failure, shorter than a watch. */
const WAIT_MS = 2_000;

const tooLarge: Reply = {
  status: 504,
  body: status(504, "Timeout", "Too large resource version: 9, current: 1", {
    causes: [{ reason: "ResourceVersionTooLarge" }],
  }),
};

describe("the first list", () => {
  test("is a stream that continues as the watch", async () => {
    const stream = new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)));
    await using running = new RunningInformer([stream]);
    expect(await running.takeNotifications()).toEqual([]);
    expect(running.informer.hasSynced).toBe(false);
    stream.send(initialEnd(5));
    expect(await running.takeNotifications()).toEqual(["add a@1 (initial)", "add b@2 (initial)"]);
    expect(running.informer.hasSynced).toBe(true);
    expect(running.informer.resourceVersion).toBe("5");
    stream.send(added(configMap("c", 6)), modified(configMap("a", 7)), deleted(configMap("b", 8)));
    expect(await running.takeNotifications()).toEqual(["add c@6", "update a@1→7", "delete b@8"]);
    expect(running.names.sort()).toEqual(["a", "c"]);
    expect(running.transport.requests).toHaveLength(1);
    const query = Object.fromEntries(running.transport.query(0));
    expect(query).toMatchObject({
      watch: "true",
      sendInitialEvents: "true",
      resourceVersionMatch: "NotOlderThan",
      allowWatchBookmarks: "true",
    });
    expect(Number(query["timeoutSeconds"])).toBeGreaterThanOrEqual(300);
    expect(Number(query["timeoutSeconds"])).toBeLessThan(600);
    expect(query["resourceVersion"]).toBeUndefined();
  });

  test.each([
    ["rejects streaming lists", rejects(422, "Invalid")],
    ["fails at streaming lists", rejects(500, "InternalError")],
    ["sends an invalid stream", { status: 200, body: "nonsense\n" }],
    ["ends the stream before it is complete", new ScriptedStream(added(configMap("x", 1))).end()],
    ["interrupts the stream before it is complete", new ScriptedStream(added(configMap("x", 1))).cut()],
    ["sends an error in the stream", new ScriptedStream({ type: "ERROR", object: status(500, "InternalError") })],
  ] satisfies [string, Reply][])("is a LIST followed by a watch if the server %s", async (_what, reply) => {
    const watch = new ScriptedStream();
    await using running = new RunningInformer([reply, list(5, configMap("a", 1)), watch]);
    expect(await running.takeNotifications()).toEqual(["add a@1 (initial)"]);
    watch.send(added(configMap("b", 6)));
    expect(await running.takeNotifications()).toEqual(["add b@6"]);
    expect(running.transport.asked[1]).toBe("GET /api/v1/configmaps?limit=500");
    expect(running.transport.query(2).get("resourceVersion")).toBe("5");
    expect(running.transport.query(2).has("sendInitialEvents")).toBe(false);
    expect(running.errors).toHaveLength(1);
  });

  test("falls back to a LIST if a streaming list ends without its final bookmark", async () => {
    const stream = new ScriptedStream(added(configMap("a", 1)));
    await using running = new RunningInformer([stream, list(5, configMap("a", 1))]);
    await running.world.advance(20_000);
    stream.send(added(configMap("b", 2)));
    await running.world.advance(29_000);
    expect(running.transport.requests).toHaveLength(1);
    expect(await running.takeNotifications(2_000)).toEqual(["add a@1 (initial)"]);
    expect(stream.isClosed).toBe(true);
  });

  test("is retried with growing waits while connections are refused", async () => {
    await using running = new RunningInformer(Array.from({ length: 100 }, () => ({ failure: "refused" })));
    const gaps: number[] = [];
    let last = running.world.clock.monotonic();
    for (let count = 1; count < 9;) {
      await running.world.advance(100);
      if (running.transport.requests.length === count) continue;
      count = running.transport.requests.length;
      gaps.push(running.world.clock.monotonic() - last);
      last = running.world.clock.monotonic();
    }
    const least = [800, 1_600, 3_200, 6_400, 12_800, 25_600, 30_000, 30_000];
    gaps.forEach((gap, index) => {
      expect(gap).toBeGreaterThanOrEqual(least[index]! - 100);
      expect(gap).toBeLessThanOrEqual(2 * least[index]! + 100);
    });
  });

  test("omits objects that are deleted before the list is complete", async () => {
    const stream = new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)), deleted(configMap("a", 3)));
    stream.send(modified(configMap("b", 4)), initialEnd(5));
    await using running = new RunningInformer([stream]);
    expect(await running.takeNotifications()).toEqual(["add b@4 (initial)"]);
  });

  test("uses the selectors of the informer", async () => {
    await using running = new RunningInformer([], {
      namespace: "default",
      labelSelector: "a=b",
      fieldSelector: "metadata.name=x",
    });
    await running.world.advance(0);
    expect(running.transport.asked[0]).toContain(
      "GET /api/v1/namespaces/default/configmaps?watch=true&labelSelector=a=b&fieldSelector=metadata.name=x&",
    );
  });
});

/** A synced informer at resourceVersion 5, with a@1 and b@2 in its cache. The test controls its first watch. */
async function synced(...replies: Reply[]): Promise<RunningInformer & { readonly stream: ScriptedStream }> {
  const stream = new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)), initialEnd(5));
  const running = new RunningInformer([stream, ...replies]);
  await running.takeNotifications();
  return Object.assign(running, { stream });
}

describe("a watch that ends", () => {
  test("is followed by a watch from the resourceVersion of the last event", async () => {
    const next = new ScriptedStream();
    await using running = await synced(next);
    running.stream.send(added(configMap("c", 6)));
    running.stream.end();
    await running.takeNotifications();
    expect(running.transport.query(1).get("resourceVersion")).toBe("6");
    next.send(added(configMap("d", 7)));
    expect(await running.takeNotifications()).toEqual(["add d@7"]);
    expect(running.errors).toEqual([]);
  });

  test("is followed by a watch from the resourceVersion of the last bookmark", async () => {
    await using running = await synced();
    running.stream.send(bookmark(17));
    running.stream.end();
    await running.takeNotifications();
    expect(running.transport.query(1).get("resourceVersion")).toBe("17");
  });

  test("at once and without an event is followed by a pause", async () => {
    await using running = await synced(new ScriptedStream().end());
    running.stream.send(bookmark(6));
    running.stream.end();
    await running.takeNotifications();
    expect(running.transport.requests).toHaveLength(2);
    await running.world.advance(700);
    expect(running.transport.requests).toHaveLength(2);
    await running.world.advance(WAIT_MS);
    expect(running.transport.requests).toHaveLength(3);
    expect(running.transport.query(2).get("resourceVersion")).toBe("6");
  });

  test.each([
    ["a broken connection", { failure: "reset" }],
    ["a refused connection", { failure: "refused" }],
    ["an overloaded server", rejects(429, "TooManyRequests")],
    ["a server that is not ready", rejects(503, "ServiceUnavailable")],
  ] satisfies [string, Reply][])(
    "because of %s is resumed at the same resourceVersion, after a pause and without a new list",
    async (_what, reply) => {
      const next = new ScriptedStream();
      await using running = await synced(reply, next);
      running.stream.cut();
      expect(await running.takeNotifications(3 * WAIT_MS)).toEqual([]);
      next.send(added(configMap("c", 6)));
      expect(await running.takeNotifications()).toEqual(["add c@6"]);
      expect(running.transport.query(2).get("resourceVersion")).toBe("5");
      expect(running.transport.query(2).has("sendInitialEvents")).toBe(false);
    },
  );

  test("after a long time without failures is resumed after the minimum wait", async () => {
    const failures = Array.from({ length: 5 }, (): Reply => ({ failure: "reset" }));
    const lasting = new ScriptedStream();
    await using running = await synced(...failures, lasting, new ScriptedStream());
    running.stream.cut();
    await running.takeNotifications(120_000);
    expect(running.transport.requests).toHaveLength(7);
    await running.takeNotifications(121_000);
    lasting.cut();
    await running.takeNotifications(WAIT_MS);
    expect(running.transport.requests).toHaveLength(8);
  });

  test("in the middle of an event is resumed before that event", async () => {
    await using running = await synced(new ScriptedStream(added(configMap("c", 6))));
    running.stream.sendText('{"type":"ADDED","object":{"metadata":{"resourceVersion":"6"');
    running.stream.cut();
    expect(await running.takeNotifications(WAIT_MS)).toEqual(["add c@6"]);
    expect(running.transport.query(1).get("resourceVersion")).toBe("5");
  });

  test("later than its timeout and grace period is closed and replaced by the informer", async () => {
    await using running = await synced();
    await running.world.advance(700_000);
    expect(running.stream.isClosed).toBe(true);
    expect(running.transport.requests).toHaveLength(2);
    expect(running.errors).toMatchObject([{ failure: "timeout" }]);
  });
});

describe("after a watch has failed", () => {
  const again = (): ScriptedStream =>
    new ScriptedStream(added(configMap("b", 7)), added(configMap("c", 8)), initialEnd(9));

  test.each([
    ["410 for the watch", (stream: ScriptedStream) => stream.cut(), [rejects(410, "Expired")]],
    ["Gone for the watch, as from old servers", (stream: ScriptedStream) => stream.cut(), [rejects(410, "Gone")]],
    ["a 410 event", (stream: ScriptedStream) => stream.send({ type: "ERROR", object: status(410, "Expired") }), []],
    ["504 for a future version", (stream: ScriptedStream) => stream.cut(), [tooLarge]],
  ] as [string, (stream: ScriptedStream) => void, Reply[]][])(
    "with %s, the informer lists without a resourceVersion, and handlers receive the differences",
    async (_what, end, replies) => {
      await using running = await synced(...replies, again());
      end(running.stream);
      expect(await running.takeNotifications(4 * WAIT_MS)).toEqual(["delete a@1 (unknown)", "update b@2→7", "add c@8"]);
      expect(running.transport.query(-1).has("resourceVersion")).toBe(false);
      expect(running.transport.query(-1).get("sendInitialEvents")).toBe("true");
      expect(running.informer.resourceVersion).toBe("9");
      expect(running.informer.hasSynced).toBe(true);
    },
  );

  test("with 410, the informer lists again, and the list after the next failure uses the resourceVersion of that list", async () => {
    const second = again();
    await using running = await synced(second, again());
    running.stream.send({ type: "ERROR", object: status(410, "Expired") });
    await running.takeNotifications(WAIT_MS);
    const broken = running.transport.requests.length;
    expect(running.transport.query(broken - 1).has("resourceVersion")).toBe(false);
    second.send({ type: "ERROR", object: status(500, "InternalError") });
    await running.takeNotifications(2 * WAIT_MS);
    expect(running.transport.query(broken).get("resourceVersion")).toBe("9");
  });

  test("unchanged objects in the new list cause no notification", async () => {
    await using running = await synced(
      new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)), initialEnd(9)),
    );
    running.stream.send({ type: "ERROR", object: status(410, "Expired") });
    expect(await running.takeNotifications(WAIT_MS)).toEqual([]);
  });

  test("another object with the same name is reported as a deletion and an addition", async () => {
    await using running = await synced(
      new ScriptedStream(added(configMap("a", 7, { uid: "other" })), added(configMap("b", 2)), initialEnd(9)),
    );
    running.stream.send({ type: "ERROR", object: status(410, "Expired") });
    expect(await running.takeNotifications(WAIT_MS)).toEqual(["delete a@1 (unknown)", "add a@7"]);
  });

  test("with another error, the informer lists at its own resourceVersion, so that the list is not older than its cache", async () => {
    await using running = await synced(again());
    running.stream.send({ type: "ERROR", object: status(500, "InternalError") });
    expect(await running.takeNotifications(WAIT_MS)).toHaveLength(3);
    expect(running.transport.query(1).get("resourceVersion")).toBe("5");
    expect(running.transport.query(1).get("sendInitialEvents")).toBe("true");
  });

  test.each([
    ["410", rejects(410, "Expired")],
    ["504", tooLarge],
  ])(
    "a streaming list whose resourceVersion is rejected with %s is repeated without a resourceVersion",
    async (_code, rejected) => {
      await using running = await synced(rejected, again());
      running.stream.send({ type: "ERROR", object: status(500, "InternalError") });
      expect(await running.takeNotifications(WAIT_MS)).toHaveLength(3);
      expect(running.transport.query(1).get("resourceVersion")).toBe("5");
      expect(running.transport.query(2).has("resourceVersion")).toBe(false);
    },
  );

  test("a LIST whose resourceVersion is rejected is repeated without a resourceVersion", async () => {
    const unsupported = rejects(422, "Invalid");
    await using running = await synced(unsupported, rejects(410, "Expired"), list(9, configMap("b", 2)));
    running.stream.send({ type: "ERROR", object: status(500, "InternalError") });
    expect(await running.takeNotifications(WAIT_MS)).toEqual(["delete a@1 (unknown)"]);
    expect(running.transport.asked.slice(2, 4)).toEqual([
      "GET /api/v1/configmaps?resourceVersion=5",
      "GET /api/v1/configmaps?limit=500",
    ]);
  });
});

describe("handlers", () => {
  test("an error of a handler is reported, and the handler receives the next notification", async () => {
    const stream = new ScriptedStream(initialEnd(5));
    await using running = new RunningInformer([stream]);
    const received: string[] = [];
    running.informer.addHandler({
      onAdd: ({ metadata }) => {
        received.push(metadata?.name ?? "");
        throw new Error("handler");
      },
    });
    stream.send(added(configMap("a", 6)), added(configMap("b", 7)));
    expect(await running.takeNotifications()).toEqual(["add a@6", "add b@7"]);
    expect(received).toEqual(["a", "b"]);
    expect(running.errors).toMatchObject([{ message: "handler" }, { message: "handler" }]);
  });

  test("the informer continues if onError throws", async () => {
    const stream = new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)), initialEnd(5));
    const fail = (): never => {
      throw new Error("again");
    };
    await using running = new RunningInformer([{ failure: "refused" }, stream], { onError: fail });
    const reported: string[] = [];
    running.informer.addHandler({ onAdd: ({ metadata }) => (reported.push(metadata?.name ?? ""), fail()) });
    expect(await running.takeNotifications(WAIT_MS)).toHaveLength(2);
    expect(reported).toEqual(["a", "b"]);
  });

  test("calls of a handler do not overlap, and a slow handler does not delay another", async () => {
    const stream = new ScriptedStream(initialEnd(5));
    await using running = new RunningInformer([stream]);
    const order: string[] = [];
    running.informer.addHandler({
      async onAdd({ metadata }) {
        order.push(`begin ${metadata?.name}`);
        await new Promise<void>((resolve) => running.world.clock.after(1_000, resolve));
        order.push(`end ${metadata?.name}`);
      },
    });
    stream.send(added(configMap("a", 6)), added(configMap("b", 7)));
    expect(await running.takeNotifications()).toHaveLength(2);
    expect(order).toEqual(["begin a"]);
    await running.world.advance(3_000);
    expect(order).toEqual(["begin a", "end a", "begin b", "end b"]);
  });

  test("a handler that is added later first receives all existing objects", async () => {
    await using running = await synced();
    const reported: string[] = [];
    const registration = running.informer.addHandler(recorder(reported));
    running.stream.send(modified(configMap("a", 6)));
    expect(registration.hasSynced).toBe(false);
    await running.world.advance(0);
    expect(registration.hasSynced).toBe(true);
    expect(reported).toEqual(["add a@1 (initial)", "add b@2 (initial)", "update a@1→6"]);
  });

  test("a handler that removes itself receives no further notifications", async () => {
    await using running = await synced();
    const reported: string[] = [];
    const registration = running.informer.addHandler({
      async onAdd({ metadata }) {
        reported.push(metadata?.name ?? "");
        await Promise.resolve();
        void registration.remove();
      },
    });
    await running.takeNotifications();
    expect(reported).toEqual(["a"]);
  });

  test("a removed handler receives no further notifications", async () => {
    await using running = await synced();
    const reported: string[] = [];
    const registration = running.informer.addHandler(recorder(reported));
    await running.world.advance(0);
    await registration.remove();
    running.stream.send(modified(configMap("a", 6)));
    expect(await running.takeNotifications()).toEqual(["update a@1→6"]);
    expect(reported).toHaveLength(2);
  });

  test("a handler with too long a backlog makes the informer stop reading its watch, while other handlers receive their notifications", async () => {
    await using running = await synced();
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let updates = 0;
    running.informer.addHandler({
      async onUpdate() {
        updates++;
        await gate;
      },
    });
    const events = HANDLER_BACKLOG + 100;
    for (let index = 0; index < events; index++) running.stream.send(modified(configMap("a", 6 + index)));
    const known = await running.takeNotifications();
    expect(known.length).toBeGreaterThan(HANDLER_BACKLOG - 10);
    expect(known.length).toBeLessThan(events);
    expect(updates).toBe(1);
    release();
    expect(known.length + (await running.takeNotifications()).length).toBe(events);
    expect(updates).toBe(events);
  });
});

describe("resync", () => {
  test("notifies handlers of all objects as updates, once per period", async () => {
    const stream = new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)), initialEnd(5));
    await using running = new RunningInformer([stream], { resyncMs: 60_000 });
    await running.takeNotifications();
    expect(await running.takeNotifications(61_000)).toEqual(["update a@1→1", "update b@2→2"]);
    stream.send(deleted(configMap("a", 6)));
    expect(await running.takeNotifications(60_000)).toEqual(["delete a@6", "update b@2→2"]);
  });

  test("skips a handler that still has pending notifications", async () => {
    const stream = new ScriptedStream(added(configMap("a", 1)), initialEnd(5));
    await using running = new RunningInformer([stream], { resyncMs: 1_000 });
    let calls = 0;
    const busy = new Promise<void>((resolve) => running.world.clock.after(10_500, resolve));
    running.informer.addHandler({ onAdd: () => busy, onUpdate: () => void calls++ });
    await running.world.advance(10_900);
    expect(calls).toBe(0);
    await running.world.advance(1_000);
    expect(calls).toBe(1);
  });
});

describe("the cache", () => {
  test("finds current objects by key and by index", async () => {
    const stream = new ScriptedStream(
      added(configMap("a", 1, { data: { team: "x" } })),
      added(configMap("b", 2, { data: { team: "x" } })),
      initialEnd(5),
    );
    const teams = (object: object): string[] => Object.values((object as { data?: Record<string, string> }).data ?? {});
    await using running = new RunningInformer([stream], { indexes: { team: teams } });
    const { informer } = running;
    const team = (name: string): (string | undefined)[] =>
      informer.byIndex("team", name).map(({ metadata }) => metadata?.name);
    await running.takeNotifications();
    expect(team("x")).toEqual(["a", "b"]);
    expect(informer.get({ namespace: "default", name: "a" })).toEqual(configMap("a", 1, { data: { team: "x" } }));
    expect(informer.get({ namespace: "other", name: "a" })).toBeUndefined();
    stream.send(modified(configMap("a", 6, { data: { team: "y" } })), deleted(configMap("b", 7)));
    await running.takeNotifications();
    expect([team("x"), team("y"), team("constructor")]).toEqual([[], ["a"], []]);
    expect(() => informer.byIndex("nope", "x")).toThrow("unknown index");
  });

  test("omits an object from an index if the index function throws for it, and keeps the others", async () => {
    const indexes = {
      odd: ({ metadata }: { metadata?: { name?: string } }): string[] => {
        if (metadata?.name === "a") throw new Error("index");
        return ["yes"];
      },
    };
    await using running = new RunningInformer(
      [new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)), initialEnd(5))],
      { indexes },
    );
    expect(await running.takeNotifications()).toHaveLength(2);
    expect(running.informer.byIndex("odd", "yes")).toHaveLength(1);
    expect(running.errors).toMatchObject([{ message: "index" }]);
  });
});

describe("start and end", () => {
  test("waitForSync resolves when the cache is complete", async () => {
    const stream = new ScriptedStream(added(configMap("a", 1)));
    await using running = new RunningInformer([stream]);
    let isSynced: boolean | undefined;
    void running.informer.waitForSync(new AbortController().signal).then((value) => {
      isSynced = value;
    });
    await running.takeNotifications();
    expect(isSynced).toBeUndefined();
    stream.send(initialEnd(5));
    await running.takeNotifications();
    expect(isSynced).toBe(true);
    expect(await running.informer.waitForSync()).toBe(true);
  });

  test("waitForSync resolves to false if the caller or the informer stops", async () => {
    const running = new RunningInformer([]);
    const giveUp = new AbortController();
    const waiting = running.informer.waitForSync(giveUp.signal);
    giveUp.abort();
    expect(await waiting).toBe(false);
    expect(await running.informer.waitForSync(giveUp.signal)).toBe(false);
    const other = running.informer.waitForSync();
    await running.stop();
    expect(await other).toBe(false);
  });

  test("a stopped informer closes its watch, calls no handler, and has no pending timer", async () => {
    await using running = await synced();
    const late: string[] = [];
    running.stream.send(added(configMap("c", 6)));
    await running.stop();
    running.informer.addHandler(recorder(late));
    expect(running.stream.isClosed).toBe(true);
    expect(await running.takeNotifications(3_600_000)).toEqual([]);
    expect(late).toEqual([]);
    expect(running.transport.requests).toHaveLength(1);
  });

  test("an informer cannot run twice at the same time", async () => {
    await using running = await synced();
    await expect(running.informer.run(new AbortController().signal)).rejects.toThrow("twice at the same time");
  });

  test("a stopped informer that runs again notifies its handlers of the changes in between, and of nothing twice", async () => {
    const second = new ScriptedStream(added(configMap("b", 7)), added(configMap("c", 8)), initialEnd(9));
    await using running = await synced(second);
    const before = running.names;
    expect(before).toEqual(["a", "b"]);
    await running.stop();
    const late: string[] = [];
    running.informer.addHandler(recorder(late));
    expect(await running.takeNotifications()).toEqual([]);
    const stop = new AbortController();
    const again = running.informer.run(stop.signal);
    expect(running.transport.query(1).get("sendInitialEvents")).toBe("true");
    expect(await running.takeNotifications()).toEqual(["delete a@1 (unknown)", "update b@2→7", "add c@8"]);
    expect(late.slice(0, 2)).toEqual(["add a@1 (initial)", "add b@2 (initial)"]);
    expect(late.slice(2)).toEqual(["delete a@1 (unknown)", "update b@2→7", "add c@8"]);
    second.send(modified(configMap("c", 10)));
    expect(await running.takeNotifications()).toEqual(["update c@8→10"]);
    stop.abort();
    await again;
  });

  test("a notification that a handler has not received when the informer stops is delivered in the next run", async () => {
    const second = new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)), initialEnd(9));
    await using running = await synced(second);
    const seen: string[] = [];
    const busy = Promise.withResolvers<void>();
    running.informer.addHandler({
      async onAdd({ metadata }) {
        seen.push(metadata!.name!);
        if (metadata!.name === "a") await busy.promise;
      },
    });
    await running.takeNotifications();
    expect(seen).toEqual(["a"]);
    const stopping = running.stop();
    busy.resolve();
    await stopping;
    expect(seen).toEqual(["a"]);
    const stop = new AbortController();
    const again = running.informer.run(stop.signal);
    await running.takeNotifications();
    expect(seen).toEqual(["a", "b"]);
    stop.abort();
    await again;
  });

  test("waitForSync waits for the next run after a run that has ended before its list was complete", async () => {
    const running = new RunningInformer([
      new ScriptedStream(),
      new ScriptedStream(added(configMap("a", 1)), initialEnd(5)),
    ]);
    await running.takeNotifications();
    await running.stop();
    const waiting = running.informer.waitForSync();
    const stop = new AbortController();
    const again = running.informer.run(stop.signal);
    await running.world.advance(0);
    expect(await waiting).toBe(true);
    stop.abort();
    await again;
  });
});

test("an informer whose store begins another history lists without a resourceVersion, and reports every object again", async () => {
  const before = new ScriptedStream(added(configMap("a", 5)), added(configMap("b", 7)), initialEnd(9));
  const after = new ScriptedStream(added(configMap("a", 5)), initialEnd(6));
  await using running = new RunningInformer([before, after]);
  expect(await running.takeNotifications()).toEqual(["add a@5 (initial)", "add b@7 (initial)"]);
  expect(running.informer.isOfCurrentHistory).toBe(true);
  running.epochs.advance("test");
  expect(running.informer.isOfCurrentHistory).toBe(false);
  expect(running.epochs.outdatedCopies).toBe(1);
  expect(await running.takeNotifications(WAIT_MS)).toEqual(["delete b@7 (unknown)", "update a@5→5"]);
  expect(running.informer.resourceVersion).toBe("6");
  expect(running.epochs.outdatedCopies).toBe(0);
  expect(running.transport.requests.at(-1)?.target).not.toMatch(/resourceVersion=\d/);
});

test("an informer lists at once when its store begins another history, however often that happens and even during a wait", async () => {
  const streams = Array.from({ length: 8 }, () => new ScriptedStream(added(configMap("a", 5)), initialEnd(6)));
  const failure = rejects(500, "InternalError");
  await using running = new RunningInformer([failure, failure, ...streams]);
  await running.takeNotifications();
  expect(running.informer.hasSynced).toBe(false);
  for (let change = 1; change <= 8; change++) {
    running.epochs.advance("test");
    await running.takeNotifications();
    expect(running.epochs.outdatedCopies).toBe(0);
  }
});
