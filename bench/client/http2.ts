/** Sends the requests of the benchmark over HTTP/2, with Node's own client. */
import { connect, type ClientHttp2Session } from "node:http2";
import type { ResponseSummary, Requester } from "./http1.ts";
import type { Endpoint, RequestShape } from "./protocol.ts";
import { numbered } from "./request-bytes.ts";

export async function openHttp2({ port }: Endpoint, token: string): Promise<Requester> {
  const session = await openSession(port);
  return {
    send: (request, number) => exchange(session, { request, number, token }),
    fetch: () => Promise.reject(new Error("fetch needs HTTP/1.1")),
    close: () => session.destroy(),
  };
}

export function openSession(port: number): Promise<ClientHttp2Session> {
  return new Promise((resolve, reject) => {
    const session = connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    session.once("error", reject);
    session.once("connect", () => resolve(session));
  });
}

function exchange(
  session: ClientHttp2Session,
  what: { request: RequestShape; number: number; token: string },
): Promise<ResponseSummary> {
  const { request, number, token } = what;
  return new Promise((resolve, reject) => {
    const stream = session.request({
      ":method": request.method,
      ":path": numbered(request.path, number),
      authorization: `Bearer ${token}`,
      accept: request.accept ?? "application/json",
      "user-agent": "evenkeel-bench",
    });
    let status = 0;
    let bytes = 0;
    stream.on("response", (headers) => {
      status = headers[":status"] ?? 0;
    });
    stream.on("data", (chunk: Buffer) => {
      bytes += chunk.length;
    });
    stream.on("end", () => resolve({ status, bytes }));
    stream.on("error", reject);
    stream.end();
  });
}
