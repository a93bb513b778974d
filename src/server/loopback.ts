/**
 * The loopback client, with which the server calls itself through the same handler chain as every client, with full
 * access.
 */
import type { BaseEnv } from "../base/env.ts";
import type { StoreEpoch } from "../base/store-epoch.ts";
import { createClient, type Client } from "../client/client.ts";
import {
  callInProcess,
  createInProcessTransport,
  type InProcessRequest,
  type InProcessResponse,
} from "../client/in-process.ts";
import type { Transport } from "../client/transport.ts";
import type { CommitCondition } from "../meta/commit-condition.ts";
import type { Handler } from "../serving/http/chain.ts";
import type { ApiRequest, ConnectionInfo } from "../serving/http/message.ts";

/** User agent of the server's own writes, and therefore their field manager, as in kube-apiserver. */
const USER_AGENT = "kube-apiserver";

interface LoopbackClients {
  readonly client: Client;
  /** A client that requests only the metadata of objects. */
  readonly metadata: Client;
}

/**
 * Created before the handler chain, because parts of the chain need the client. Requests fail until `connect` is
 * called.
 */
export class Loopback implements LoopbackClients {
  /** Marks the server's own requests. It is compared by identity, so code outside the process cannot forge it. */
  readonly connection: ConnectionInfo = { protocol: "in-process", remoteAddress: "loopback", clientChain: [] };
  readonly transport: Transport;
  readonly client: Client;
  readonly metadata: Client;
  readonly #handle: Handler<ApiRequest>;
  readonly #env: BaseEnv;
  readonly #epoch: StoreEpoch;
  #chain: Handler<ApiRequest> = () => Promise.reject(new Error("the server is still starting"));

  constructor(env: BaseEnv, epoch: StoreEpoch) {
    this.#handle = (request) => this.#chain(request);
    this.#env = env;
    this.#epoch = epoch;
    this.transport = createInProcessTransport(this.#handle, { connection: this.connection, sharesEvents: true });
    const { client, metadata } = this.#clients(this.transport);
    this.client = client;
    this.metadata = metadata;
  }

  connect(chain: Handler<ApiRequest>): void {
    this.#chain = chain;
  }

  /**
   * Clients whose writes are committed only under the condition that holds when the request is sent. `wrap` changes how
   * they send requests.
   */
  clientsUnder(
    conditionOf: () => CommitCondition | undefined,
    wrap: (transport: Transport) => Transport = (transport) => transport,
  ): LoopbackClients {
    const { connection } = this;
    return this.#clients(wrap(createInProcessTransport(this.#handle, { connection, conditionOf, sharesEvents: true })));
  }

  #clients(transport: Transport): LoopbackClients {
    const { clock, random } = this.#env;
    const shared = { transport, clock, random, epoch: this.#epoch, userAgent: USER_AGENT };
    const client = (representation: "object" | "metadata"): Client =>
      createClient({ ...shared, defaults: { retriesMax: 0, representation } });
    return { client: client("object"), metadata: client("metadata") };
  }

  readonly isLoopback = ({ connection }: ApiRequest): boolean => connection === this.connection;

  readonly call = (request: InProcessRequest): Promise<InProcessResponse> =>
    callInProcess(this.#handle, { ...request, connection: this.connection });

  /** As `call`, but with the server's user agent. */
  readonly callAsServer = (request: InProcessRequest): Promise<InProcessResponse> =>
    this.call({ ...request, headers: { "user-agent": USER_AGENT, ...request.headers } });
}
