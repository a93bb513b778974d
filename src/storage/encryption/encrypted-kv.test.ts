/** An encrypted store behaves as any other store, whether or not data keys must be decrypted by another process. */
import { randomBytes } from "node:crypto";
import { kvSuite } from "../../../test/testing/storage/conformance/kv-suite.ts";
import { createManualClock } from "../../../test/testing/storage/conformance/manual-clock.ts";
import { createMemoryStore } from "../kv-memory/kv.ts";
import { overlaidKv } from "../overlaid-kv.ts";
import type { Kv } from "../kv.ts";
import { aesGcm } from "./ciphers.ts";
import { encryptedKv, type ValueEncryption } from "./encrypted-kv.ts";
import { localKey, ResourceProviders, type Opened } from "./providers.ts";

const random = { float: () => 0, bytes: (length: number) => randomBytes(length) };
const key = localKey({ kind: "aesgcm", name: "k", fingerprint: "f", cipher: aesGcm(Buffer.alloc(32, 1), random) });
const providers = new ResourceProviders([[key], "identity"]);

/** `isWaiting` decides for each value whether it waits, as for the decryption of its data key. */
function encryptionWith(isWaiting: () => boolean): ValueEncryption {
  return {
    seal: (plain, context) => providers.seal(plain, context),
    open(value, context) {
      const opened = providers.open(value, context);
      if (opened instanceof Promise) throw new Error("a local key needs no other process");
      // The suite compares whole items, and expects no sealing.
      const unsealed = { value: opened.value } as Opened;
      return isWaiting() ? Promise.resolve(unsealed) : unsealed;
    },
    isOutdated: () => false,
  };
}

/** Returns copies of stored values, as a store does that receives them from a network. */
function copying(kv: Kv): Kv {
  return overlaidKv(kv, {
    commit: (change) => kv.commit(change.kind === "put" ? { ...change, value: Buffer.from(change.value) } : change),
  });
}

let opened = 0;
const CASES: readonly (readonly [string, () => boolean])[] = [
  ["an encrypted store", () => false],
  ["an encrypted store whose values sometimes wait for their data keys", () => opened++ % 3 === 0],
];

for (const [name, isWaiting] of CASES) {
  kvSuite(
    name,
    async () => {
      const clock = createManualClock();
      const store = createMemoryStore({ clock });
      const handles: Kv[] = [];
      const open = (): Kv => {
        const kv = encryptedKv(copying(store.open()), encryptionWith(isWaiting));
        handles.push(kv);
        return kv;
      };
      return {
        kv: open(),
        advance: clock.advance,
        reopen: async () => open(),
        [Symbol.asyncDispose]: async () => {
          for (const handle of handles) await handle.close();
        },
      };
    },
    { isExclusive: true },
  );
}
