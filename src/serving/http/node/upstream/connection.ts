import type { TLSSocket } from "node:tls";

import type { ClientCertificate } from "./credentials.ts";

/** The exchange that has a connection for itself. */
export interface ConnectionUser {
  onData(bytes: Buffer): void;
  /** The server sends nothing more. */
  onEnd(): void;
  onDrain(): void;
  /** Called once, when the connection is gone before it was given back. */
  onGone(cause: Error | undefined): void;
}

interface ConnectionParts {
  readonly socket: TLSSocket;
  readonly certificate: ClientCertificate | undefined;
  readonly onClose: (connection: UpstreamConnection) => void;
  readonly log: (message: string, detail?: object) => void;
}

/**
 * One connection, which has one user at a time. Without a user nothing may come from the server: the first byte, and the
 * end, close it at once, so that the next request does not go to a server that has just let go.
 */
export class UpstreamConnection {
  readonly socket: TLSSocket;
  readonly certificate: ClientCertificate | undefined;
  /** No answer has come on it yet. */
  isFresh = true;
  /** Of the clock of `performance.now`; only with meaning while idle. */
  idleUntilMs = 0;
  readonly #parts: ConnectionParts;
  #user: ConnectionUser | undefined;

  constructor(parts: ConnectionParts) {
    const { socket } = parts;
    this.socket = socket;
    this.certificate = parts.certificate;
    this.#parts = parts;
    // An alert after the handshake is an error that Node does not close the socket for.
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

  /** The user is done with it and will not be called again. */
  giveBack(): void {
    this.#user = undefined;
    this.isFresh = false;
  }

  destroy(cause?: Error): void {
    this.socket.destroy();
    this.#leave(cause);
  }

  /** From now on the socket's bytes are somebody else's; the user still hears of its end. */
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
      this.#parts.log("handing on an answer failed", { error });
      this.destroy(error instanceof Error ? error : undefined);
    }
  };

  readonly #onEnd = (): void => {
    if (this.#user === undefined) this.destroy();
    else this.#user.onEnd();
  };

  readonly #onDrain = (): void => this.#user?.onDrain();
}
