/**
 * Requests to other servers over pooled HTTP/1.1 connections with TLS on both sides. Owns every connection it has made,
 * idle, busy or upgraded, until that is closed. The connection used last is used again first, so that what a burst has
 * opened grows old and goes. Nothing is retried and nothing is queued: a request without an idle connection gets a new one.
 */
import { type Upstream, type UpstreamAddress, UpstreamError, type UpstreamRequest } from "../../upstream.ts";
import { Connection } from "./connection.ts";
import { Credentials, type UpstreamTls } from "./credentials.ts";
import { connectFailure, type Dial, directDial, reasonOf, secure } from "./dial.ts";
import { Exchange } from "./exchange.ts";
import { UPSTREAM_LIMITS, type UpstreamLimits } from "./limits.ts";
import { authorityOf, requestHead } from "./request-head.ts";
import type { ResponseHead } from "./response-head.ts";

export interface UpstreamOptions {
  /**
   * Asked before every request, so it must be quick. As long as it returns the same object its connections are used
   * again; from another one on, connections made with the older are closed once they are idle.
   */
  readonly tls: () => UpstreamTls;
  /** The name every server must prove to have, whatever its address. */
  readonly serverName: string;
  /** Direct TCP unless given. */
  readonly dial?: Dial;
  readonly log: (message: string, detail?: object) => void;
  readonly limits?: Partial<UpstreamLimits>;
}

export function createUpstream(options: UpstreamOptions): Upstream {
  const pool = new Pool(options);
  return {
    send: (request) => pool.send(request),
    retire: (address) => pool.retire(address),
    disconnect: (address) => pool.disconnect(address),
    close: () => pool.close(),
  };
}

/** All there is of one address. */
interface Place {
  readonly address: UpstreamAddress;
  readonly authority: string;
  /** The one used last at the end. */
  readonly idle: Connection[];
  readonly open: Set<Connection>;
  readonly opening: Set<AbortController>;
}

/** A server that announces how long it keeps connections gets no request in the last moment of it. */
const SERVER_CLOSES_MARGIN_MS = 1_000;

