/**
 * Sends requests to other servers over pooled HTTP/1.1 connections with TLS. The pool owns every connection that it has
 * opened (idle, busy or upgraded) until the connection is closed. The most recently used connection is reused first, so
 * that the extra connections of a burst become idle and are closed. The pool neither retries nor queues: if no
 * connection is idle, it opens a new one.
 */
import {
  authorityOf,
  type UpstreamAddress,
  UpstreamError,
  type UpstreamMessage,
  type UpstreamResponse,
} from "../../upstream.ts";
import { UpstreamConnection } from "./connection.ts";
import { SecureContexts, type ClientCertificate } from "./credentials.ts";
import { connectFailure, type Dial, directDial, reasonOf, secure } from "./dial.ts";
import { SentExchange } from "./exchange.ts";
import { requestHead } from "./request-head.ts";
import type { ResponseHead } from "./response-head.ts";
import type { PoolLimits } from "./upstream-limits.ts";

interface PoolOptions {
  /** Opens connections; undefined for direct TCP. */
  readonly dial: Dial | undefined;
  readonly log: (message: string, detail?: object) => void;
  readonly limits: PoolLimits;
}

/** The server that a connection must reach, its trusted CAs, and the client certificate of this server. */
export interface PoolTarget {
  /** Targets with the same key share connections. */
  readonly key: string;
  /** The name for which the server's certificate must be valid. */
  readonly serverName: string;
  /**
   * PEM of the CAs that may have signed the server's certificate. If undefined, these are the CAs that the system
   * trusts.
   */
  readonly ca: string | undefined;
  readonly insecureSkipTlsVerify: boolean;
  /**
   * The client certificate. If it is another object than for the last request, connections made with the earlier one
   * are closed when they become idle.
   */
  readonly certificate: ClientCertificate | undefined;
}

/** All connections to one target. */
interface TargetConnections {
  target: PoolTarget;
  readonly address: UpstreamAddress;
  readonly authority: string;
  /** The idle connections; the most recently used one is the last. */
  readonly idle: UpstreamConnection[];
  readonly open: Set<UpstreamConnection>;
  readonly opening: Set<AbortController>;
}

/** Time before the keep-alive timeout that the server has announced, in which a connection is no longer used. */
const SERVER_CLOSES_MARGIN_MS = 1_000;

export class ConnectionPool {
  readonly #log: PoolOptions["log"];
  readonly #limits: PoolLimits;
  readonly #dial: Dial;
  readonly #contexts = new SecureContexts();
  readonly #places = new Map<string, TargetConnections>();
  #total = 0;
  #sweepTimer: NodeJS.Timeout | undefined;
  /** Set by `close`, and called when the last connection has closed. */
  #onEmpty: (() => void) | undefined;

  constructor({ dial, log, limits }: PoolOptions) {
    this.#log = log;
    this.#limits = limits;
    this.#dial = dial ?? directDial(limits.tcpKeepAliveMs);
  }

