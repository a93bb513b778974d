/**
 * The decrypted data keys of a KMS plugin. The plugin is asked once for each data key, and not again for a while after
 * it has failed. Failed decryptions are retried at an interval, so that values become readable without a request, and
 * values whose keys are lost cost no reads of the store.
 */
import { createHash } from "node:crypto";
import type { Clock } from "../../../base/clock.ts";
import { LruMap } from "../../../base/lru-map.ts";
import { randomUuid, type Random } from "../../../base/random.ts";
import { RpcFailure } from "../../grpc/rpc-failure.ts";
import type { Sealing } from "../../kv.ts";
import { aesGcm, derivedKeyGcm, SEED_BYTES, type Cipher } from "../ciphers.ts";
import { dataKeyId, problemOf } from "./encrypted-data-key.ts";
import {
  DATA_KEY_BYTES_MAX,
  DATA_KEY_WAIT_MS,
  DATA_KEYS_MAX,
  DECRYPT_RETRY_MS,
  DECRYPTIONS_MAX,
  DECRYPT_RETRIES_MAX,
} from "./kms-limits.ts";
import { DATA_KEY_TYPE, type EncryptedDataKey } from "./messages.ts";
import type { KmsPlugin } from "./plugin-client.ts";

export interface DataKey {
  readonly cipher: Cipher;
  readonly sealing: Sealing;
  readonly fingerprint: string;
  /** Whether it has decrypted or encrypted a value, so that it is not an error of the plugin. */
  isProven: boolean;
}

/** A data key, or why there is none, as the rest of a sentence. */
export type Found = DataKey | string;

interface DataKeysOptions {
  readonly plugin: KmsPlugin;
  readonly clock: Clock;
  readonly random: Random;
  readonly sealedBy: (type: number, keyId: string) => string;
  /** Called if a data key was decrypted after its values were reported as unreadable. */
  readonly onReadable: () => void;
}

/** A data key that makes values unreadable. */
interface Failure {
  readonly type: number;
  readonly encrypted: EncryptedDataKey;
  /** The plugin is not asked before this time. */
  readonly untilMs: number;
  readonly problem: string;
  /** The data key that the plugin has returned, but that does not decrypt the values. */
  readonly rejected?: string;
}

interface Pending {
  readonly decrypting: Promise<Found>;
  readonly isRetry: boolean;
  /** As `decrypting`, but with a time limit. All values with the data key share it. */
  inTime: Promise<Found> | undefined;
}

const WRONG = "and the KMS plugin returns a data key that does not decrypt it";
const AES_KEY_BYTES: readonly number[] = [16, 24, 32];

export class DataKeys {
  readonly #options: DataKeysOptions;
  readonly #known = new LruMap<DataKey>(DATA_KEYS_MAX);
  readonly #pending = new Map<string, Pending>();
  readonly #failed = new LruMap<Failure>(DATA_KEYS_MAX);
  /**
   * Set while the plugin does not respond, until it does. Otherwise each value with another data key would delay the
   * watch of all resources.
   */
  #silence: string | undefined;
  #isRetrying = false;
  #running = 0;
  readonly #queue: (() => void)[] = [];

  constructor(options: DataKeysOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#known.size;
  }

  /** Throws an Error if the plaintext cannot be a data key of this type. */
  add(type: number, encrypted: EncryptedDataKey, plaintext: Buffer): DataKey {
    const { random, sealedBy } = this.#options;
    const isSeed = type === DATA_KEY_TYPE.derivedKeySeed;
    const { length } = plaintext;
    const isUsable = isSeed ? length >= SEED_BYTES && length <= DATA_KEY_BYTES_MAX : AES_KEY_BYTES.includes(length);
    if (!isUsable) throw new Error(`the decrypted data key has ${length} bytes`);
    const key = {
      cipher: isSeed ? derivedKeyGcm(plaintext, random) : aesGcm(plaintext, random),
      sealing: { sealedBy: sealedBy(type, encrypted.keyId), problem: undefined },
      fingerprint: createHash("sha256").update(plaintext).digest("base64url"),
      isProven: false,
    };
    this.#known.set(dataKeyId(type, encrypted), key);
    return key;
  }

