/** The network between simulated servers: listeners, injected faults, and the requests that cross it. */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import {
  authorityOf,
  UpstreamError,
  type Upstream,
  type UpstreamAddress,
  type UpstreamRequest,
} from "../../serving/http/upstream.ts";
import { SimulatedExchange, type Fate, type NetworkNode } from "./exchange.ts";
import type { Host } from "./host.ts";
import { Links } from "./links.ts";
import type { PeerCertificate } from "./peer-certificate.ts";

export interface FaultRates {
  readonly requestLost: number;
  readonly responseLost: number;
  readonly cut: number;
}

export const NO_FAULTS: FaultRates = { requestLost: 0, responseLost: 0, cut: 0 };

/** A client's request that one server proxies to another. */
export interface ProxiedRequest {
  readonly auditId: string;
  readonly from: string;
  readonly to: string;
  readonly method: string;
  readonly target: string;
}

export interface NetworkOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly certificate: PeerCertificate;
  readonly onHop: (hop: ProxiedRequest) => void;
  /** A planted bug: replaces a request or its address before it is sent. */
  readonly tamper?: (request: UpstreamRequest, from: string) => UpstreamRequest;
}

interface Listener {
  readonly name: string;
  node: NetworkNode | undefined;
}

export class Network {
  readonly links: Links;
  rates: FaultRates = NO_FAULTS;
  readonly #options: NetworkOptions;
  readonly #listeners = new Map<string, Listener>();

  constructor(options: NetworkOptions) {
    this.#options = options;
    this.links = new Links(options);
  }

  /** Sets the server that listens at an address; with undefined, no server listens. */
  listen(address: UpstreamAddress, name: string, node: NetworkNode | undefined): void {
    this.#listeners.set(authorityOf(address), { name, node });
  }

  openUpstream(from: { readonly name: string; readonly host: Host; readonly ip: string }): Upstream {
    const open = new Map<SimulatedExchange, string>();
    let isClosed = false;
    const breakAll = (reason: string, authority?: string): void => {
      for (const [exchange, to] of [...open]) {
        if (authority === undefined || to === authority) exchange.break(reason);
      }
    };
    from.host.onDeath(() => breakAll("the caller crashed"));
    return {
      send: (request) =>
        new Promise((resolve, reject) => {
          if (isClosed)
            throw new UpstreamError("connect", "connections to other servers are closed", { isSent: false });
          const sent = this.#options.tamper?.(request, from.name) ?? request;
          const authority = authorityOf(sent.address);
          const exchange = new SimulatedExchange({
            ...this.#route(sent, from.name),
            links: this.links,
            random: this.#options.random,
            certificate: this.#options.certificate,
            from,
            request: sent,
            fate: this.#drawFate(),
            onOver: () => open.delete(exchange),
            resolve,
            reject,
          });
          open.set(exchange, authority);
          exchange.begin().catch(reject);
        }),
      // Nothing to do, because every request has its own connection.
      retire: () => {},
      disconnect: (address) => breakAll("the connections were dropped", authorityOf(address)),
      close() {
        isClosed = true;
        breakAll("connections to other servers are closed");
        return Promise.resolve();
      },
    };
  }

  #route(
    { address, method, target, headers }: UpstreamRequest,
    from: string,
  ): { readonly toName: string; readonly find: () => NetworkNode | undefined } {
    const authority = authorityOf(address);
    const toName = this.#listeners.get(authority)?.name ?? authority;
    const auditId = headerOf(headers, "audit-id");
    const find = (): NetworkNode | undefined => {
      const { node } = this.#listeners.get(authority) ?? {};
      const isThere = node !== undefined && node.host.state !== "dead";
      // Requests that a server sends on its own behalf have no audit ID and do not count as hops.
      if (isThere && auditId !== undefined) this.#options.onHop({ auditId, from, to: toName, method, target });
      return isThere ? node : undefined;
    };
    return { toName, find };
  }

  #drawFate(): Fate {
    const { requestLost, responseLost, cut } = this.rates;
    const drawn = this.#options.random.float();
    if (drawn < requestLost) return "request-lost";
    if (drawn < requestLost + responseLost) return "response-lost";
    return drawn < requestLost + responseLost + cut ? "cut" : "arrives";
  }
}

export function headerOf(headers: readonly string[], wanted: string): string | undefined {
  for (let index = 0; index + 1 < headers.length; index += 2) {
    if (headers[index]?.toLowerCase() === wanted) return headers[index + 1];
  }
  return undefined;
}
