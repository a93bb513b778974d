/**
 * The data key with which values are written. A server creates one when it starts, and another one whenever the plugin
 * reports another key ID; the plugin encrypts it. It is used while status calls confirm the key ID.
 */
import type { Clock } from "../../../base/clock.ts";
import { randomUuid, type Random } from "../../../base/random.ts";
import { StorageError } from "../../kv.ts";
import { SEED_BYTES } from "../ciphers.ts";
import type { DataKey, DataKeys } from "./data-keys.ts";
import { dataKeyProblem } from "./encrypted-data-key.ts";
import { DATA_KEY_WRITE_MS } from "./kms-limits.ts";
import { DATA_KEY_TYPE, type EncryptedDataKey } from "./messages.ts";
import type { KmsPlugin } from "./plugin-client.ts";

interface Writable {
  readonly key: DataKey;
  readonly encrypted: EncryptedDataKey;
}

interface WriteKeyOptions {
  /** The name of the provider, for errors. */
  readonly name: string;
  readonly plugin: KmsPlugin;
  readonly clock: Clock;
  readonly random: Random;
  readonly dataKeys: DataKeys;
}

export class WriteKey {
  readonly #options: WriteKeyOptions;
  #current: Writable | undefined;
  #expiresAtMs = 0;

  constructor(options: WriteKeyOptions) {
    this.#options = options;
  }

  /** `sealedBy` of the values that are written. */
  get sealedBy(): string | undefined {
    return this.#current?.key.sealing.sealedBy;
  }

  /** The data key of a write. Throws a `StorageError` if there is none, or if it has expired. */
  usable(): Writable {
    const { name, clock } = this.#options;
    const plugin = `the KMS plugin ${JSON.stringify(name)}`;
    if (this.#current === undefined)
      throw new StorageError(
        "no-encryption-key",
        `the value cannot be encrypted: ${plugin} has not provided a key yet`,
      );
    if (clock.monotonic() > this.#expiresAtMs)
      throw new StorageError(
        "no-encryption-key",
        `the value cannot be encrypted: ${plugin} has not confirmed its key for ${DATA_KEY_WRITE_MS / 1000} s`,
      );
    return this.#current;
  }

  /**
   * Called when a status call that began at `sinceMs` has reported the key ID. Resolves to a problem if there is no data
   * key for it; the previous one is then used until it expires.
   */
  async confirm(keyId: string, sinceMs: number): Promise<string | undefined> {
    const expiresAtMs = sinceMs + DATA_KEY_WRITE_MS;
    if (this.#current?.encrypted.keyId !== keyId) {
      const created = await this.#create(keyId);
      if (typeof created === "string") return created;
      this.#current = created;
    }
    this.#expiresAtMs = expiresAtMs;
    return undefined;
  }

  async #create(keyId: string): Promise<Writable | string> {
    const { plugin, random, dataKeys } = this.#options;
    // A copy, because the source of randomness may return a part of a larger buffer.
    const seed = Buffer.from(random.bytes(SEED_BYTES));
    const encrypted = await plugin.encrypt(seed, randomUuid(random));
    const problem = dataKeyProblem(encrypted);
    if (problem !== undefined) return `it has encrypted a data key that cannot be used: ${problem}`;
    if (encrypted.keyId !== keyId) return "it encrypts with another key ID than its status reports";
    const key = dataKeys.add(DATA_KEY_TYPE.derivedKeySeed, encrypted, seed);
    key.isProven = true;
    return { key, encrypted };
  }
}