  /** At once if the data key is known, or if the plugin has failed to decrypt it a moment ago. */
  find(type: number, encrypted: EncryptedDataKey): Found | Promise<Found> {
    const id = dataKeyId(type, encrypted);
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    const failure = this.#failed.get(id);
    const pending = this.#pending.get(id);
    const isRecent = failure !== undefined && failure.untilMs > this.#options.clock.monotonic();
    // A retry reports by itself that values are readable.
    if (isRecent || (failure !== undefined && pending?.isRetry === true)) return failure.problem;
    if (pending !== undefined) return (pending.inTime ??= this.#inTime(pending.decrypting));
    const isFull = this.#pending.size >= DATA_KEYS_MAX;
    const problem = this.#silence ?? (isFull ? "and too many data keys wait for the KMS plugin" : undefined);
    if (problem !== undefined) {
      this.#failed.set(id, { type, encrypted, untilMs: 0, problem });
      return problem;
    }
    const begun = this.#begin(id, { type, encrypted, isRetry: false });
    return (begun.inTime = this.#inTime(begun.decrypting));
  }

  /**
   * Called if a data key does not decrypt a value. If it has never decrypted one, the plugin has perhaps returned a wrong
   * one, and the call is retried.
   */
  doubt(type: number, encrypted: EncryptedDataKey, { isProven, fingerprint: rejected }: DataKey): void {
    if (isProven) return;
    const id = dataKeyId(type, encrypted);
    if (this.#known.get(id)?.fingerprint !== rejected) return;
    this.#known.delete(id);
    this.#failed.set(id, { type, encrypted, untilMs: 0, problem: WRONG, rejected });
  }

  /** Retries the failed decryptions, those first that have waited longest. */
  async retry(): Promise<void> {
    if (this.#isRetrying) return;
    this.#isRetrying = true;
    const due = [...this.#failed.keys()].slice(0, DECRYPT_RETRIES_MAX);
    const outcomes = await Promise.all(due.map((id) => this.#retryOne(id)));
    this.#isRetrying = false;
    if (outcomes.includes(true)) this.#options.onReadable();
  }

  /** Whether values may have become readable. */
  async #retryOne(id: string): Promise<boolean> {
    const failure = this.#failed.get(id);
    if (failure === undefined) return false;
    const pending = this.#pending.get(id) ?? this.#begin(id, { ...failure, isRetry: true });
    const found = await pending.decrypting;
    if (typeof found === "string") return false;
    if (found.fingerprint !== failure.rejected) return true;
    this.#failed.set(id, failure);
    return false;
  }

  #begin(
    id: string,
    { type, encrypted, isRetry }: Pick<Failure, "type" | "encrypted"> & Pick<Pending, "isRetry">,
  ): Pending {
    const decrypting = this.#decrypted(type, encrypted).then((found) => {
      this.#pending.delete(id);
      const untilMs = this.#options.clock.monotonic() + DECRYPT_RETRY_MS;
      if (typeof found === "string") this.#failed.set(id, { type, encrypted, untilMs, problem: found });
      else this.#failed.delete(id);
      return found;
    });
    const pending: Pending = { decrypting, isRetry, inTime: undefined };
    this.#pending.set(id, pending);
    return pending;
  }

  async #decrypted(type: number, encrypted: EncryptedDataKey): Promise<Found> {
    const { plugin, random } = this.#options;
    await this.#slot();
    try {
      const plaintext = await plugin.decrypt(encrypted, randomUuid(random));
      this.#silence = undefined;
      return this.add(type, encrypted, plaintext);
    } catch (thrown) {
      const problem = `and the KMS plugin does not decrypt its data key: ${problemOf(thrown)}`;
      this.#silence = thrown instanceof RpcFailure && thrown.kind === "deadline" ? problem : undefined;
      return problem;
    } finally {
      this.#running--;
      this.#queue.shift()?.();
    }
  }

  async #slot(): Promise<void> {
    if (this.#running >= DECRYPTIONS_MAX) await new Promise<void>((resolve) => this.#queue.push(resolve));
    this.#running++;
  }

  /** Does not wait for a plugin that does not respond, and does not wait again for it soon. */
  #inTime(decrypting: Promise<Found>): Promise<Found> {
    const { clock, onReadable } = this.#options;
    return new Promise((resolve) => {
      let isLate = false;
      const cancel = clock.after(DATA_KEY_WAIT_MS, () => {
        isLate = true;
        const problem = `and the KMS plugin has not decrypted its data key within ${DATA_KEY_WAIT_MS} ms`;
        this.#silence = problem;
        resolve(problem);
      });
      void decrypting.then((found) => {
        cancel();
        if (isLate && typeof found !== "string") onReadable();
        resolve(found);
      });
    });
  }
}
