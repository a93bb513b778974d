/** One TLS connection of the pool to another server. */
import type { TLSSocket } from "node:tls";

import type { ClientCertificate } from "./credentials.ts";

/** The exchange that currently owns a connection. */
export interface ConnectionUser {
  onData(bytes: Buffer): void;
  /** Called when the server has sent everything. */
  onEnd(): void;
  onDrain(): void;
  /** Called once, if the connection closes before the user has given it back. */
  onGone(cause: Error | undefined): void;
}

interface ConnectionParts {
  readonly socket: TLSSocket;
  readonly certificate: ClientCertificate | undefined;
  readonly onClose: (connection: UpstreamConnection) => void;
  readonly log: (message: string, detail?: object) => void;
}

/**
 * One connection, which has at most one user at a time. While it has no user, the server must not send anything: a byte
 * or the end closes the connection at once, so that no request is sent to a server that has just closed it.
 */
export class UpstreamConnection {
  readonly socket: TLSSocket;
  readonly certificate: ClientCertificate | undefined;
  /** True until the first response has arrived on this connection. */
  isFresh = true;
  /**
   * Time at which the idle connection expires, on the clock of `performance.now`. It has a meaning only while the
   * connection is idle.
   */
  idleUntilMs = 0;
  readonly #parts: ConnectionParts;
  #user: ConnectionUser | undefined;

  constructor(parts: ConnectionParts) {
    const { socket } = parts;
    this.socket = socket;
    this.certificate = parts.certificate;
    this.#parts = parts;
    // If an alert arrives after the handshake, Node does not close the socket.
    socket.on("error", (error: Error) => this.destroy(error));
    socket.on("close", () => {
      this.#leave(undefined);
      parts.onClose(this);
    });
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("drain", this.#onDrain);
  }

  get isUsable(): boolean {
    return this.#user === undefined && !this.socket.destroyed && this.socket.readable && this.socket.writable;
  }

  use(user: ConnectionUser): void {
    this.#user = user;
  }

  /** Ends the use of the connection. The user is not called any more. */
  giveBack(): void {
    this.#user = undefined;
    this.isFresh = false;
  }

  destroy(cause?: Error): void {
    this.socket.destroy();
    this.#leave(cause);
  }

  /** Passes the socket to another reader. The user is still notified when the socket closes. */
  surrender(): TLSSocket {
    const { socket } = this;
    socket.pause();
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("drain", this.#onDrain);
    return socket;
  }

  #leave(cause: Error | undefined): void {
    const user = this.#user;
    this.#user = undefined;
    user?.onGone(cause);
  }

  readonly #onData = (bytes: Buffer): void => {
    if (this.#user === undefined) {
      this.destroy();
      return;
    }
    try {
      this.#user.onData(bytes);
    } catch (error) {
      // An error thrown in a socket event would end the process.
      this.#parts.log("passing on a response failed", { error });
      this.destroy(error instanceof Error ? error : undefined);
    }
  };

  readonly #onEnd = (): void => {
    if (this.#user === undefined) this.destroy();
    else this.#user.onEnd();
  };

  readonly #onDrain = (): void => this.#user?.onDrain();
}
