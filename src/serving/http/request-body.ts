/** Request bodies that are empty or already in memory. */
import { BodyTooLargeError, type RequestBody } from "./message.ts";

const EMPTY = Buffer.alloc(0);

/** The body of a request without a body. All requests share it, so it may be read any number of times. */
export const EMPTY_BODY: RequestBody = {
  isEmpty: true,
  read: () => Promise.resolve(EMPTY),
  stream: noPieces,
};

async function* noPieces(): AsyncGenerator<Buffer, void, undefined> {}

/** A body that is already in memory. */
export function bufferedBody(bytes: Buffer): RequestBody {
  return new BufferedBody(bytes);
}

class BufferedBody implements RequestBody {
  readonly #bytes: Buffer;
  #isTaken = false;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  async read(limitBytes: number): Promise<Buffer> {
    if (this.#bytes.length > limitBytes) throw new BodyTooLargeError("the body is too large");
    this.#take();
    return this.#bytes;
  }

  stream(): AsyncIterable<Buffer> {
    this.#take();
    return piecesOf(this.#bytes);
  }

  #take(): void {
    if (this.#isTaken) throw new Error("the request body can be read only once");
    this.#isTaken = true;
  }
}

async function* piecesOf(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  if (bytes.length > 0) yield bytes;
}
