/** A request body that is remembered when it is read whole. What is handed on piece by piece is not. */
import type { RequestBody } from "../../serving/http/message.ts";

export class CapturedBody implements RequestBody {
  readonly #body: RequestBody;
  #bytes: Buffer | undefined;

  constructor(body: RequestBody) {
    this.#body = body;
  }

  /** Undefined as long as nobody has read it. */
  get bytes(): Buffer | undefined {
    return this.#bytes;
  }

  get isEmpty(): boolean {
    return this.#body.isEmpty;
  }

  async read(limitBytes: number): Promise<Buffer> {
    const bytes = await this.#body.read(limitBytes);
    this.#bytes = bytes;
    return bytes;
  }

  stream(): AsyncIterable<Buffer> {
    return this.#body.stream();
  }
}
