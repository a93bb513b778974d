/**
 * Parses a response as its bytes arrive, however they are split. After each `push`, the fields of the reader describe
 * the response so far; body bytes are returned as views of the pushed buffers and not copied. Throws an `UpstreamError`
 * at the first byte that cannot belong to a response. The reader cannot be used after that.
 */
import { HEAD_BYTES_MAX } from "./upstream-limits.ts";
import { type RequestFacts, malformed, parseResponseHead, type ResponseHead } from "./response-head.ts";

type State =
  | "head"
  /** `#remaining` bytes of the body or of a chunk follow. */
  | "length"
  | "chunk"
  | "until-close"
  | "size"
  | "extension"
  | "size-lf"
  | "chunk-cr"
  | "chunk-lf"
  | "trailer-start"
  | "trailer"
  | "trailer-lf"
  | "last-lf"
  | "done";

const CR = 0x0d;
const LF = 0x0a;
const SEMICOLON = 0x3b;
const HEAD_END = Buffer.from("\r\n\r\n");
const PREFIX = Buffer.from("HTTP/1.");
const NOTHING = Buffer.alloc(0);
/** Maximum number of hexadecimal digits of a chunk size, which a number represents exactly. */
const SIZE_DIGITS_MAX = 12;
const EXTENSION_BYTES_MAX = 256;
const TRAILER_BYTES_MAX = 16 * 1024;
/** Maximum number of responses before the final one, such as 103. */
const INFORMATIONAL_MAX = 16;

export class ResponseReader {
  /** The head of the final response; undefined until it is complete. */
  head: ResponseHead | undefined;
  /** Bytes after the end of the response. */
  rest: Buffer = NOTHING;
  readonly #requestFacts: RequestFacts;
  #state: State = "head";
  #pieces: Buffer[] = [];
  #remaining = 0;
  /** Number of digits of a chunk size, bytes of an extension or bytes of trailers so far. */
  #count = 0;
  #informational = 0;
  /** The beginning of an incomplete head, of which `#heldBytes` bytes are filled. */
  #held: Buffer = NOTHING;
  #heldBytes = 0;

  constructor(asked: RequestFacts) {
    this.#requestFacts = asked;
  }

  get isComplete(): boolean {
    return this.#state === "done";
  }

  /** Returns the body bytes found since the last call. */
  takePieces(): Buffer[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces;
  }

  push(bytes: Buffer): void {
    let at = 0;
    while (at < bytes.length && this.#state !== "done") {
      at = this.#state === "head" ? this.#readHead(bytes, at) : this.#readBody(bytes, at);
    }
    if (at < bytes.length) this.rest = this.rest.length === 0 ? bytes.subarray(at) : Buffer.concat([this.rest, bytes]);
  }

  /** Called when the server sends nothing more. Completes a response that ends with its connection. */
  finish(): void {
    if (this.#state === "until-close") this.#state = "done";
  }

  #readHead(bytes: Buffer, at: number): number {
    if (this.#heldBytes === 0) {
      const end = bytes.indexOf(HEAD_END, at);
      if (end >= 0) {
        if (end + 4 - at > HEAD_BYTES_MAX) throw headTooLarge();
        this.#onHead(bytes.toString("latin1", at, end));
        return end + 4;
      }
    }
    return this.#readHeldHead(bytes, at);
  }

  #readHeldHead(bytes: Buffer, at: number): number {
    const before = this.#heldBytes;
    this.#hold(bytes, at);
    const held = this.#held.subarray(0, this.#heldBytes);
    // The end mark may have begun in the last three bytes before the new bytes.
    const end = held.indexOf(HEAD_END, Math.max(0, before - 3));
    if (end < 0) {
      if (this.#heldBytes >= HEAD_BYTES_MAX) throw headTooLarge();
      const compared = Math.min(held.length, PREFIX.length);
      if (held.compare(PREFIX, 0, compared, 0, compared) !== 0) throw malformed("it is not HTTP/1.1");
      return bytes.length;
    }
    if (end + 4 > HEAD_BYTES_MAX) throw headTooLarge();
    const text = held.toString("latin1", 0, end);
    this.#held = NOTHING;
    this.#heldBytes = 0;
    this.#onHead(text);
    return at + (end + 4 - before);
  }

