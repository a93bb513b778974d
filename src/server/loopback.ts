/** The server's own way in: the same chain as everybody's, with full access. */
import { createClient, type Client } from "../client/client.ts";
import {
  callInProcess,
  createInProcessTransport,
  type InProcessRequest,
  type InProcessResponse,
} from "../client/in-process.ts";
import type { Transport } from "../client/transport.ts";
import { METADATA_ACCEPT } from "../cluster/controllers/garbage-collector/live-objects.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { ApiRequest, ConnectionInfo } from "../serving/http/message.ts";
import type { Env } from "./env.ts";

export interface Loopback {
  /** By this object, which nothing outside can name, its requests are known. */
  readonly connection: ConnectionInfo;
  readonly transport: Transport;
  readonly client: Client;
  /** Is shown nothing of objects but their metadata. */
  readonly metadata: Client;
  readonly call: (request: InProcessRequest) => Promise<InProcessResponse>;
}

/** What the server makes by itself belongs to it by the name clients know. */
const USER_AGENT = "kube-apiserver";

/** `handle` is called later than this: the chain is built of parts that use the loopback. */
export function createLoopback({ clock, random }: Env, handle: Handler<ApiRequest>): Loopback {
  const connection: ConnectionInfo = { protocol: "in-process", remoteAddress: "loopback", clientChain: [] };
  const transport = createInProcessTransport(handle, connection);
  const client = (headers: Record<string, string>): Client =>
    createClient({ transport, clock, random, userAgent: USER_AGENT, defaults: { retriesMax: 0, headers } });
  return {
    connection,
    transport,
    client: client({}),
    metadata: client({ accept: METADATA_ACCEPT }),
    call: (request) => callInProcess(handle, { ...request, connection }),
  };
}

export function asServer(call: Loopback["call"]): Loopback["call"] {
  return (request) => call({ ...request, headers: { "user-agent": USER_AGENT, ...request.headers } });
}
