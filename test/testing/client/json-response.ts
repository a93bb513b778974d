/** A response with a JSON body, for fake transports. */
import type { ClientResponse } from "../../../src/client/transport.ts";

export function jsonResponse(status: number, body: unknown): ClientResponse {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return {
    status,
    headers: {},
    body: (async function* () {
      yield bytes;
    })(),
  };
}
