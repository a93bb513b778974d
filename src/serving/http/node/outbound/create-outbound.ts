/**
 * Requests to servers outside of the cluster's own set, over HTTP/1.1 connections with TLS that are kept and shared by
 * equal targets. The connection used last is used again first. Nothing is retried and nothing is queued.
 */
import { createHash } from "node:crypto";
import type { SecureContext } from "node:tls";

import type { Outbound, OutboundRequest, OutboundTarget } from "../../outbound.ts";
import { UpstreamError, type UpstreamResponse } from "../../upstream.ts";
import { Connection } from "../upstream/connection.ts";
import { connectFailure, type Dial, directDial } from "../upstream/dial.ts";
import { Exchange } from "../upstream/exchange.ts";
import { authorityOf, requestHead } from "../upstream/request-head.ts";
import type { ResponseHead } from "../upstream/response-head.ts";
import { contextOf, handshake, type ClientCertificate } from "./handshake.ts";
import { OUTBOUND_LIMITS, type OutboundLimits } from "./limits.ts";

export interface OutboundOptions {
  /**
   * Asked before every request to a target that wants it, so it must be quick. As long as it returns the same object its
   * connections are used again. Undefined: this server has no certificate to show.
   */
  readonly clientCertificate?: () => ClientCertificate | undefined;
  /** Direct TCP unless given. */
  readonly dial?: Dial;
  readonly log: (message: string, detail?: object) => void;
  readonly limits?: Partial<OutboundLimits>;
}

export function createOutbound(options: OutboundOptions): Outbound {
  const pool = new Pool(options);
  return { send: (request) => pool.send(request), close: () => pool.close() };
}

/** All there is of one target while it has connections. */
interface Place {
  readonly key: string;
  readonly target: OutboundTarget;
  readonly certificate: ClientCertificate | undefined;
  readonly authority: string;
  context: SecureContext | undefined;
  /** The one used last at the end. */
  readonly idle: Connection[];
  readonly open: Set<Connection>;
  readonly opening: Set<AbortController>;
}

/** A server that announces how long it keeps connections gets no request in the last moment of it. */
const SERVER_CLOSES_MARGIN_MS = 1_000;

class Pool {
  readonly #options: OutboundOptions;
  readonly #limits: OutboundLimits;
  readonly #dial: Dial;
  readonly #places = new Map<string, Place>();
  readonly #certificateIds = new WeakMap<ClientCertificate, number>();
  #lastCertificateId = 0;
  #total = 0;
  #sweepTimer: NodeJS.Timeout | undefined;
  /** Set from `close` on; called when the last connection has gone. */
  #onEmpty: (() => void) | undefined;

  constructor(options: OutboundOptions) {
    this.#options = options;
    this.#limits = { ...OUTBOUND_LIMITS, ...options.limits };
    this.#dial = options.dial ?? directDial(this.#limits.tcpKeepAliveMs);
  }

  send(request: OutboundRequest): Promise<UpstreamResponse> {
    return new Promise((resolve, reject) => {
      if (this.#onEmpty !== undefined) throw unsent("connect", "connections to other servers are closed");
      const { to, ...rest } = request;
      const asked = { ...rest, address: to.address };
      const place = this.#placeOf(to);
      const { authority } = place;
      const head = requestHead(asked, authority);
      const release = (connection: Connection, answer: ResponseHead): void => this.#release(place, connection, answer);
      const exchange = new Exchange({ request: asked, authority, head, resolve, reject, release });
      if (exchange.isOver) return;
      const idle = request.isUpgrade ? undefined : takeIdle(place);
      if (idle === undefined) void this.#connect(place, exchange);
      else exchange.start(idle);
    });
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

  #placeOf(target: OutboundTarget): Place {
    const certificate = target.presentsClientCertificate ? this.#options.clientCertificate?.() : undefined;
    const key = this.#keyOf(target, certificate);
    const known = this.#places.get(key);
    if (known !== undefined) return known;
    const authority = authorityOf(target.address);
    return {
      ...{ key, target, certificate, authority },
      ...{ context: undefined, idle: [], open: new Set(), opening: new Set() },
    };
  }

  #keyOf(target: OutboundTarget, certificate: ClientCertificate | undefined): string {
    const { address, serverName, caBundle, insecureSkipTlsVerify } = target;
    const ca = caBundle === undefined ? "" : createHash("sha256").update(caBundle).digest("base64url");
    const trust = insecureSkipTlsVerify ? "anybody" : `ca=${ca}`;
    return `${authorityOf(address)} ${serverName} ${trust} ${this.#idOf(certificate)}`;
  }

