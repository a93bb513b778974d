/**
 * The floor: a plain Node server that returns the same bytes as our server over TLS, without any lookup, parsing or
 * decision. It receives these responses, and the event for watchers, over IPC before the measurements. A write to
 * `/emit` makes it send the event to all watchers.
 */
import { createSecureServer } from "node:http2";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

export interface FloorResponse {
  readonly status: number;
  readonly headers: readonly (readonly [string, string])[];
  /** The bytes of the body, one Latin-1 character per byte. */
  readonly body: string;
}

export type FloorMessage =
  | {
      readonly kind: "start";
      readonly cert: string;
      readonly key: string;
      readonly port: number;
      /** If set, clients must present a certificate of this CA. */
      readonly clientCa?: string;
    }
  | { readonly kind: "answer"; readonly path: string; readonly answer: FloorResponse }
  | { readonly kind: "event"; readonly event: string };

export interface FloorPorts {
  readonly http1: number;
  readonly http2: number;
}

interface Prepared {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

const KEEP_ALIVE_MS = 600_000;
const READY: Prepared = {
  status: 200,
  headers: { "content-type": "text/plain", "content-length": "2" },
  body: Buffer.from("ok"),
};
const responses = new Map<string, Prepared>([
  ["readyz", READY],
  ["emit", READY],
]);
const watching = new Set<ServerResponse>();
let event: Buffer = Buffer.alloc(0);

function onRequest(request: IncomingMessage, response: ServerResponse): void {
  const name = request.url!.split("/", 2)[1]!;
  if (name === "watch") {
    response.writeHead(200, { "content-type": "application/json", "cache-control": "no-cache, private" });
    response.flushHeaders();
    watching.add(response);
    response.on("close", () => watching.delete(response));
    return;
  }
  if (request.method === "GET") return sendResponse(name, response);
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    Buffer.concat(chunks);
    if (name === "emit") for (const watcher of watching) watcher.write(event);
    sendResponse(name, response);
  });
}

function sendResponse(name: string, response: ServerResponse): void {
  const { status, headers, body } = responses.get(name)!;
  response.writeHead(status, headers);
  response.end(body);
}

function start({ cert, key, port, clientCa }: Extract<FloorMessage, { kind: "start" }>): void {
  const clients = clientCa === undefined ? {} : { ca: clientCa, requestCert: true, rejectUnauthorized: true };
  const http1 = createServer({ cert, key, noDelay: true, keepAliveTimeout: KEEP_ALIVE_MS, ...clients }, onRequest);
  const http2 = createSecureServer({ cert, key });
  http2.on("stream", (stream, requestHeaders) => {
    const { status, headers, body } = responses.get(requestHeaders[":path"]!.split("/", 2)[1]!)!;
    stream.respond({ ":status": status, ...headers });
    stream.end(body);
  });
  http2.listen(0, "127.0.0.1", () => {
    http1.listen(port, "127.0.0.1", () => {
      process.send!({
        http1: (http1.address() as AddressInfo).port,
        http2: (http2.address() as AddressInfo).port,
      } satisfies FloorPorts);
    });
  });
}

process.on("message", (message: FloorMessage) => {
  if (message.kind === "start") return start(message);
  if (message.kind === "event") event = Buffer.from(message.event, "latin1");
  else {
    const { status, headers, body } = message.answer;
    responses.set(message.path, { status, headers: Object.fromEntries(headers), body: Buffer.from(body, "latin1") });
  }
  process.send!("done");
});
process.on("disconnect", () => process.exit(0));