  /** Sends the request. `targetOf` is called once, with the address as in the Host header. */
  send(
    request: UpstreamMessage,
    address: UpstreamAddress,
    targetOf: (authority: string) => PoolTarget,
  ): Promise<UpstreamResponse> {
    return new Promise((resolve, reject) => {
      if (this.#onEmpty !== undefined) throw unsent("connect", "connections to other servers are closed");
      const authority = authorityOf(address);
      const head = requestHead(request, authority);
      const place = this.#placeOf(targetOf(authority), address, authority);
      const release = (connection: UpstreamConnection, response: ResponseHead): void =>
        this.#release(place, connection, response);
      const exchange = new SentExchange({ request, authority, head, resolve, reject, release });
      if (exchange.isOver) return;
      const idle = request.isUpgrade ? undefined : takeIdle(place);
      if (idle === undefined) void this.#connect(place, exchange);
      else exchange.start(idle);
    });
  }

  /** Closes the idle connections of the target with this key. */
  retire(key: string): void {
    const place = this.#places.get(key);
    if (place !== undefined) retire(place, () => true);
  }

  /** Breaks off all requests to the target with this key. */
  disconnect(key: string): void {
    const place = this.#places.get(key);
    if (place !== undefined) emptyPlace(place, `all requests to ${place.authority} were broken off`);
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

  #placeOf(target: PoolTarget, address: UpstreamAddress, authority: string): TargetConnections {
    const known = this.#places.get(target.key);
    if (known === undefined) return { target, address, authority, idle: [], open: new Set(), opening: new Set() };
    const isRenewed = known.target.certificate !== target.certificate;
    known.target = target;
    if (isRenewed) retire(known, ({ certificate }) => certificate !== target.certificate);
    return known;
  }

  #release(place: TargetConnections, connection: UpstreamConnection, { reusableMs }: ResponseHead): void {
    const { idle, target } = place;
    const { idleTimeoutMs, idlePerTargetMax } = this.#limits;
    const idleMs = Math.min(idleTimeoutMs, (reusableMs ?? Infinity) - SERVER_CLOSES_MARGIN_MS);
    const isKept =
      connection.isUsable &&
      connection.certificate === target.certificate &&
      idle.length < idlePerTargetMax &&
      idleMs > 0;
    if (!isKept) return connection.destroy();
    connection.idleUntilMs = performance.now() + idleMs;
    idle.push(connection);
    // A slow reader may have left the socket paused. A paused socket would not notice that the server closes it.
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

  /** Opens a connection for the exchange. Never rejects: failures are reported to the exchange. */
  async #connect(place: TargetConnections, exchange: SentExchange): Promise<void> {
    const opening = new AbortController();
    this.#places.set(place.target.key, place);
    place.opening.add(opening);
    this.#total++;
    exchange.whileConnecting((reason) => opening.abort(reason));
    try {
      if (this.#total > this.#limits.connectionsMax && !this.#evictIdle()) {
        throw unsent(
          "exhausted",
          `the limit of ${this.#limits.connectionsMax} connections to other servers is reached`,
        );
      }
      const connection = await this.#open(place, opening);
      place.open.add(connection);
      if (exchange.isOver) connection.destroy();
      else exchange.start(connection);
    } catch (error) {
      exchange.failBeforeConnection(connectFailure(error, place.authority));
      this.#total--;
    } finally {
      place.opening.delete(opening);
      this.#forget(place);
    }
  }

  async #open(place: TargetConnections, opening: AbortController): Promise<UpstreamConnection> {
    const { serverName, ca, insecureSkipTlsVerify, certificate } = place.target;
    const context = this.#contexts.get(ca, certificate);
    const { connectTimeoutMs } = this.#limits;
    const timer = setTimeout(() => {
      const message = `no connection to ${place.authority} within ${connectTimeoutMs} ms`;
      opening.abort(new UpstreamError("timeout", message, { isSent: false, timeoutMs: connectTimeoutMs }));
    }, connectTimeoutMs);
    try {
      const raw = await dialed(this.#dial, place.address, opening.signal);
      const socket = await secure(raw, { context, serverName, insecureSkipTlsVerify }, opening.signal);
      const onClose = (connection: UpstreamConnection): void => this.#onClose(place, connection);
      return new UpstreamConnection({ socket, certificate, onClose, log: this.#log });
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

  #onClose(place: TargetConnections, connection: UpstreamConnection): void {
    place.open.delete(connection);
    const index = place.idle.indexOf(connection);
    if (index >= 0) place.idle.splice(index, 1);
    this.#total--;
    this.#forget(place);
  }

  #forget(place: TargetConnections): void {
    const isLeft = place.open.size === 0 && place.opening.size === 0;
    const { key } = place.target;
    if (isLeft && this.#places.get(key) === place) this.#places.delete(key);
    if (this.#total === 0) this.#onEmpty?.();
  }
}

function takeIdle({ idle }: TargetConnections): UpstreamConnection | undefined {
  for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
    if (connection.isUsable && performance.now() < connection.idleUntilMs) return connection;
    connection.destroy();
  }
  return undefined;
}

/** Rejects when the signal aborts, even if the dialer ignores the signal. */
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

function emptyPlace(place: TargetConnections, reason: string): void {
  for (const opening of [...place.opening]) opening.abort(unsent("reset", reason));
  place.idle.length = 0;
  for (const connection of [...place.open]) connection.destroy(new Error(reason));
}

function retire(place: TargetConnections, isOld: (connection: UpstreamConnection) => boolean): void {
  const old = place.idle.filter(isOld);
  if (old.length === 0) return;
  const kept = place.idle.filter((connection) => !old.includes(connection));
  place.idle.splice(0, place.idle.length, ...kept);
  for (const connection of old) connection.destroy();
}

function unsent(failure: "connect" | "exhausted" | "reset", message: string): UpstreamError {
  return new UpstreamError(failure, message, { isSent: false });
}
