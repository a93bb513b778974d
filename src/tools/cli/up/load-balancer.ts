/**
 * A TCP load balancer for all ready servers of `evenkeel up`. It forwards bytes without interpreting them: TLS ends at
 * the servers. A connection stays with its server until either end closes it, even if that server is no longer ready.
 */
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export interface Backend {
  readonly id: string;
  readonly host: string;
  readonly port: number;
}

export interface LoadBalancerOptions {
  readonly host: string;
  readonly port: number;
  /** Called for each backend at every interval. */
  readonly isReady: (backend: Backend) => Promise<boolean>;
  readonly onChange: () => void;
}

export interface LoadBalancerCounts {
  readonly open: number;
  readonly accepted: number;
  /** Number of connections that were closed at once, because no server was ready or too many connections were open. */
  readonly rejected: number;
}

const CHECK_MS = 500;
const CONNECT_MS = 2_000;
const CONNECTIONS_MAX = 10_000;

interface Entry {
  readonly backend: Backend;
  isReady: boolean;
  /** The readiness check that is running, if any. */
  checking: Promise<void> | undefined;
}

/** Rejects with Node's error if the port cannot be opened. */
export function openLoadBalancer(options: LoadBalancerOptions): Promise<LoadBalancer> {
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true, noDelay: true });
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen({ host: options.host, port: options.port }, () => {
      server.off("error", reject);
      server.on("error", () => {});
      resolve(new LoadBalancer(server, options));
    });
  });
}

export class LoadBalancer {
  readonly port: number;
  readonly #server: Server;
  readonly #options: LoadBalancerOptions;
  readonly #sockets = new Set<Socket>();
  readonly #timer: NodeJS.Timeout;
  #entries: readonly Entry[] = [];
  #turn = 0;
  #open = 0;
  #accepted = 0;
  #rejected = 0;

  constructor(server: Server, options: LoadBalancerOptions) {
    this.#server = server;
    this.#options = options;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#accept(socket));
    this.#timer = setInterval(() => void this.checkAll(), CHECK_MS);
  }

  get counts(): LoadBalancerCounts {
    return { open: this.#open, accepted: this.#accepted, rejected: this.#rejected };
  }

  /**
   * Replaces the backends. Resolves when each has been checked; until then, a backend that was known before keeps its
   * readiness.
   */
  async setBackends(backends: readonly Backend[]): Promise<void> {
    this.#entries = backends.map((backend) => {
      const known = this.#entries.find(({ backend: { id, port } }) => id === backend.id && port === backend.port);
      return known ?? { backend, isReady: false, checking: undefined };
    });
    await this.checkAll();
  }

  isReady(id: string): boolean {
    return this.#entries.some(({ backend, isReady }) => backend.id === id && isReady);
  }

  /** Checks all backends now, without waiting for the next interval. */
  async checkAll(): Promise<void> {
    await Promise.all(this.#entries.map((entry) => this.#check(entry)));
  }

  /** Stops listening and closes all connections. */
  async close(): Promise<void> {
    clearInterval(this.#timer);
    const closed = new Promise((resolve) => {
      this.#server.close(resolve);
    });
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }

  #check(entry: Entry): Promise<void> {
    entry.checking ??= this.#options
      .isReady(entry.backend)
      .catch(() => false)
      .then((isReady) => {
        entry.checking = undefined;
        this.#setReady(entry, isReady);
      });
    return entry.checking;
  }

  #setReady(entry: Entry, isReady: boolean): void {
    if (entry.isReady === isReady) return;
    entry.isReady = isReady;
    this.#options.onChange();
  }

  #accept(client: Socket): void {
    client.on("error", () => {});
    if (this.#open >= CONNECTIONS_MAX) return this.#reject(client);
    this.#open++;
    this.#accepted++;
    this.#keep(client);
    client.once("close", () => this.#open--);
    const ready = this.#entries.filter((entry) => entry.isReady);
    const first = this.#turn++ % Math.max(1, ready.length);
    this.#connect(client, [...ready.slice(first), ...ready.slice(0, first)]);
  }

  #reject(client: Socket): void {
    this.#rejected++;
    client.resetAndDestroy();
  }

  /** Connects the client to the first of these servers that accepts the connection. */
  #connect(client: Socket, [entry, ...others]: readonly Entry[]): void {
    if (client.destroyed) return;
    if (entry === undefined) return this.#reject(client);
    const { host, port } = entry.backend;
    const server = connect({ host, port, allowHalfOpen: true, noDelay: true });
    this.#keep(server);
    const giveUp = (): void => {
      clearTimeout(timer);
      server.off("error", giveUp);
      server.destroy();
      this.#setReady(entry, false);
      this.#connect(client, others);
    };
    const timer = setTimeout(giveUp, CONNECT_MS);
    server.on("error", () => {});
    server.once("error", giveUp);
    server.once("connect", () => {
      clearTimeout(timer);
      server.off("error", giveUp);
      join(client, server);
    });
  }

  #keep(socket: Socket): void {
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
  }
}

/**
 * `pipe` stops reading from one side while the other cannot accept data, and ends the other side when the first has
 * ended.
 */
function join(client: Socket, server: Socket): void {
  if (client.destroyed) return void server.destroy();
  client.pipe(server);
  server.pipe(client);
  client.once("close", () => closeAfter(server, client));
  server.once("close", () => closeAfter(client, server));
}

/**
 * When one connection has closed: resets the other one if the first broke; otherwise lets the other one send its last
 * bytes.
 */
function closeAfter(other: Socket, closed: Socket): void {
  if (closed.errored !== null || !closed.readableEnded) other.resetAndDestroy();
  else other.destroySoon();
}
