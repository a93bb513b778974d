/** Documents by key, within a number of bytes: whatever was not used for longest goes first. */
import type { EncodedOpenApi } from "./documents.ts";

interface ByteCache {
  get(key: string): EncodedOpenApi | undefined;
  /** Does nothing with a document that would not fit even alone. */
  set(key: string, document: EncodedOpenApi): void;
  /** Forgets all others. */
  retain(isWanted: (key: string) => boolean): void;
  readonly bytes: number;
}

/** What an entry costs besides its bytes, so that many small ones are bounded too. */
const ENTRY_BYTES = 1_024;

export function createByteCache(bytesMax: number): ByteCache {
  // Maps keep the order of insertion; use re-inserts.
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
