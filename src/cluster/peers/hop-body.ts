/** The request body of a hop, which may have to be sent to several peers. */
import type { RequestBody } from "../../serving/http/message.ts";
import { bufferedBody, EMPTY_BODY } from "../../serving/http/request-body.ts";

/**
 * Maximum size of a body that is read before the hop, so that it can be sent again. A larger body, or one of unknown
 * length, is streamed.
 */
const REPEATABLE_BYTES_MAX = 64 * 1024;

export interface HopBody {
  /** Whether another call of `open` returns the same bytes. False once a streamed body has been opened. */
  readonly isRepeatable: boolean;
  readonly length: number | undefined;
  open(): AsyncIterable<Buffer> | undefined;
  /** The body for a request that is served locally instead. May be called only while the body is repeatable. */
  unsent(): RequestBody;
}

const NO_BODY: HopBody = {
  isRepeatable: true,
  length: undefined,
  open: () => undefined,
  unsent: () => EMPTY_BODY,
};

export async function openHopBody(body: RequestBody, contentLength: string | undefined): Promise<HopBody> {
  if (body.isEmpty) return NO_BODY;
  const length = contentLength !== undefined && /^\d{1,15}$/.test(contentLength) ? Number(contentLength) : undefined;
  if (length !== undefined && length <= REPEATABLE_BYTES_MAX) {
    const bytes = await body.read(REPEATABLE_BYTES_MAX);
    return { isRepeatable: true, length: bytes.length, open: () => once(bytes), unsent: () => bufferedBody(bytes) };
  }
  return new PassingBody(body, length);
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer, void, undefined> {
  if (bytes.length > 0) yield bytes;
}

class PassingBody implements HopBody {
  readonly length: number | undefined;
  readonly #body: RequestBody;
  #isTouched = false;

  constructor(body: RequestBody, length: number | undefined) {
    this.#body = body;
    this.length = length;
  }

  get isRepeatable(): boolean {
    return !this.#isTouched;
  }

  async *open(): AsyncGenerator<Buffer, void, undefined> {
    this.#isTouched = true;
    yield* this.#body.stream();
  }

  unsent(): RequestBody {
    return this.#body;
  }
}