  #hold(bytes: Buffer, at: number): void {
    // Keeps just enough bytes to detect that the head is too large.
    const added = Math.min(bytes.length - at, HEAD_BYTES_MAX + 4 - this.#heldBytes);
    const needed = this.#heldBytes + added;
    if (needed > this.#held.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, 2 * this.#held.length));
      this.#held.copy(grown, 0, 0, this.#heldBytes);
      this.#held = grown;
    }
    bytes.copy(this.#held, this.#heldBytes, at, at + added);
    this.#heldBytes = needed;
  }

  #onHead(text: string): void {
    const head = parseResponseHead(text, this.#requestFacts);
    if (head.status < 200 && head.status !== 101) {
      if (++this.#informational > INFORMATIONAL_MAX) throw malformed("it has too many informational responses");
      return;
    }
    this.head = head;
    this.#remaining = head.contentLength;
    switch (head.framing) {
      case "none":
        this.#state = "done";
        break;
      case "length":
        this.#state = head.contentLength === 0 ? "done" : "length";
        break;
      case "chunked":
        this.#state = "size";
        break;
      case "until-close":
        this.#state = "until-close";
    }
  }

  #readBody(bytes: Buffer, at: number): number {
    switch (this.#state) {
      case "length":
      case "chunk":
        return this.#readCounted(bytes, at);
      case "until-close":
        this.#pieces.push(at === 0 ? bytes : bytes.subarray(at));
        return bytes.length;
      case "size":
        this.#readSize(bytes[at]!);
        break;
      case "extension":
        this.#readExtension(bytes[at]!);
        break;
      case "trailer":
        this.#readTrailer(bytes[at]!);
        break;
      default:
        this.#readMark(bytes[at]!);
    }
    return at + 1;
  }

  #readCounted(bytes: Buffer, at: number): number {
    const end = Math.min(bytes.length, at + this.#remaining);
    this.#pieces.push(at === 0 && end === bytes.length ? bytes : bytes.subarray(at, end));
    this.#remaining -= end - at;
    if (this.#remaining === 0) this.#state = this.#state === "length" ? "done" : "chunk-cr";
    return end;
  }

  #readSize(byte: number): void {
    const digit = hexDigit(byte);
    if (digit >= 0) {
      if (++this.#count > SIZE_DIGITS_MAX) throw malformed("a chunk is too large");
      this.#remaining = this.#remaining * 16 + digit;
      return;
    }
    if (this.#count === 0) throw malformed("a chunk has no size");
    this.#count = 0;
    if (byte === CR) this.#state = "size-lf";
    else if (byte === SEMICOLON) this.#state = "extension";
    else throw malformed("the size of a chunk is not a number");
  }

  #readExtension(byte: number): void {
    if (byte === CR) this.#state = "size-lf";
    else if (isControl(byte) || ++this.#count > EXTENSION_BYTES_MAX) throw malformed("a chunk extension is too long");
  }

  #readTrailer(byte: number): void {
    if (byte === CR) this.#state = "trailer-lf";
    else if (isControl(byte) || ++this.#count > TRAILER_BYTES_MAX) throw malformed("its trailers are too long");
  }

  /** Handles the states in which one certain byte or a line break must follow. */
  #readMark(byte: number): void {
    switch (this.#state) {
      case "size-lf":
        expectByte(byte, LF);
        this.#count = 0;
        this.#state = this.#remaining === 0 ? "trailer-start" : "chunk";
        break;
      case "chunk-cr":
        expectByte(byte, CR);
        this.#state = "chunk-lf";
        break;
      case "chunk-lf":
        expectByte(byte, LF);
        this.#state = "size";
        break;
      case "trailer-start":
        if (byte === CR) {
          this.#state = "last-lf";
        } else {
          this.#state = "trailer";
          this.#readTrailer(byte);
        }
        break;
      case "trailer-lf":
        expectByte(byte, LF);
        this.#state = "trailer-start";
        break;
      default:
        expectByte(byte, LF);
        this.#state = "done";
    }
  }
}

function hexDigit(byte: number): number {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30;
  const letter = byte | 0x20;
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x57 : -1;
}

function isControl(byte: number): boolean {
  return (byte < 0x20 && byte !== 0x09) || byte === 0x7f;
}

function expectByte(byte: number, expected: number): void {
  if (byte !== expected) throw malformed("a chunk is not followed by a line break");
}

function headTooLarge(): Error {
  return malformed(`its head is larger than ${HEAD_BYTES_MAX} bytes`);
}
