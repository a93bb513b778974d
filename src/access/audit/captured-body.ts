/** Wraps a request body and keeps its bytes for the audit event. Streamed bodies are not kept. */
import type { RequestBody } from "../../serving/http/message.ts";

export class CapturedBody implements RequestBody {
  readonly #body: RequestBody;
  #bytes: Buffer | undefined;

  constructor(body: RequestBody) {
    this.#body = body;
  }

  /** Undefined until the body has been read as a whole. */
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
