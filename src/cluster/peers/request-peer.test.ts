import { upstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { expect, test } from "vitest";
import type { WholeResponse } from "../../serving/http/own-request.ts";
import type { ResponseBody, StreamSink } from "../../serving/http/message.ts";
import { UpstreamError, type UpstreamRequest } from "../../serving/http/upstream.ts";
import { World } from "../../tools/simulator/world.ts";
import { createRequestPeer } from "./request-peer.ts";
import { FakeUpstream, type Respond } from "../../../test/testing/cluster/peers/fake-upstream.ts";

const ADDRESS = { host: "127.0.0.1", port: 1 };

function ask(world: World, response: Respond, signal = new AbortController().signal): Promise<WholeResponse> {
  const asking = createRequestPeer({ upstream: new FakeUpstream(response), clock: world.clock });
  const headers = ["Accept", "x"];
  return asking({ address: ADDRESS, target: "/livez", headers, timeoutMs: 1_000, bytesMax: 10, signal });
}

/** A call that never responds, and rejects when it is aborted, as every upstream does. */
function hanging({ signal }: UpstreamRequest): Promise<never> {
  return new Promise((_, reject) => {
    const giveUp = (): void => reject(new UpstreamError("aborted", "the request was aborted", { isSent: true }));
    if (signal.aborted) giveUp();
    signal.addEventListener("abort", giveUp);
  });
}

function streaming(open: (sink: StreamSink) => void): Respond {
  const body: ResponseBody = { kind: "stream", open };
  return () => ({ status: 200, headers: [], body });
}

const piece = (text: string): { bytes: Buffer } => ({ bytes: Buffer.from(text) });

test("a server sends the request as system:apiserver and reads the whole response", async () => {
  const world = new World({ seed: 1 });
  let sent: UpstreamRequest | undefined;
  const response = await ask(world, (request) => {
    sent = request;
    return upstreamResponse(200, ["ETag", "e"], "ok");
  });
  expect([response.status, response.body.toString(), response.header("etag")]).toEqual([200, "ok", "e"]);
  expect(sent).toMatchObject({ address: ADDRESS, method: "GET", target: "/livez", body: undefined });
  expect(sent?.headers.slice(0, 6)).toEqual([
    "X-Remote-User",
    "system:apiserver",
    "X-Remote-Uid",
    "system:apiserver",
    "X-Remote-Group",
    "system:authenticated",
  ]);
  expect(sent?.headers.slice(-2)).toEqual(["Accept", "x"]);
  await expect(world.run(new Promise(() => {}))).rejects.toThrow("no event is left");
});

test("the chunks of a streamed response are joined, and an empty response is empty", async () => {
  const world = new World({ seed: 1 });
  const response = await ask(
    world,
    streaming((sink) => {
      sink.write(piece("ab"));
      sink.write(piece("cd"));
      sink.end();
    }),
  );
  expect(response.body.toString()).toBe("abcd");
  expect((await ask(world, () => ({ status: 204, headers: [], body: { kind: "none" } }))).body).toHaveLength(0);
});

test("a response that is truncated, or that switches protocols although no upgrade was requested, is an error", async () => {
  const world = new World({ seed: 1 });
  const broken = streaming((sink) => {
    sink.write(piece("ab"));
    sink.abort();
  });
  await expect(ask(world, broken)).rejects.toMatchObject({ failure: "reset" });
  const opened: unknown[] = [];
  const upgrade: ResponseBody = { kind: "upgrade", open: (socket) => void opened.push(socket) };
  const upgraded = ask(world, () => ({ status: 101, headers: [], body: upgrade }));
  await expect(upgraded).rejects.toMatchObject({ failure: "malformed" });
  expect(opened).toEqual([undefined]);
});

test("a response longer than the limit is aborted, and a listener for the close of its stream is called even if it is added later", async () => {
  const world = new World({ seed: 1 });
  const reported: string[] = [];
  await expect(ask(world, () => upstreamResponse(200, [], "x".repeat(11)))).rejects.toMatchObject({
    failure: "malformed",
  });
  const listensFirst = streaming((sink) => {
    sink.onClose(() => void reported.push("first"));
    sink.write(piece("x".repeat(11)));
  });
  await expect(ask(world, listensFirst)).rejects.toThrow("longer than 10 bytes");
  const listensLast = streaming((sink) => {
    sink.write(piece("x".repeat(11)));
    sink.onClose(() => void reported.push("last"));
  });
  await expect(ask(world, listensLast)).rejects.toThrow("longer than 10 bytes");
  expect(reported).toEqual(["first", "last"]);
});

test("a request to a peer that hangs ends after its timeout, or when the caller aborts", async () => {
  const world = new World({ seed: 1 });
  await expect(world.run(ask(world, hanging))).rejects.toMatchObject({ failure: "timeout" });
  expect(world.clock.monotonic()).toBe(1_000);
  const stop = new AbortController();
  const asking = ask(world, hanging, stop.signal);
  stop.abort();
  await expect(asking).rejects.toMatchObject({ failure: "aborted" });
  await expect(ask(world, hanging, AbortSignal.abort())).rejects.toMatchObject({ failure: "aborted" });
  expect(world.clock.monotonic()).toBe(1_000);
});
