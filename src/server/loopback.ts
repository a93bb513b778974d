/** The loopback client: the server calls itself through the same chain as every client, with full access. */
import type { BaseEnv } from "../base/env.ts";
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

/** User agent, and so field manager, of the server's own writes, as in kube-apiserver. */
const USER_AGENT = "kube-apiserver";

/**
 * Exists before the chain is built, because parts of the server need the client; requests fail until `connect` is
 * called.
 */
export class Loopback {
  /** Identifies the server's own requests: code outside the process cannot refer to this object. */
  readonly connection: ConnectionInfo = { protocol: "in-process", remoteAddress: "loopback", clientChain: [] };
  readonly transport: Transport;
  readonly client: Client;
  /** Receives only the metadata of objects. */
  readonly metadata: Client;
  readonly #handle: Handler<ApiRequest>;
  #chain: Handler<ApiRequest> = () => Promise.reject(new Error("the server is still starting"));

  constructor({ clock, random }: BaseEnv) {
    this.#handle = (request) => this.#chain(request);
    const transport = createInProcessTransport(this.#handle, this.connection);
    const client = (headers: Record<string, string>): Client =>
      createClient({ transport, clock, random, userAgent: USER_AGENT, defaults: { retriesMax: 0, headers } });
    this.transport = transport;
    this.client = client({});
    this.metadata = client({ accept: METADATA_ACCEPT });
  }

  connect(chain: Handler<ApiRequest>): void {
    this.#chain = chain;
  }

  readonly isLoopback = ({ connection }: ApiRequest): boolean => connection === this.connection;

  readonly call = (request: InProcessRequest): Promise<InProcessResponse> =>
    callInProcess(this.#handle, { ...request, connection: this.connection });

  /** As `call`, with the server's user agent. */
  readonly callAsServer = (request: InProcessRequest): Promise<InProcessResponse> =>
    this.call({ ...request, headers: { "user-agent": USER_AGENT, ...request.headers } });
}