  #idOf(certificate: ClientCertificate | undefined): number {
    if (certificate === undefined) return 0;
    let id = this.#certificateIds.get(certificate);
    if (id === undefined) this.#certificateIds.set(certificate, (id = ++this.#lastCertificateId));
    return id;
  }

  #release(place: Place, connection: Connection, { reusableMs }: ResponseHead): void {
    const { idleTimeoutMs, idlePerTargetMax } = this.#limits;
    const idleMs = Math.min(idleTimeoutMs, (reusableMs ?? Infinity) - SERVER_CLOSES_MARGIN_MS);
    const isKept = connection.isUsable && place.idle.length < idlePerTargetMax && idleMs > 0;
    if (!isKept) return connection.destroy();
    connection.idleUntilMs = performance.now() + idleMs;
    place.idle.push(connection);
    // A reader that was slow at the end has left it paused, and then nobody would see the server close.
    if (connection.socket.isPaused()) connection.socket.resume();
    this.#sweepTimer ??= setTimeout(() => this.#sweep(), idleTimeoutMs / 8).unref();
  }

  #sweep(): void {
    this.#sweepTimer = undefined;
    const now = performance.now();
    let isAnyIdle = false;
    for (const place of this.#places.values()) {
      const old = place.idle.filter(({ idleUntilMs }) => idleUntilMs <= now);
      for (const connection of old) connection.destroy();
      isAnyIdle ||= place.idle.length > old.length;
    }
    if (isAnyIdle) this.#sweepTimer = setTimeout(() => this.#sweep(), this.#limits.idleTimeoutMs / 8).unref();
  }

  /** Never rejects: what fails here, the exchange is told. */
  async #connect(place: Place, exchange: Exchange): Promise<void> {
    const opening = new AbortController();
    this.#places.set(place.key, place);
    place.opening.add(opening);
    this.#total++;
    exchange.whileConnecting((reason) => opening.abort(reason));
    try {
      if (this.#total > this.#limits.connectionsMax && !this.#evictIdle())
        throw unsent("exhausted", `there are ${this.#limits.connectionsMax} connections to other servers already`);
      const connection = await this.#open(place, opening);
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

  async #open(place: Place, opening: AbortController): Promise<Connection> {
    const { target, authority, certificate } = place;
    const { connectTimeoutMs } = this.#limits;
    const { log } = this.#options;
    const context = (place.context ??= contextOf(target, certificate));
    const timer = setTimeout(() => {
      opening.abort(unsent("timeout", `no connection to ${authority} within ${connectTimeoutMs} ms`));
    }, connectTimeoutMs);
    try {
      const raw = await this.#dial(target.address, opening.signal);
      const socket = await handshake(raw, target, context, opening.signal);
      const onClose = (connection: Connection): void => this.#onClose(place, connection);
      const { cert = "", key = "" } = certificate ?? {};
      return new Connection({ socket, credentials: { ca: target.caBundle ?? "", cert, key }, onClose, log });
    } finally {
      clearTimeout(timer);
    }
  }

  #evictIdle(): boolean {
    for (const { idle } of this.#places.values()) {
      const oldest = idle.shift();
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
    if (isLeft && this.#places.get(place.key) === place) this.#places.delete(place.key);
    if (this.#total === 0) this.#onEmpty?.();
  }
}

function takeIdle({ idle }: Place): Connection | undefined {
  for (let connection = idle.pop(); connection !== undefined; connection = idle.pop()) {
    if (connection.isUsable && performance.now() < connection.idleUntilMs) return connection;
    connection.destroy();
  }
  return undefined;
}

function emptyPlace(place: Place, reason: string): void {
  for (const opening of [...place.opening]) opening.abort(unsent("reset", reason));
  place.idle.length = 0;
  for (const connection of [...place.open]) connection.destroy(new Error(reason));
}

function unsent(failure: "connect" | "exhausted" | "reset" | "timeout", message: string): UpstreamError {
  return new UpstreamError(failure, message, { isSent: false });
}
