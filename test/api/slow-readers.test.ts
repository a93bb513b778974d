import { expect, test } from "vitest";
import type { StreamFrame, StreamSink } from "../../src/serving/http/message.ts";
import { EMPTY_BODY } from "../../src/serving/http/request-body.ts";
import { openWatches } from "./own-records.ts";
import { CONFIG_MAPS, configMap, startServer, type Json, type TestServer } from "./start.ts";

/** A client that reads one frame, and then another with each call of `readOn`. */
class SlowReader implements StreamSink {
  readonly events: Json[] = [];
  isEnded = false;
  #drained: () => void = () => {};
  #closed: () => void = () => {};

  write(frame: StreamFrame): boolean {
    this.events.push(JSON.parse(frame.bytes.toString("utf8")));
    return false;
  }

  readOn(): void {
    this.#drained();
  }

  bufferedBytes(): number {
    return 0;
  }

  onDrain(callback: () => void): void {
    this.#drained = callback;
  }

  onClose(callback: () => void): void {
    this.#closed = callback;
  }

  end(): void {
    this.isEnded = true;
    this.#closed();
  }

  abort(): void {
    this.end();
  }
}

async function watchSlowly(api: TestServer, rawQuery: string): Promise<SlowReader> {
  const response = await api.world.run(
    api.server.handle({
      method: "GET",
      path: CONFIG_MAPS,
      rawQuery,
      headers: { authorization: "Bearer t" },
      body: EMPTY_BODY,
      connection: { protocol: "in-process", remoteAddress: "test", clientChain: [] },
      signal: new AbortController().signal,
    }),
  );
  const reader = new SlowReader();
  if (response.body.kind === "stream") response.body.open(reader);
  return reader;
}

const TOKEN = { tokenFile: "t,user,uid\n" };

test("a slow reader is sent no more events than it reads, and misses none when it continues", async () => {
  await using api = await startServer(TOKEN);
  for (const name of ["a", "b"]) await api.create(CONFIG_MAPS, configMap(name));
  const reader = await watchSlowly(api, "watch=true");
  await api.create(CONFIG_MAPS, configMap("c"));
  await api.create(CONFIG_MAPS, configMap("d"));
  expect(reader.events).toHaveLength(1);
  for (let turn = 0; turn < 10; turn++) reader.readOn();
  expect(reader.events.map(({ type, object }) => `${type} ${object.metadata.name}`)).toEqual([
    "ADDED a",
    "ADDED b",
    "ADDED c",
    "ADDED d",
  ]);
});

test("a reader that falls behind the watch history gets 410 and delays no other reader", async () => {
  await using api = await startServer(TOKEN);
  const slow = await watchSlowly(api, "watch=true");
  const quick = await api.watch(`${CONFIG_MAPS}?watch=true`);
  for (let index = 0; index < 150; index++) await api.create(CONFIG_MAPS, configMap(`c${index}`));
  await api.world.advance(6 * 60_000);
  await api.create(CONFIG_MAPS, configMap("last"));
  expect(await quick.events()).toHaveLength(151);
  for (let turn = 0; turn < 3; turn++) slow.readOn();
  expect(slow.events.at(-1)).toMatchObject({ type: "ERROR", object: { code: 410, reason: "Expired" } });
  expect(slow.isEnded).toBe(true);
});

test("a watch of a disconnected client is closed", async () => {
  await using api = await startServer(TOKEN);
  const reader = await watchSlowly(api, "watch=true");
  expect(await openWatches(api)).toBe(1);
  reader.abort();
  expect(await openWatches(api)).toBe(0);
  await api.create(CONFIG_MAPS, configMap("a"));
  expect(reader.events).toEqual([]);
});
