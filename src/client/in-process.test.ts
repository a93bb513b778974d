import { describe, expect, test } from "vitest";
import {
  bytesBody,
  type ApiRequest,
  type ApiResponse,
  type RequestBody,
  type StreamSink,
} from "../serving/http/message.ts";
import { callInProcess, createInProcessTransport } from "./in-process.ts";
import { IN_PROCESS_BUFFER_BYTES } from "./client-limits.ts";
import { collect } from "../../test/testing/client/scripted-transport.ts";
import { readBody, type ClientResponse } from "./transport.ts";

const GET = { method: "GET", target: "/", headers: {} } as const;

/** Requests a stream from a handler; returns the response, and the sink by which the server writes the stream. */
async function openStream(signal?: AbortSignal): Promise<{ response: ClientResponse; sink: Promise<StreamSink> }> {
  const sink = Promise.withResolvers<StreamSink>();
  const transport = createInProcessTransport(async () => streamed((opened) => sink.resolve(opened)));
  const response = await transport.send({ ...GET, ...(signal === undefined ? {} : { signal }) });
  return { response, sink: sink.promise };
}

function streamed(open: (sink: StreamSink) => void): ApiResponse {
  return { status: 200, headers: {}, body: { kind: "stream", open } };
}

describe("requests", () => {
  test("arrive unchanged at the server, and repeated headers of the response are joined", async () => {
    let seen: ApiRequest | undefined;
    const transport = createInProcessTransport(async (request) => {
      seen = request;
      return { status: 201, headers: { warning: ["a", "b"] }, body: bytesBody(Buffer.from("x"), Buffer.from("y")) };
    });
    const body = new TextEncoder().encode("body");
    const response = await transport.send({ method: "POST", target: "/a%20b?c=d?e", headers: { accept: "z" }, body });
    expect(seen).toMatchObject({ method: "POST", path: "/a%20b", rawQuery: "c=d?e", headers: { accept: "z" } });
    expect(seen?.connection.protocol).toBe("in-process");
    expect((await seen!.body.read(4)).toString()).toBe("body");
    await expect(seen!.body.read(3)).rejects.toThrow("too large");
    expect(response.status).toBe(201);
    expect(response.headers["warning"]).toBe("a, b");
    expect(new TextDecoder().decode(await readBody(response.body, 10))).toBe("xy");
  });

  test("have a body that the server can read once, as a whole or in pieces", async () => {
    const bodies: RequestBody[] = [];
    const handle = async ({ body }: ApiRequest): Promise<ApiResponse> => {
      bodies.push(body);
      return { status: 200, headers: {}, body: { kind: "none" } };
    };
    for (const body of ["abc", "abc", undefined])
      await callInProcess(handle, { method: "POST", target: "/", ...(body === undefined ? {} : { body }) });
    const [pieces, read, empty] = bodies as [RequestBody, RequestBody, RequestBody];
    expect([pieces.isEmpty, read.isEmpty, empty.isEmpty]).toEqual([false, false, true]);
    expect(await collect(pieces.stream())).toEqual([Buffer.from("abc")]);
    await expect(pieces.read(10)).rejects.toThrow("only once");
    await read.read(10);
    expect(() => read.stream()).toThrow("only once");
    expect(await collect(empty.stream())).toEqual([]);
  });

  test("that the server upgrades fail, and the server is notified that there is no socket", async () => {
    const opened: unknown[] = [];
    const handle = async (): Promise<ApiResponse> => ({
      status: 101,
      headers: {},
      body: { kind: "upgrade", open: (socket) => void opened.push(socket) },
    });
    const expected = { failure: "malformed", message: expect.stringContaining("needs a socket") as string };
    await expect(createInProcessTransport(handle).send(GET)).rejects.toMatchObject(expected);
    await expect(callInProcess(handle, { method: "GET", target: "/" })).rejects.toMatchObject(expected);
    expect(opened).toEqual([undefined, undefined]);
  });

  test("whose signal aborted before the call are not sent", async () => {
    let calls = 0;
    const transport = createInProcessTransport(async () => {
      calls++;
      return { status: 200, headers: {}, body: { kind: "none" } };
    });
    await expect(transport.send({ ...GET, signal: AbortSignal.abort() })).rejects.toMatchObject({ failure: "aborted" });
    expect(calls).toBe(0);
  });

  test("that are aborted while the server works fail at once, and a stream that the server opens later is closed", async () => {
    const response = Promise.withResolvers<ApiResponse>();
    const closed = Promise.withResolvers<void>();
    const stop = new AbortController();
    let sawAbort = false;
    const transport = createInProcessTransport((request) => {
      request.signal.addEventListener("abort", () => {
        sawAbort = true;
      });
      return response.promise;
    });
    const sending = transport.send({ ...GET, signal: stop.signal });
    stop.abort();
    await expect(sending).rejects.toMatchObject({ failure: "aborted" });
    expect(sawAbort).toBe(true);
    response.resolve(streamed((sink) => sink.onClose(() => closed.resolve())));
    await closed.promise;
  });
});

describe("streams", () => {
  test("a writer has to wait while the reader does not read, and is notified when it may continue", async () => {
    const { response, sink } = await openStream();
    const chunks = response.body[Symbol.asyncIterator]();
    const first = chunks.next();
    const writer = await sink;
    let drains = 0;
    writer.onDrain(() => drains++);
    const half = { bytes: Buffer.alloc(IN_PROCESS_BUFFER_BYTES / 2) };
    expect([writer.write(half), writer.write(half), writer.write(half), writer.write(half)]).toEqual([
      true,
      true,
      false,
      false,
    ]);
    await first;
    expect(drains).toBe(0);
    await chunks.next();
    expect(drains).toBe(1);
    expect(writer.bufferedBytes()).toBe(IN_PROCESS_BUFFER_BYTES);
    await chunks.return?.();
    expect(writer.write(half)).toBe(false);
  });

  test("a stream that the writer ends is complete, and one that the writer aborts fails for the reader", async () => {
    for (const end of ["end", "abort"] as const) {
      const { response, sink } = await openStream();
      const reading = collect(response.body);
      const writer = await sink;
      writer.write({ bytes: Buffer.from("x") });
      writer[end]();
      if (end === "end") expect(await reading).toHaveLength(1);
      else await expect(reading).rejects.toMatchObject({ failure: "reset" });
    }
  });

  test("a stream whose reader aborts is closed, and the writer is notified", async () => {
    const stop = new AbortController();
    const { response, sink } = await openStream(stop.signal);
    const reading = collect(response.body);
    let isClosed = false;
    (await sink).onClose(() => {
      isClosed = true;
    });
    stop.abort();
    await expect(reading).rejects.toMatchObject({ failure: "aborted" });
    expect(isClosed).toBe(true);
  });

  test("the loop over the frames of a stream ends without an error, whether the writer ends or aborts the stream", async () => {
    const response = await callInProcess(
      async () =>
        streamed((sink) => {
          sink.write({ bytes: Buffer.from("x") });
          sink.write({ bytes: Buffer.from("y") });
          sink.end();
        }),
      { method: "GET", target: "/" },
    );
    expect(await collect(response.frames())).toEqual(["x", "y"]);
    const cut = await callInProcess(async () => streamed((sink) => sink.abort()), { method: "GET", target: "/" });
    expect(await cut.text()).toBe("");
  });
});
