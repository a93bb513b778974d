/** Requests of an inspection to a test server in the same process. */
import { createClient } from "../../../../src/client/client.ts";
import type { ClientRequest, Transport } from "../../../../src/client/transport.ts";
import { ApiRequests } from "../../../../src/tools/upgrade/api/api-requests.ts";
import type { TestServer } from "../../../api/start.ts";
import { realClock } from "../../real-clock.ts";

export interface FakedResponse {
  readonly status: number;
  readonly text: string;
}

/** `fake` replaces the response of the server if it returns one. */
export function apiOf(
  server: TestServer,
  fake: (request: ClientRequest) => FakedResponse | undefined = () => undefined,
): ApiRequests {
  const transport: Transport = {
    send: async (request) => {
      const { method, target, headers } = request;
      const faked = fake(request);
      const { status, text } = faked ?? (await server.call(method, target, undefined, { headers: { ...headers } }));
      return { status, headers: {}, body: once(text) };
    },
  };
  const random = { float: () => 0.5, bytes: (length: number) => new Uint8Array(length) };
  const client = createClient({ transport, clock: realClock(), random, defaults: { retriesMax: 0 } });
  return new ApiRequests(client, "https://cluster.example", new AbortController().signal);
}

async function* once(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
