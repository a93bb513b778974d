/** A cache of documents with a size limit; the least recently used document is evicted first. */
import type { EncodedOpenApi } from "./documents.ts";

interface ByteCache {
  get(key: string): EncodedOpenApi | undefined;
  /** Ignores a document that would not fit even alone. */
  set(key: string, document: EncodedOpenApi): void;
  /** Removes all other documents. */
  retain(isWanted: (key: string) => boolean): void;
  readonly bytes: number;
}

/** The cost of an entry besides its bytes, so that many small ones are limited too. */
const ENTRY_BYTES = 1_024;

export function createByteCache(bytesMax: number): ByteCache {
  // Maps keep insertion order; each use re-inserts the entry.
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
