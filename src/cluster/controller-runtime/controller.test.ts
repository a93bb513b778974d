import { describe, expect, test } from "vitest";
import { createClient } from "../../client/client.ts";
import type { KubernetesObject } from "../../client/objects.ts";
import {
  added,
  bookmark,
  configMap,
  deleted,
  initialEnd,
  modified,
  ScriptedStream,
  ScriptedTransport,
  CONFIG_MAPS,
} from "../../../test/testing/client/scripted-transport.ts";
import { World } from "../../tools/simulator/world.ts";
import { informerSource, signalSource, type KeySource } from "./controller.ts";

class Running {
  readonly keys: string[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(source: KeySource) {
    this.#running = source.run((key) => void this.keys.push(key), this.#stop.signal);
  }

  news(): string[] {
    return this.keys.splice(0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}

describe("a source from an informer", () => {
  function setUp(toKeys?: (object: KubernetesObject) => Iterable<string>): {
    world: World;
    stream: ScriptedStream;
    source: KeySource;
  } {
    const world = new World({ seed: 1 });
    const stream = new ScriptedStream(added(configMap("a", 1)), added(configMap("b", 2)));
    const transport = new ScriptedTransport(stream);
    const client = createClient({ transport, clock: world.clock, random: world.randomFor("client") });
    return { world, stream, source: informerSource(client.informer(CONFIG_MAPS), toKeys) };
  }

  test("has synced when every existing object has been enqueued", async () => {
    const { world, stream, source } = setUp();
    expect(source.hasSynced).toBe(false);
    await using running = new Running(source);
    await world.advance(0);
    expect(source.hasSynced).toBe(false);
    expect(running.news()).toEqual([]);
    stream.send(initialEnd(3));
    await world.advance(0);
    expect(source.hasSynced).toBe(true);
    expect(running.news()).toEqual(["default/a", "default/b"]);
  });

  test("enqueues the keys of objects that are added, changed (keys of the old and the new state) or deleted", async () => {
    const { world, stream, source } = setUp(({ metadata }) => [metadata!.name!, `v${metadata!.resourceVersion}`]);
    await using running = new Running(source);
    stream.send(initialEnd(3));
    await world.advance(0);
    running.news();
    stream.send(added(configMap("c", 4)), modified(configMap("a", 5)), bookmark(6), deleted(configMap("b", 7)));
    await world.advance(0);
    expect(running.news()).toEqual(["c", "v4", "a", "v1", "a", "v5", "b", "v7"]);
  });

  test("enqueues nothing after it was aborted, and closes its watch", async () => {
    const { world, stream, source } = setUp();
    const running = new Running(source);
    stream.send(initialEnd(3));
    await world.advance(0);
    running.news();
    stream.send(added(configMap("c", 4)));
    await running.stop();
    await world.advance(0);
    expect(running.news()).toEqual([]);
    expect(stream.isClosed).toBe(true);
  });
});

describe("a source from a signal", () => {
  test("enqueues all keys at the start and at each call of the listener, until it is aborted", async () => {
    const listeners = new Set<() => void>();
    const keys = ["a"];
    const source = signalSource(
      (listener) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
      () => keys,
    );
    expect(source.hasSynced).toBe(false);
    const running = new Running(source);
    expect(source.hasSynced).toBe(true);
    expect(running.news()).toEqual(["a"]);
    keys.push("b");
    for (const listener of listeners) listener();
    expect(running.news()).toEqual(["a", "b"]);
    await running.stop();
    expect(listeners.size).toBe(0);
  });

  test("ends at once if it is aborted before it runs", async () => {
    let subscribed = 0;
    const source = signalSource(
      () => {
        subscribed++;
        return () => subscribed--;
      },
      () => [],
    );
    await source.run(() => {}, AbortSignal.abort());
    expect(subscribed).toBe(0);
  });
});
