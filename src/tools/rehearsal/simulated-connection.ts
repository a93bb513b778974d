/** A client's connection to a simulated server: it breaks if the server crashes or the client aborts the request. */
import type { InProcessResponse } from "../../client/in-process.ts";
import { abortedError, TransportError, type ClientRequest, type ClientResponse } from "../../client/transport.ts";
import type { SimulatedServer } from "../simulator/server.ts";
import type { ServerConnection } from "./stage.ts";

export function connectToSimulated(server: SimulatedServer): ServerConnection {
  return { serverId: server.id, send: (request) => send(server, request) };
}

async function send(server: SimulatedServer, request: ClientRequest): Promise<ClientResponse> {
  const { method, target, headers, body, signal } = request;
  const host = server.run?.host;
  if (host === undefined) throw new TransportError("refused", `${server.id} is not listening`);
  const connection = connect(host, signal);
  try {
    const response = await connection.during(
      server.request({ method, target, headers, ...(body && { body: Buffer.from(body) }), ...(signal && { signal }) }),
    );
    const names = Object.entries(response.headers).map(([name, value]) => [name, value?.toString()] as const);
    return { status: response.status, headers: Object.fromEntries(names), body: chunks(response, connection) };
  } catch (thrown) {
    connection.close();
    throw thrown instanceof TransportError ? thrown : new TransportError("reset", String(thrown), { cause: thrown });
  }
}

interface Connection {
  during<T>(work: Promise<T>): Promise<T>;
  close(): void;
}

function connect(host: { onDeath(callback: () => void): () => void }, signal: AbortSignal | undefined): Connection {
  const { promise, reject } = Promise.withResolvers<never>();
  promise.catch(() => {});
  const forget = host.onDeath(() => reject(new TransportError("reset", "the server crashed")));
  const onAbort = (): void => reject(abortedError(signal));
  signal?.addEventListener("abort", onAbort, { once: true });
  return {
    during(work) {
      work.catch(() => {});
      return Promise.race([work, promise]);
    },
    close() {
      forget();
      signal?.removeEventListener("abort", onAbort);
    },
  };
}

async function* chunks(
  response: InProcessResponse,
  connection: Connection,
): AsyncGenerator<Uint8Array, void, undefined> {
  const frames = response.frames();
  try {
    for (;;) {
      const { done, value } = await connection.during(frames.next());
      if (done === true) return;
      yield new TextEncoder().encode(value);
    }
  } finally {
    connection.close();
    // Not awaited, because it does not return while the stream waits for a frame that never arrives.
    void frames.return();
  }
}