class Pool {
  readonly #options: UpstreamOptions;
  readonly #limits: UpstreamLimits;
  readonly #credentials: Credentials;
  readonly #dial: Dial;
  readonly #places = new Map<string, Place>();
  #total = 0;
  #sweepTimer: NodeJS.Timeout | undefined;
  #latest: UpstreamTls | undefined;
  /** Set from `close` on; called when the last connection has gone. */
  #onEmpty: (() => void) | undefined;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#limits = { ...UPSTREAM_LIMITS, ...options.limits };
    this.#credentials = new Credentials(options.tls);
    this.#dial = options.dial ?? directDial(this.#limits.tcpKeepAliveMs);
  }

  send(request: UpstreamRequest): ReturnType<Upstream["send"]> {
    return new Promise((resolve, reject) => {
      if (this.#onEmpty !== undefined) throw unsent("connect", "connections to other servers are closed");
      const authority = authorityOf(request.address);
      const head = requestHead(request, authority);
      const tls = this.#currentTls();
      const release = (connection: Connection, answer: ResponseHead): void =>
        this.#release(authority, connection, answer);
      const exchange = new Exchange({ request, authority, head, resolve, reject, release });
      if (exchange.isOver) return;
      const idle = request.isUpgrade ? undefined : this.#takeIdle(authority);
      if (idle === undefined) void this.#connect(this.#placeOf(request.address, authority), exchange, tls);
      else exchange.start(idle);
    });
  }

  retire(address: UpstreamAddress): void {
    const place = this.#places.get(authorityOf(address));
    if (place !== undefined) retire(place, () => true);
  }

  disconnect(address: UpstreamAddress): void {
    const place = this.#places.get(authorityOf(address));
    if (place !== undefined) emptyPlace(place, `the connections to ${place.authority} were given up`);
  }

  close(): Promise<void> {
    clearTimeout(this.#sweepTimer);
    const closed = new Promise<void>((resolve) => {
      const before = this.#onEmpty;
      this.#onEmpty = () => {
        before?.();
        resolve();
      };
    });
    for (const place of this.#places.values()) emptyPlace(place, "connections to other servers are closed");
    if (this.#total === 0) this.#onEmpty?.();
    return closed;
  }

  #currentTls(): UpstreamTls {
    const tls = this.#credentials.current();
    if (tls !== this.#latest) {
      this.#latest = tls;
      for (const place of this.#places.values()) retire(place, (connection) => connection.credentials !== tls);
    }
    return tls;
  }

  #placeOf(address: UpstreamAddress, authority: string): Place {
    let place = this.#places.get(authority);
    if (place === undefined) {
      place = { address, authority, idle: [], open: new Set(), opening: new Set() };
      this.#places.set(authority, place);
    }
    return place;
  }

  #takeIdle(authority: string): Connection | undefined {
    const idle = this.#places.get(authority)?.idle;
    if (idle === undefined) return undefined;
    for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
      if (connection.isUsable && performance.now() < connection.idleUntilMs) return connection;
      connection.destroy();
    }
    return undefined;
  }

  #release(authority: string, connection: Connection, { reusableMs }: ResponseHead): void {
    const idle = this.#places.get(authority)?.idle;
    const { idleTimeoutMs, idlePerAddressMax } = this.#limits;
    const idleMs = Math.min(idleTimeoutMs, (reusableMs ?? Infinity) - SERVER_CLOSES_MARGIN_MS);
    const isKept =
      idle !== undefined &&
      connection.isUsable &&
      connection.credentials === this.#latest &&
      idle.length < idlePerAddressMax &&
      idleMs > 0;
    if (!isKept) return connection.destroy();
    connection.idleUntilMs = performance.now() + idleMs;
    idle.push(connection);
    // A reader that was slow at the end has left it paused, and then nobody would see the server close.
    if (connection.socket.isPaused()) connection.socket.resume();
    this.#sweepTimer ??= setTimeout(() => this.#sweep(), idleTimeoutMs / 8).unref();
  }

  #sweep(): void {
    this.#sweepTimer = undefined;
    const now = performance.now();
    let isAnyIdle = false;
    for (const place of this.#places.values()) {
      retire(place, (connection) => connection.idleUntilMs <= now);
      isAnyIdle ||= place.idle.length > 0;
    }
    if (isAnyIdle) this.#sweepTimer = setTimeout(() => this.#sweep(), this.#limits.idleTimeoutMs / 8).unref();
  }

  /** Never rejects: what fails here, the exchange is told. */
  async #connect(place: Place, exchange: Exchange, tls: UpstreamTls): Promise<void> {
    const opening = new AbortController();
    place.opening.add(opening);
    this.#total++;
    exchange.whileConnecting((reason) => opening.abort(reason));
    try {
      if (this.#total > this.#limits.connectionsMax && !this.#evictIdle()) {
        throw unsent("exhausted", `there are ${this.#limits.connectionsMax} connections to other servers already`);
      }
      const connection = await this.#open(place, tls, opening);
      place.open.add(connection);
      if (exchange.isOver) connection.destroy();
      else exchange.start(connection);
    } catch (error) {
      exchange.refuse(connectFailure(error, place.authority));
      this.#total--;
    } finally {
      place.opening.delete(opening);
      this.#forget(place);
    }
  }

  async #open(place: Place, tls: UpstreamTls, opening: AbortController): Promise<Connection> {
    const context = this.#credentials.contextOf(tls);
    const { serverName, log } = this.#options;
    const { connectTimeoutMs } = this.#limits;
    const timer = setTimeout(() => {
      opening.abort(unsent("timeout", `no connection to ${place.authority} within ${connectTimeoutMs} ms`));
    }, connectTimeoutMs);
    try {
      const raw = await dialed(this.#dial, place.address, opening.signal);
      const socket = await secure(raw, { context, serverName }, opening.signal);
      const onClose = (connection: Connection): void => this.#onClose(place, connection);
      return new Connection({ socket, credentials: tls, onClose, log });
    } finally {
      clearTimeout(timer);
    }
  }

  #evictIdle(): boolean {
    for (const place of this.#places.values()) {
      const oldest = place.idle.shift();
      if (oldest === undefined) continue;
      oldest.destroy();
      return true;
    }
    return false;
  }

  #onClose(place: Place, connection: Connection): void {
    place.open.delete(connection);
    const index = place.idle.indexOf(connection);
    if (index >= 0) place.idle.splice(index, 1);
    this.#total--;
    this.#forget(place);
  }

  #forget(place: Place): void {
    const isLeft = place.open.size === 0 && place.opening.size === 0;
    if (isLeft && this.#places.get(place.authority) === place) this.#places.delete(place.authority);
    if (this.#total === 0) this.#onEmpty?.();
  }
}

/** A dialer that does not heed the signal must not hold up the caller. */
async function dialed(dial: Dial, address: UpstreamAddress, signal: AbortSignal): ReturnType<Dial> {
  signal.throwIfAborted();
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener("abort", () => reject(reasonOf(signal)), { once: true });
  });
  const dialing = dial(address, signal);
  dialing.then(
    (raw) => void (signal.aborted && raw.destroy()),
    () => undefined,
  );
  return Promise.race([dialing, aborted]);
}

function emptyPlace(place: Place, reason: string): void {
  for (const opening of [...place.opening]) opening.abort(unsent("reset", reason));
  place.idle.length = 0;
  for (const connection of [...place.open]) connection.destroy(new Error(reason));
}

function retire(place: Place, isOld: (connection: Connection) => boolean): void {
  const old = place.idle.filter(isOld);
  if (old.length === 0) return;
  const kept = place.idle.filter((connection) => !old.includes(connection));
  place.idle.splice(0, place.idle.length, ...kept);
  for (const connection of old) connection.destroy();
}

function unsent(failure: "connect" | "exhausted" | "reset" | "timeout", message: string): UpstreamError {
  return new UpstreamError(failure, message, { isSent: false });
}
