/** A cache of OpenAPI documents with a size limit. It evicts the least recently used document first. */
import type { EncodedOpenApi } from "./documents.ts";

interface ByteCache {
  get(key: string): EncodedOpenApi | undefined;
  /** Ignores a document that exceeds the limit alone. */
  set(key: string, document: EncodedOpenApi): void;
  /** Removes all documents whose key is not wanted. */
  retain(isWanted: (key: string) => boolean): void;
  readonly bytes: number;
}

/** The cost of an entry besides its bytes, so that the number of small documents is limited too. */
const ENTRY_BYTES = 1_024;

export function createByteCache(bytesMax: number): ByteCache {
  // A Map keeps insertion order, and each use re-inserts the entry, so the first entry is the least recently used.
  const entries = new Map<string, EncodedOpenApi>();
  let bytes = 0;
  const remove = (key: string): void => {
    const known = entries.get(key);
    if (known === undefined) return;
    entries.delete(key);
    bytes -= sizeOf(known);
  };
  const add = (key: string, document: EncodedOpenApi): void => {
    entries.set(key, document);
    bytes += sizeOf(document);
  };
  return {
    get bytes() {
      return bytes;
    },
    get(key) {
      const known = entries.get(key);
      if (known === undefined) return undefined;
      remove(key);
      add(key, known);
      return known;
    },
    set(key, document) {
      if (sizeOf(document) > bytesMax) return;
      remove(key);
      add(key, document);
      for (const oldest of entries.keys()) {
        if (bytes <= bytesMax) break;
        remove(oldest);
      }
    },
    retain(isWanted) {
      for (const key of [...entries.keys()]) if (!isWanted(key)) remove(key);
    },
  };
}

function sizeOf({ bytes }: EncodedOpenApi): number {
  return bytes.length + ENTRY_BYTES;
}
