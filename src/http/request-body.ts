import type { RequestBody } from "./message.ts";

const EMPTY = Buffer.alloc(0);

/** The body of a request that was sent without one. Shared, so it does not count how often it is read. */
export const EMPTY_BODY: RequestBody = {
  isEmpty: true,
  read: () => Promise.resolve(EMPTY),
  stream: noPieces,
};

async function* noPieces(): AsyncGenerator<Buffer, void, undefined> {}
