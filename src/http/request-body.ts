/** Request bodies that are already there as a whole. */
import { BodyTooLargeError, type RequestBody } from "./message.ts";

const EMPTY = Buffer.alloc(0);

/** The body of a request that was sent without one. Shared, so it does not count how often it is read. */
export const EMPTY_BODY: RequestBody = {
  isEmpty: true,
  read: () => Promise.resolve(EMPTY),
  stream: () => piecesOf(EMPTY),
};

export function bufferedBody(bytes: Buffer): RequestBody {
  return bytes.length === 0 ? EMPTY_BODY : new BufferedBody(bytes);
}

class BufferedBody implements RequestBody {
  readonly isEmpty = false;
  readonly #bytes: Buffer;
  #isTaken = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  async read(limitBytes: number): Promise<Buffer> {
    if (this.#bytes.length > limitBytes) throw bodyTooLarge(limitBytes);
    this.#take();
    return this.#bytes;
  }

  stream(): AsyncIterable<Buffer> {
    this.#take();
    return piecesOf(this.#bytes);
  }

  #take(): void {
    if (this.#isTaken) throw bodyTaken();
    this.#isTaken = true;
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  if (bytes.length > 0) yield bytes;
}

export function bodyTooLarge(limitBytes: number): BodyTooLargeError {
  return new BodyTooLargeError(`the request body is too large: more than ${limitBytes} bytes`);
}

export function bodyTaken(): Error {
  return new Error("the request body can be read only once");
}
