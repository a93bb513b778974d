/** Sends a stream of events as WebSocket messages, for browsers, which cannot read an unbounded response. */
import type { Duplex } from "node:stream";
import type { Clock } from "../../base/clock.ts";
import { closedSink, discardResponse } from "./closed-sink.ts";
import {
  headerValue,
  NO_BODY,
  type ApiRequest,
  type ApiResponse,
  type StreamFrame,
  type StreamSink,
} from "./message.ts";
import { ClientFrameReader, frameHead, handshake, OPCODES } from "./web-socket.ts";

type CloseClock = Pick<Clock, "after">;

/** Converts a stream to a WebSocket. Other responses are returned unchanged. */
export function overWebSocket(request: ApiRequest, response: ApiResponse, clock: CloseClock): ApiResponse {
  const { body } = response;
  if (body.kind !== "stream") return response;
  const agreed = handshake(request);
  if ("status" in agreed) {
    discardResponse(response);
    return { status: agreed.status, headers: {}, body: NO_BODY };
  }
  const isText = headerValue(response.headers, "content-type")?.startsWith("application/json") === true;
  const opcode = isText ? OPCODES.text : OPCODES.binary;
  const open = (socket: Duplex | undefined): void =>
    body.open(socket === undefined ? closedSink() : new WebSocketSink(socket, opcode, clock));
  return { status: 101, headers: { ...response.headers, ...agreed.headers }, body: { kind: "upgrade", open } };
}

const NORMAL_CLOSURE = Buffer.from([0x03, 0xe8]);
/** Time that the client has to read the close frame. */
const CLOSE_MS = 1_000;

class WebSocketSink implements StreamSink {
  readonly #socket: Duplex;
  readonly #opcode: number;
  readonly #clock: CloseClock;
  #isEnded = false;

  constructor(socket: Duplex, opcode: number, clock: CloseClock) {
    this.#socket = socket;
    this.#opcode = opcode;
    this.#clock = clock;
    const reader = new ClientFrameReader({
      // No pong is sent while the client does not read, because the buffer would grow without bound.
      onPing: (payload) => void (socket.writableNeedDrain || this.#send(OPCODES.pong, payload)),
      onClose: () => this.end(),
    });
    socket.on("data", (chunk: Buffer) => reader.push(chunk));
    socket.on("end", () => this.end());
    socket.on("error", () => socket.destroy());
  }

  write({ bytes }: StreamFrame): boolean {
    return this.#send(this.#opcode, bytes);
  }

  bufferedBytes(): number {
    return this.#socket.writableLength;
  }

  onDrain(callback: () => void): void {
    this.#socket.on("drain", callback);
  }

  onClose(callback: () => void): void {
    if (this.#socket.destroyed) queueMicrotask(callback);
    else this.#socket.once("close", callback);
  }

  end(): void {
    if (this.#isEnded) return;
    this.#send(OPCODES.close, NORMAL_CLOSURE);
    this.#isEnded = true;
    this.#socket.end();
    const cancel = this.#clock.after(CLOSE_MS, () => this.#socket.destroy());
    this.#socket.once("close", cancel);
  }

  abort(): void {
    this.#isEnded = true;
    this.#socket.destroy();
  }

  #send(opcode: number, bytes: Buffer): boolean {
    if (this.#isEnded || this.#socket.destroyed) return true;
    this.#socket.cork();
    this.#socket.write(frameHead(opcode, bytes.length));
    const isTaken = this.#socket.write(bytes);
    this.#socket.uncork();
    return isTaken;
  }
}
