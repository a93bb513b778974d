/** Finds the end of an HTTP/1.1 body in chunked encoding, which arrives in pieces. Trailers are not supported. */
export class ChunkedBody {
  readonly #onData: (data: Buffer) => void;
  /** Missing bytes of the current chunk and of the line break after it; 0 while a size line is being read. */
  #missing = 0;
  #line = "";
  #isLast = false;

  constructor(onData: (data: Buffer) => void) {
    this.#onData = onData;
  }

  /** Returns true when the body is complete. */
  read(piece: Buffer): boolean {
    let rest = piece;
    while (rest.length > 0) {
      if (this.#missing > 0) {
        const data = rest.subarray(0, Math.min(rest.length, this.#missing));
        const content = Math.max(0, Math.min(data.length, this.#missing - LINE_BREAK.length));
        if (content > 0) this.#onData(data.subarray(0, content));
        this.#missing -= data.length;
        rest = rest.subarray(data.length);
        if (this.#missing === 0 && this.#isLast) return true;
        continue;
      }
      const end = rest.indexOf("\n");
      this.#line += rest.toString("latin1", 0, end < 0 ? rest.length : end);
      if (end < 0) return false;
      rest = rest.subarray(end + 1);
      const size = Number.parseInt(this.#line, 16);
      if (Number.isNaN(size)) throw new Error(`a chunk begins with ${JSON.stringify(this.#line.slice(0, 40))}`);
      this.#line = "";
      this.#isLast = size === 0;
      this.#missing = size + LINE_BREAK.length;
    }
    return false;
  }
}

const LINE_BREAK = "\r\n";
