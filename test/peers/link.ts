/**
 * A TCP proxy in front of a server, to which its peers connect. A test can cut it or direct it to another server;
 * otherwise it passes all bytes unchanged.
 */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";

export class Link {
  readonly port: number;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  #target = 0;
  #isCut = false;
  /** The number of accepted connections, including those that were closed at once because the link is cut. */
  count = 0;

  static async open(): Promise<Link> {
    const server = createServer();
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return new Link(server);
  }

  private constructor(server: Server) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    server.on("connection", (socket) => this.#connect(socket));
  }

  /** Closes open connections and directs new connections to this port. */
  lead(port: number): void {
    this.#target = port;
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Closes open connections, and closes new connections at once. */
  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  async close(): Promise<void> {
    this.cut();
    this.#server.close();
    if (this.#server.listening) await once(this.#server, "close");
  }

  #connect(socket: Socket): void {
    this.count++;
    if (this.#isCut || this.#target === 0) {
      socket.destroy();
      return;
    }
    const other = connect({ host: "127.0.0.1", port: this.#target, noDelay: true });
    socket.setNoDelay();
    for (const end of [socket, other]) {
      this.#sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => {
        this.#sockets.delete(end);
        socket.destroy();
        other.destroy();
      });
    }
    socket.pipe(other);
    other.pipe(socket);
  }
}
