/**
 * A KMS plugin as a provider. Values are encrypted with data keys, which the plugin encrypts with a key that never leaves
 * it. The plugin is polled, so that its rotated key is used and its outage is known.
 */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import { within } from "../../../base/within.ts";
import { DecodeError } from "../../grpc/wire.ts";
import { sha256, type EncryptionMetrics } from "../encryption-metrics.ts";
import type { Sealed, SealingKey, Unsealed } from "../providers.ts";
import { DataKeys, type Found } from "./data-keys.ts";
import { dataKeyProblem, keyIdProblem, problemOf } from "./encrypted-data-key.ts";
import { CHECK_WAIT_MS, STATUS_INTERVAL_MS, STATUS_RETRY_MS } from "./kms-limits.ts";
import { DATA_KEY_TYPE, decodeValue, encodeValue, type EncryptedValue, type KmsStatus } from "./messages.ts";
import type { KmsPlugin } from "./plugin-client.ts";
import { WriteKey } from "./write-key.ts";

interface KmsProviderOptions {
  readonly name: string;
  readonly plugin: KmsPlugin;
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: EncryptionMetrics;
  /** Called when values that could not be decrypted may now be. */
  readonly onReadable: () => void;
}

const SILENT = "the KMS plugin does not respond";
const VERSIONS: readonly string[] = ["v2", "v2beta1"];
const TYPES: readonly number[] = Object.values(DATA_KEY_TYPE);

export class KmsProvider implements SealingKey {
  readonly name: string;
  readonly header: string;
  readonly #options: KmsProviderOptions;
  readonly #dataKeys: DataKeys;
  readonly #writeKey: WriteKey;
  /** The version of the API that the plugin has reported first. */
  #version: string | undefined;
  #checking: Promise<void> | undefined;
  #problem: string | undefined = SILENT;

  constructor(options: KmsProviderOptions) {
    const { name, plugin, clock, random, onReadable } = options;
    this.#options = options;
    this.name = name;
    this.header = `k8s:enc:kms:v2:${name}:`;
    const sealedBy = (type: number, keyId: string): string => `${this.header}${type}:${keyId}`;
    this.#dataKeys = new DataKeys({ plugin, clock, random, sealedBy, onReadable });
    this.#writeKey = new WriteKey({ name, plugin, clock, random, dataKeys: this.#dataKeys });
  }

  /** Why the plugin is unhealthy; undefined if it is healthy. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Number of decrypted data keys in memory. */
  get dataKeys(): number {
    return this.#dataKeys.size;
  }

  get current(): string | undefined {
    return this.#writeKey.sealedBy;
  }

  reads(sealedBy: string): boolean {
    return sealedBy.startsWith(this.header);
  }

  seal(plain: Buffer, context: Buffer): Sealed {
    const { key, encrypted: dataKey } = this.#writeKey.usable();
    this.#options.metrics.keyUsed("to_storage", this.name, dataKey.keyId);
    const value = { data: key.cipher.encrypt(plain, context), dataKey, type: DATA_KEY_TYPE.derivedKeySeed };
    return { body: encodeValue(value), sealing: key.sealing };
  }

  open(body: Buffer, context: Buffer): Unsealed | Promise<Unsealed> {
    const value = decoded(body);
    if (typeof value === "string") return `and the value is malformed: ${value}`;
    const { type, dataKey } = value;
    const found = this.#dataKeys.find(type, dataKey);
    if (found instanceof Promise) {
      this.#options.metrics.dataKeyMissed();
      return found.then((late) => this.#unsealed(value, late, context));
    }
    return this.#unsealed(value, found, context);
  }

  #unsealed({ data, dataKey, type }: EncryptedValue, found: Found, context: Buffer): Unsealed {
    if (typeof found === "string") return `${found} ${named(dataKey.keyId)}`;
    try {
      const value = found.cipher.decrypt(data, context);
      found.isProven = true;
      this.#options.metrics.keyUsed("from_storage", this.name, dataKey.keyId);
      return { value, sealing: found.sealing };
    } catch {
      this.#dataKeys.doubt(type, dataKey, found);
      // The error says nothing more than that the key does not fit.
      return `and its data key does not decrypt it ${named(dataKey.keyId)}`;
    }
  }

  /**
   * Calls the plugin once, and uses the key ID that it reports. Joins a call that has not ended. Does not wait long for a
   * plugin that does not respond, whatever its timeout is.
   */
  async check(signal?: AbortSignal): Promise<void> {
    const checking = (this.#checking ??= this.#check().finally(() => (this.#checking = undefined)));
    try {
      await within(this.#options.clock, CHECK_WAIT_MS, () => checking, signal);
    } catch {
      if (signal?.aborted !== true) this.#problem = SILENT;
    }
  }

  async #check(): Promise<void> {
    const { plugin, clock } = this.#options;
    const sinceMs = clock.monotonic();
    try {
      this.#problem = await this.#assess(await plugin.status(), sinceMs);
    } catch (thrown) {
      this.#problem = problemOf(thrown);
    }
    // Not awaited, because the next status call must not wait for the decryption of data keys.
    if (this.#problem === undefined) void this.#dataKeys.retry();
  }

  async #assess({ version, healthz, keyId }: KmsStatus, sinceMs: number): Promise<string | undefined> {
    const { metrics } = this.#options;
    const invalidId = keyIdProblem(keyId);
    if (invalidId !== undefined) {
      metrics.invalidKeyId(this.name, invalidId);
      return "its status has no usable key ID";
    }
    metrics.keyReported(this.name, keyId);
    const rotation = await this.#writeKey.confirm(keyId, sinceMs);
    if (healthz !== "ok") return `it reports ${JSON.stringify(problemOf(healthz))}`;
    if (!VERSIONS.includes(version)) return "its status reports another version of the API than v2";
    this.#version ??= version;
    if (version !== this.#version) return "the version of the API in its status has changed";
    return rotation;
  }

  /** Calls the plugin at an interval until the signal aborts, and `onChecked` after each call. */
  async poll(signal: AbortSignal, onChecked: () => void): Promise<void> {
    const waitMs = (): number => (this.#problem === undefined ? STATUS_INTERVAL_MS : STATUS_RETRY_MS);
    while (await sleep(this.#options.clock, waitMs(), signal)) {
      await this.check(signal);
      onChecked();
    }
  }

  close(): void {
    this.#options.plugin.close();
  }
}

/** As in metrics, so that an operator can find the key. The key IDs of some plugins are confidential. */
function named(keyId: string): string {
  return `(key ID ${sha256(keyId)})`;
}

/** The value, or why it is malformed. */
function decoded(body: Buffer): EncryptedValue | string {
  try {
    const value = decodeValue(body);
    if (!TYPES.includes(value.type)) return `its data key has the unknown type ${value.type}`;
    if (value.data.length === 0) return "it has no data";
    return dataKeyProblem(value.dataKey) ?? value;
  } catch (thrown) {
    if (thrown instanceof DecodeError) return thrown.message;
    throw thrown;
  }
}
