/**
 * An HTTP/2 server on 127.0.0.1 that responds as a test specifies, for failures that a real etcd does not produce on
 * demand.
 */
import { once } from "node:events";
import { type Http2Server, type ServerHttp2Session, type ServerHttp2Stream, createServer } from "node:http2";
import { encodeFrame } from "../../../../src/storage/grpc/frames.ts";
import { METHOD } from "../../../../src/storage/kv-etcd/messages.ts";

export interface FakeServer extends AsyncDisposable {
  readonly endpoint: string;
  /** Paths of the received calls, except those of heartbeats. */
  readonly calls: readonly string[];
  readonly sessions: ReadonlySet<ServerHttp2Session>;
}

/** `body` is the first part of the request, which is all of a small one. */
export type FakeReply = (stream: ServerHttp2Stream, path: string, body: Buffer) => void;

export async function startFakeServer(response: FakeReply): Promise<FakeServer> {
  const calls: string[] = [];
  const sessions = new Set<ServerHttp2Session>();
  const server: Http2Server = createServer();
  server.on("session", (session) => {
    sessions.add(session);
    session.on("error", () => {});
    session.on("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    stream.on("error", () => {});
    const path = headers[":path"] ?? "";
    if (path === METHOD.health)
      return respond(
        stream,
        encodeFrame(0, () => {}),
      );
    calls.push(path);
    stream.resume();
    stream.once("data", (body: Buffer) => response(stream, path, body));
    return undefined;
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    calls,
    sessions,
    [Symbol.asyncDispose]: async () => {
      for (const session of sessions) session.destroy();
      server.close();
      await once(server, "close");
    },
  };
}

export function respond(stream: ServerHttp2Stream, frame: Buffer): void {
  respondWithStatus(stream, { frame, trailers: { "grpc-status": "0" } });
}

export interface StatusResponse {
  readonly frame?: Buffer;
  readonly trailers: Record<string, string>;
}

export function respondWithStatus(stream: ServerHttp2Stream, { frame, trailers }: StatusResponse): void {
  stream.respond({ ":status": 200, "content-type": "application/grpc" }, { waitForTrailers: true });
  stream.on("wantTrailers", () => stream.sendTrailers(trailers));
  stream.end(frame);
}

/** A RangeResponse that contains only the store's revision. */
export function rangeFrame(revision: number): Buffer {
  return encodeFrame(0, (writer) => writer.message(1, (header) => header.int64(3, revision)));
}
