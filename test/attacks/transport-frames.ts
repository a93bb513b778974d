/** Writes HTTP/2 frames byte by byte, for attacks on the transport that an ordinary client library cannot send. */
import { once } from "node:events";
import type { TLSSocket } from "node:tls";

import { rawConnection, type TestServer } from "../testing/serving/http/node/test-server.ts";

/**
 * Waits until the server has the given number of connections, because the server notices a closed connection slightly
 * later than its client.
 */
export async function connectionsLeft({ listener }: TestServer, count: number): Promise<void> {
  while (listener.openConnections() !== count) await new Promise(setImmediate);
}

export const FRAME = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;
export const END_STREAM = 0x1;
export const END_HEADERS = 0x4;
export const ACK = 0x1;

export const ERROR_CODE = { cancel: 8, enhanceYourCalm: 11 } as const;

export interface Frame {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly payload: Buffer;
}

export function frame(type: number, flags: number, streamId: number, payload: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Encodes a SETTINGS frame from pairs of identifier and value. */
export function settings(...entries: readonly (readonly [number, number])[]): Buffer {
  const payload = Buffer.alloc(6 * entries.length);
  entries.forEach(([identifier, value], index) => {
    payload.writeUInt16BE(identifier, 6 * index);
    payload.writeUInt32BE(value, 6 * index + 2);
  });
  return frame(FRAME.settings, 0, 0, payload);
}

export const INITIAL_WINDOW_SIZE = 4;

/**
 * HPACK-encoded header fields: `:method`, `:scheme: https` and `:path: /` from the static table, and `:authority: x`.
 */
export const GET_ROOT: Buffer = Buffer.from([0x82, 0x87, 0x84, 0x01, 0x01, 0x78]);
export const POST_ROOT: Buffer = Buffer.from([0x83, 0x87, 0x84, 0x01, 0x01, 0x78]);

/** HPACK-encodes a short header field as a literal, without the table. */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([
    Buffer.from([0x00, name.length]),
    Buffer.from(name),
    Buffer.from([value.length]),
    Buffer.from(value),
  ]);
}

const PREFACE = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/** A raw HTTP/2 connection that sends frames exactly as given. */
export class RawHttp2 implements AsyncDisposable {
  readonly socket: TLSSocket;
  readonly received: Frame[] = [];
  /** The total length of the received DATA frames. */
  dataBytes = 0;
  #rest: Buffer = Buffer.alloc(0);
  readonly #closed: Promise<void>;

  static async connect(server: TestServer, ...first: readonly Buffer[]): Promise<RawHttp2> {
    const raw = new RawHttp2(await rawConnection(server, "h2"));
    raw.write(Buffer.from(PREFACE), ...(first.length === 0 ? [settings()] : first));
    return raw;
  }

  constructor(socket: TLSSocket) {
    this.socket = socket;
    this.#closed = new Promise((resolve) => socket.once("close", () => resolve()));
    socket.on("data", (chunk: Buffer) => this.#read(chunk));
  }

  write(...frames: readonly Buffer[]): void {
    if (!this.socket.destroyed) this.socket.write(Buffer.concat(frames));
  }

  /** Writes the frames many times, until all are written or the server closes the connection or sends GOAWAY. */
  async pour(frames: Buffer, times: number): Promise<void> {
    for (let time = 0; time < times && !this.socket.destroyed && this.goaway === undefined; time++) {
      if (!this.socket.write(frames))
        await Promise.race([once(this.socket, "drain").catch(() => undefined), this.#closed]);
      else await new Promise(setImmediate);
    }
  }

  /** The error code of the last received GOAWAY frame; undefined if there is none. */
  get goaway(): number | undefined {
    return this.received.findLast(({ type }) => type === FRAME.goaway)?.payload.readUInt32BE(4);
  }

  closed(): Promise<void> {
    return this.#closed;
  }

  count(type: number): number {
    return this.received.filter((received) => received.type === type).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 9) {
      const length = this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < 9 + length) return;
      const payload = this.#rest.subarray(9, 9 + length);
      const [type, flags] = [this.#rest.readUInt8(3), this.#rest.readUInt8(4)];
      const streamId = this.#rest.readUInt32BE(5) & 0x7fffffff;
      if (type === FRAME.data) this.dataBytes += length;
      this.received.push({ type, flags, streamId, payload });
      this.#rest = this.#rest.subarray(9 + length);
    }
  }
}
