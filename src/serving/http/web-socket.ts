/**
 * The server side of the WebSocket protocol (RFC 6455), as far as sending a stream of messages to a client requires it.
 */
import { hash } from "node:crypto";
import { isUpgrade } from "./forwarded.ts";
import { headerValue, type ApiRequest } from "./message.ts";
import { offeredProtocols, PROTOCOL_HEADER } from "./web-socket-protocols.ts";

const KEY_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";
const VERSION = "13";

export const OPCODES = { text: 1, binary: 2, close: 8, ping: 9, pong: 10 } as const;

export function isWebSocketRequest(request: ApiRequest): boolean {
  return headerValue(request.headers, "upgrade")?.toLowerCase() === "websocket" && isUpgrade(request);
}

type Handshake = { readonly headers: Record<string, string> } | { readonly status: number };

/** As kubernetes: rejects a request without Origin and one that offers several subprotocols. */
export function handshake({ headers }: ApiRequest): Handshake {
  const key = headerValue(headers, "sec-websocket-key") ?? "";
  const { others } = offeredProtocols(headerValue(headers, PROTOCOL_HEADER));
  if (headerValue(headers, "sec-websocket-version") !== VERSION || key === "") return { status: 400 };
  if ((headerValue(headers, "origin") ?? "") === "") return { status: 403 };
  if (others.length > 1) return { status: 400 };
  return {
    headers: {
      upgrade: "websocket",
      "sec-websocket-accept": hash("sha1", key + KEY_SUFFIX, "base64"),
      ...(others[0] === undefined ? {} : { [PROTOCOL_HEADER]: others[0] }),
    },
  };
}

/** The header of an unfragmented message. A server sends messages unmasked. */
export function frameHead(opcode: number, length: number): Buffer {
  const first = 0x80 | opcode;
  if (length < 126) return Buffer.from([first, length]);
  if (length < 0x1_0000) return Buffer.from([first, 126, length >> 8, length & 0xff]);
  const head = Buffer.alloc(10);
  head.set([first, 127]);
  head.writeBigUInt64BE(BigInt(length), 2);
  return head;
}

const CONTROL_BYTES_MAX = 125;
const MASK_BYTES = 4;

interface ClientFrames {
  onPing(payload: Buffer): void;
  /** Called when the client closes the connection or violates the protocol. */
  onClose(): void;
}

/** Parses the frames of the client. Ignores data messages of any length. */
export class ClientFrameReader {
  readonly #frames: ClientFrames;
  #head: Buffer = Buffer.alloc(0);
  /** Remaining bytes of the current frame. Only the payload of control frames is kept. */
  #left = 0;
  #control: { readonly opcode: number; readonly mask: Buffer; payload: Buffer } | undefined;
  #isOver = false;

  constructor(frames: ClientFrames) {
    this.#frames = frames;
  }

  push(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0 && !this.#isOver) rest = this.#left > 0 ? this.#take(rest) : this.#readHead(rest);
  }

  #take(bytes: Buffer): Buffer {
    const taken = bytes.subarray(0, this.#left);
    this.#left -= taken.length;
    if (this.#control !== undefined) this.#control.payload = Buffer.concat([this.#control.payload, taken]);
    if (this.#left === 0) this.#frameDone();
    return bytes.subarray(taken.length);
  }

  #readHead(bytes: Buffer): Buffer {
    const before = this.#head.length;
    const head = Buffer.concat([this.#head, bytes.subarray(0, HEAD_BYTES_MAX - before)]);
    const parsed = parseHead(head);
    if (parsed === undefined) {
      this.#head = head;
      return bytes.subarray(head.length - before);
    }
    this.#head = Buffer.alloc(0);
    const { opcode, length, mask, headLength } = parsed;
    const isControl = opcode >= OPCODES.close;
    if (mask === undefined || (isControl && length > CONTROL_BYTES_MAX)) this.#close();
    this.#left = length;
    this.#control = isControl && mask !== undefined ? { opcode, mask, payload: Buffer.alloc(0) } : undefined;
    if (length === 0) this.#frameDone();
    return bytes.subarray(headLength - before);
  }

  #frameDone(): void {
    const control = this.#control;
    this.#control = undefined;
    if (control?.opcode === OPCODES.close) this.#close();
    if (control?.opcode !== OPCODES.ping || this.#isOver) return;
    this.#frames.onPing(control.payload.map((byte, index) => byte ^ control.mask[index % MASK_BYTES]!) as Buffer);
  }

  #close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#frames.onClose();
  }
}

const HEAD_BYTES_MAX = 14;

interface FrameHead {
  readonly opcode: number;
  readonly length: number;
  readonly mask: Buffer | undefined;
  readonly headLength: number;
}

/** Returns undefined while the head is incomplete. */
function parseHead(head: Buffer): FrameHead | undefined {
  const [first, second] = head;
  if (first === undefined || second === undefined) return undefined;
  const short = second & 0x7f;
  const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0;
  const isMasked = (second & 0x80) !== 0;
  const headLength = 2 + lengthBytes + (isMasked ? MASK_BYTES : 0);
  if (head.length < headLength) return undefined;
  const length = lengthBytes === 0 ? short : lengthBytes === 2 ? head.readUInt16BE(2) : Number(head.readBigUInt64BE(2));
  const mask = isMasked ? Buffer.from(head.subarray(2 + lengthBytes, headLength)) : undefined;
  return { opcode: first & 0x0f, length, mask, headLength };
}
