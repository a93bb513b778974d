import { expect, test } from "vitest";

import type { ApiRequest } from "../message.ts";
import { ok } from "../../../../test/testing/serving/http/node/test-server.ts";
import { ServedExchange } from "./exchange.ts";
import { HTTP_LIMITS } from "./http-limits.ts";
import { StreamFlush } from "./stream-flush.ts";

/** Serves one request with this method, while a frame of a stream is written, and returns the order of events. */
async function serve(method: string, writesFrame: boolean): Promise<string[]> {
  const order: string[] = [];
  const streams = new StreamFlush();
  const exchange = new ServedExchange({
    handle: async () => {
      // Stands for Node, which sends the frame in a callback that it has queued before.
      if (writesFrame) {
        setImmediate(() => order.push("frame sent"));
        streams.written();
      }
      return ok();
    },
    log: () => undefined,
    limits: HTTP_LIMITS,
    streams,
    requestOpened: () => undefined,
    requestClosed: () => undefined,
  });
  const turn = new Promise((resolve) => setImmediate(resolve)).then(() => order.push("next turn"));
  await exchange.respond({ method } as ApiRequest);
  order.push("response");
  await turn;
  return order;
}

test("the response to a write waits until Node has sent the frames of this turn of the event loop", async () => {
  expect(await serve("POST", true)).toEqual(["next turn", "frame sent", "response"]);
});

test("the response to a read, and a response without frames before it, do not wait", async () => {
  expect(await serve("GET", true)).toEqual(["response", "next turn"]);
  expect(await serve("PUT", false)).toEqual(["response", "next turn"]);
});

test("the response to a write waits for one turn only, although streams write frames in each turn", async () => {
  const streams = new StreamFlush();
  let turns = 0;
  let isDone = false;
  const writeInEachTurn = (): void => {
    if (isDone) return;
    streams.written();
    turns++;
    setImmediate(writeInEachTurn);
  };
  writeInEachTurn();
  await streams.flushed;
  isDone = true;
  expect(turns).toBe(1);
});
