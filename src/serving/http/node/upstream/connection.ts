import type { TLSSocket } from "node:tls";

import type { ClientCertificate } from "./credentials.ts";

/** The exchange that currently owns a connection. */
export interface ConnectionUser {
  onData(bytes: Buffer): void;
  /** The server sends nothing more. */
  onEnd(): void;
  onDrain(): void;
  /** Called once, if the connection is closed before it was given back. */
  onGone(cause: Error | undefined): void;
}

interface ConnectionParts {
  readonly socket: TLSSocket;
  readonly certificate: ClientCertificate | undefined;
  readonly onClose: (connection: UpstreamConnection) => void;
  readonly log: (message: string, detail?: object) => void;
}

/**
 * One connection, which has one user at a time. Without a user, the server must not send anything: a byte or the end
 * closes the connection at once, so that the next request is not sent to a server that has just closed it.
 */
export class UpstreamConnection {
  readonly socket: TLSSocket;
  readonly certificate: ClientCertificate | undefined;
  /** True until the first response has arrived on it. */
  isFresh = true;
  /** By the clock of `performance.now`; meaningful only while idle. */
  idleUntilMs = 0;
  readonly #parts: ConnectionParts;
  #user: ConnectionUser | undefined;

  constructor(parts: ConnectionParts) {
    const { socket } = parts;
    this.socket = socket;
    this.certificate = parts.certificate;
    this.#parts = parts;
    // Node does not close the socket after an alert that follows the handshake.
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

  /** Releases the connection from its user, which is not called again. */
  giveBack(): void {
    this.#user = undefined;
    this.isFresh = false;
  }

  destroy(cause?: Error): void {
    this.socket.destroy();
    this.#leave(cause);
  }

  /** Hands over the socket to another reader; the user is still notified when it closes. */
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
      // A throw out of a socket event would end the process.
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
