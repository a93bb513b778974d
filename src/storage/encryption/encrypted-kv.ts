/**
 * A store whose values are encrypted as kube-apiserver encrypts them. Values that cannot be decrypted are passed on with
 * the reason, so that reads of their objects fail instead of omitting them.
 */
import type { Change, CommitResult, Kv, KvEvent, KeyValue } from "../kv.ts";
import { overlaidKv } from "../overlaid-kv.ts";
import { inOrder } from "./in-order.ts";
import type { Opened } from "./providers.ts";

/** Encrypts and decrypts values. Each value belongs to a key in the store. */
export interface ValueEncryption {
  /** Undefined if the value is stored in clear. Throws a `StorageError` if it cannot be encrypted. */
  seal(plain: Buffer, key: string): Opened | undefined;
  /** A promise, which does not reject, only if another process must decrypt the data key of the value. */
  open(value: Buffer, key: string): Opened | Promise<Opened>;
  isOutdated: NonNullable<Kv["isOutdated"]>;
}

export function encryptedKv(kv: Kv, encryption: ValueEncryption): Kv {
  /** Values that this server has written, until a store that delivers the same buffer has delivered them. */
  const written = new WeakMap<Buffer, Opened>();
  const open: Open = (stored) => {
    const known = written.get(stored.value);
    if (known !== undefined) written.delete(stored.value);
    const opened = known ?? encryption.open(stored.value, stored.key);
    return opened instanceof Promise ? opened.then((late) => ({ ...stored, ...late })) : { ...stored, ...opened };
  };
  const sealed = (change: Change): Change => {
    if (change.kind !== "put") return change;
    const { key, value: plain } = change;
    const value = encryption.seal(plain, key);
    if (value === undefined) return change;
    written.set(value.value, { value: plain, sealing: value.sealing });
    return { ...change, value: value.value };
  };
  return overlaidKv(kv, {
    async range(request) {
      const result = await kv.range(request);
      return { ...result, items: await allReady(result.items.map((item) => open(item))) };
    },
    async commit(change) {
      return openedResult(await kv.commit(sealed(change)), open);
    },
    watch: (request, sink) =>
      inOrder(
        sink,
        (batch) => openedBatch(batch, open),
        (through) => kv.watch(request, through),
      ),
    isOutdated: (key, sealing) => encryption.isOutdated(key, sealing),
  });
}

type Open = <Stored extends { readonly key: string; readonly value: Buffer }>(
  stored: Stored,
) => Stored | Promise<Stored>;

function openedBatch(batch: readonly KvEvent[], open: Open): readonly KvEvent[] | Promise<readonly KvEvent[]> {
  return allReady(batch.map((event) => (event.kind === "put" ? open(event) : event)));
}

/** At once, unless another process must decrypt data keys. */
function allReady<T>(items: readonly (T | Promise<T>)[]): readonly T[] | Promise<readonly T[]> {
  const isReady = !items.some((item) => item instanceof Promise);
  return isReady ? (items as readonly T[]) : Promise.all(items);
}

async function openedResult(
  result: CommitResult,
  open: (stored: KeyValue) => KeyValue | Promise<KeyValue>,
): Promise<CommitResult> {
  if (result.committed || result.current === undefined) return result;
  return { ...result, current: await open(result.current) };
}
