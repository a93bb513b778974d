/**
 * Breaks connections at many positions, and checks that each response is either complete and correct or reported as
 * broken.
 */
import type { TLSSocket } from "node:tls";

import { describe, expect, test } from "vitest";

import { UpstreamError, type UpstreamAddress } from "../../upstream.ts";
import {
  type Broken,
  breakingWire,
  getRequest,
  ok,
  onRequest,
  type Outcome,
  outcomeOf,
  rawServer,
  testCertificates,
  testUpstream,
} from "../../../../../test/testing/serving/http/node/test-upstream.ts";

const CERTIFICATES = testCertificates();
const SMALL = "s".repeat(300);
const LARGE = "l".repeat(70_000);
const CHUNKS = ["first event\n", "c".repeat(40_000), "last event\n"];

/** For each path the bytes that the server sends, and the expected body. */
const ANSWERS: Readonly<Record<string, { readonly wire: string; readonly body: string }>> = {
  "/small": { wire: ok(SMALL), body: SMALL },
  "/large": { wire: ok(LARGE), body: LARGE },
  "/chunked": {
    wire: `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n${CHUNKS.map(chunk).join("")}0\r\n\r\n`,
    body: CHUNKS.join(""),
  },
};

/**
 * Numbers of bytes after which the connection breaks. The handshake and small responses are within the first few
 * thousand bytes.
 */
const PLACES = [...range(1, 2_600, 61), ...range(2_600, 8_000, 499), ...range(8_000, 76_000, 9_973)];

describe("a connection that breaks", () => {
  for (const how of ["fin", "reset", "stall"] as const) {
    for (const [path, { body }] of Object.entries(ANSWERS)) {
      test(`never makes a truncated response for ${path} look complete (${how})`, async () => {
        await using server = await rawServer(CERTIFICATES, onRequest(answerAll));
        const seen = new Set<string>();
        for (const afterBytes of PLACES) {
          const result = await sendOverBreakingWire(server.address, { path, from: "server", how, afterBytes });
          seen.add(result instanceof UpstreamError ? `rejected, sent: ${result.isSent}` : result.kind);
          if (!(result instanceof UpstreamError) && result.kind === "complete") expect(result.body).toBe(body);
          else if (!(result instanceof UpstreamError)) expect(body.startsWith(result.body)).toBe(true);
        }
        expect(seen).toContain("rejected, sent: false");
        expect(seen).toContain("rejected, sent: true");
        if (path !== "/small" && how !== "stall") expect(seen).toContain("aborted");
      });
    }

    test(`never reports a request that the server has received as not sent (${how})`, async () => {
      let requests = 0;
      await using server = await rawServer(
        CERTIFICATES,
        onRequest((socket, head) => {
          requests++;
          answerAll(socket, head);
        }),
      );
      for (const from of ["client", "server"] as const) {
        for (const afterBytes of range(1, 2_600, 61)) {
          requests = 0;
          const result = await sendOverBreakingWire(server.address, { path: "/small", from, how, afterBytes });
          if (result instanceof UpstreamError && !result.isSent) expect(requests).toBe(0);
        }
      }
    });
  }

  test("while it is idle does not affect later requests", async () => {
    await using server = await rawServer(CERTIFICATES, onRequest(answerAll));
    let isCut = true;
    await using upstream = testUpstream(CERTIFICATES.tls);
    server.connections.length = 0;
    const first = await upstream.send(getRequest(server.address, { target: "/small" }));
    expect(await outcomeOf(first)).toMatchObject({ kind: "complete" });
    const [idle] = server.connections;
    idle!.destroy();
    while (isCut) {
      // Until the end of the idle connection has arrived, a request may use it. Such a request fails and is reported as
      // sent.
      const result = await upstream
        .send(getRequest(server.address, { target: "/small" }))
        .catch((error: unknown) => error);
      isCut = result instanceof UpstreamError;
      if (isCut) expect(result).toMatchObject({ failure: "reset", isSent: true });
    }
    expect(server.connections).toHaveLength(2);
  });

  test("while a request body is being sent stops the reading of the body", async () => {
    await using server = await rawServer(CERTIFICATES, (socket) => {
      socket.once("data", () => socket.destroy());
    });
    await using upstream = testUpstream(CERTIFICATES.tls);
    const returned = Promise.withResolvers<void>();
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) yield Buffer.alloc(64 * 1024);
      } finally {
        returned.resolve();
      }
    }
    const sent = upstream.send(getRequest(server.address, { method: "POST", body: endless() }));
    await expect(sent).rejects.toMatchObject({ failure: "reset", isSent: true });
    await returned.promise;
  });

  test("before the handshake is complete reports the request as not sent", async () => {
    for (const how of ["fin", "reset"] as const) {
      await using server = await rawServer(CERTIFICATES, () => undefined);
      const result = await sendOverBreakingWire(server.address, { path: "/small", from: "server", how, afterBytes: 1 });
      expect(result).toMatchObject({ isSent: false });
    }
  });

  test("during a silent stream aborts the stream", async () => {
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket) => socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")),
    );
    await using upstream = testUpstream(CERTIFICATES.tls);
    for (const act of [(socket: TLSSocket) => socket.end(), (socket: TLSSocket) => socket.destroy()]) {
      const outcome = outcomeOf(await upstream.send(getRequest(server.address)));
      act(server.connections.at(-1)!);
      expect(await outcome).toMatchObject({ kind: "aborted" });
    }
  });
});

function answerAll(socket: TLSSocket, head: string): void {
  socket.write(ANSWERS[head.split(" ")[1]!]!.wire);
}

interface Fault {
  readonly path: string;
  readonly from: "client" | "server";
  readonly how: Broken;
  readonly afterBytes: number;
}

/**
 * Sends a request over a TCP proxy that breaks the connection. If the connection stalls, the request is aborted,
 * whether or not the response has arrived.
 */
async function sendOverBreakingWire(to: UpstreamAddress, fault: Fault): Promise<Outcome | UpstreamError> {
  const controller = new AbortController();
  const onBroken = (): void => void (fault.how === "stall" && afterTurns(5, () => controller.abort()));
  await using wire = await breakingWire(to, { ...fault, onBroken });
  await using upstream = testUpstream(CERTIFICATES.tls);
  const request = getRequest(wire.address, { target: fault.path, signal: controller.signal });
  try {
    return await outcomeOf(await upstream.send(request));
  } catch (error) {
    if (error instanceof UpstreamError) return error;
    throw error;
  }
}

function afterTurns(turns: number, act: () => void): void {
  if (turns === 0) act();
  else setImmediate(() => afterTurns(turns - 1, act));
}

function chunk(text: string): string {
  return `${text.length.toString(16)}\r\n${text}\r\n`;
}

function range(from: number, to: number, step: number): number[] {
  return Array.from({ length: Math.ceil((to - from) / step) }, (_, index) => from + index * step);
}
