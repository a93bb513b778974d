/**
 * Decrypts stored values with the encryption configuration that the user has given, and counts encrypted values by
 * provider and key. A value that cannot be decrypted is counted only: nothing is guessed about it.
 */
import type { Clock } from "../../../../base/clock.ts";
import { MetricsRegistry } from "../../../../base/metrics.ts";
import type { Random } from "../../../../base/random.ts";
import { formatGroupResource } from "../../../../meta/group-version.ts";
import { ActiveEncryption, type OpenKmsPlugin } from "../../../../storage/encryption/active-encryption.ts";
import type { EncryptionConfig, Provider } from "../../../../storage/encryption/encryption-config.ts";
import { createEncryptionMetrics } from "../../../../storage/encryption/encryption-metrics.ts";
import { isEncrypted as hasHeader, type ResourceProviders } from "../../../../storage/encryption/providers.ts";
import { OTHERS, type EncryptionKeyStatus, type EncryptionKeyTally } from "../inspection.ts";
import { bounded, type ResourceStat } from "./resource-stats.ts";

/** The parsed configuration, and the connections to its KMS plugins. */
export interface DecryptionOptions {
  readonly config: EncryptionConfig;
  readonly clock: Clock;
  readonly random: Random;
  readonly openPlugin: OpenKmsPlugin;
}

const COLON = 0x3a;
const KEYS_MAX = 200;
const RESOURCES_MAX = 50;
/** The names of the provider and of the key are within the first bytes of a value. */
const HEADER_BYTES = 512;
/** Values that wait for a KMS plugin at the same time. */
const WAITING_BYTES_MAX = 16 * 1024 * 1024;

interface KeyStat {
  readonly provider: string;
  readonly version: string;
  readonly key: string;
  readonly resources: Set<string>;
  values: number;
  bytes: number;
  decrypted: number;
  failure: EncryptionKeyStatus | undefined;
}

/** Values in clear of a resource that the configuration encrypts. */
export interface ClearValues {
  readonly stat: ResourceStat;
  /** Whether the configuration has an identity provider for the resource; otherwise no server reads the values. */
  readonly isAllowed: boolean;
  values: number;
}

export class EncryptedValues {
  readonly #options: DecryptionOptions | undefined;
  readonly #active: ActiveEncryption | undefined;
  readonly #keys = new Map<string, KeyStat>();
  readonly #providers = new Map<ResourceStat, ResourceProviders | null>();
  readonly #clear = new Map<ResourceStat, ClearValues>();
  #waitingBytes = 0;
  readonly #waiting: Promise<unknown>[] = [];

  constructor(options: DecryptionOptions | undefined) {
    this.#options = options;
    if (options === undefined) return;
    const metrics = createEncryptionMetrics(new MetricsRegistry(), options.clock, "");
    this.#active = new ActiveEncryption(options.config, { ...options, metrics, onReadable: () => {} });
  }

  /** Whether data keys must be fetched with `prefetch` and `fetched` before values are opened. */
  get needsDataKeys(): boolean {
    return (this.#active?.plugins.length ?? 0) > 0;
  }

  get clear(): readonly ClearValues[] {
    return [...this.#clear.values()];
  }

  get isConfigured(): boolean {
    return this.#options !== undefined;
  }

  /** Begins to fetch the data key of a value, unless many values wait already. */
  prefetch(value: Buffer, key: string, stat: ResourceStat): void {
    if (!isEncryptedValue(value) || this.#waitingBytes > WAITING_BYTES_MAX) return;
    // The plugin responds after the walk has moved on, and then the buffer has other content.
    const copy = Buffer.from(value);
    const opened = this.#providersOf(stat)?.open(copy, key);
    if (!(opened instanceof Promise)) return;
    this.#waitingBytes += copy.length;
    this.#waiting.push(opened);
  }

  /** Waits for the data keys. Returns whether there may be more. */
  async fetched(): Promise<boolean> {
    const hasMore = this.#waitingBytes > WAITING_BYTES_MAX;
    await Promise.all(this.#waiting.splice(0));
    this.#waitingBytes = 0;
    return hasMore;
  }

  /** The value in clear; undefined if it cannot be decrypted. */
  open(value: Buffer, key: string, stat: ResourceStat): Buffer | undefined {
    const providers = this.#active === undefined ? undefined : this.#providersOf(stat);
    if (!isEncryptedValue(value)) {
      if (providers !== undefined) this.#countClear(value, stat, providers);
      return value;
    }
    const counted = this.#count(value, stat);
    if (this.#active === undefined) return this.#failed(counted, "not-tried");
    if (providers === undefined || providers.readPrefix(value) === "unknown")
      return this.#failed(counted, "not-configured");
    const opened = providers.open(value, key);
    if (opened instanceof Promise) return this.#failed(counted, "no-response");
    if (opened.sealing.problem === undefined) {
      counted.decrypted++;
      return opened.value;
    }
    return this.#failed(counted, counted.provider === "kms" ? "no-response" : "failed");
  }

  /** As `open`, for a value that has been counted. */
  reopen(value: Buffer, key: string, stat: ResourceStat): Buffer | undefined {
    if (!isEncryptedValue(value)) return value;
    const opened = this.#active === undefined ? undefined : this.#providersOf(stat)?.open(value, key);
    if (opened === undefined || opened instanceof Promise || opened.sealing.problem !== undefined) return undefined;
    return opened.value;
  }

  tallies(): EncryptionKeyTally[] {
    const writers = this.#writers();
    const used = [...this.#keys.entries()].map(([id, stat]): EncryptionKeyTally => {
      const { provider, version, key, values, bytes, decrypted, failure } = stat;
      const status = failure === undefined ? "decrypted" : decrypted > 0 ? "partly" : failure;
      const resources = [...stat.resources].toSorted();
      return { provider, version, key, resources, values, bytes, status, isWriter: writers.has(id) };
    });
    const unused = [...this.#configured()].flatMap(([id, key]): EncryptionKeyTally[] =>
      this.#keys.has(id) ? [] : [{ ...key, values: 0, bytes: 0, status: "unused", isWriter: writers.has(id) }],
    );
    return [...used.toSorted((a, b) => b.values - a.values), ...unused];
  }

  close(): void {
    this.#active?.close();
  }

  #failed(stat: KeyStat, failure: EncryptionKeyStatus): undefined {
    stat.failure ??= failure;
    return undefined;
  }

  #countClear(value: Buffer, stat: ResourceStat, providers: ResourceProviders): void {
    if (providers.writePrefix === "") return;
    let clear = this.#clear.get(stat);
    if (clear === undefined) {
      clear = { stat, isAllowed: providers.readPrefix(value) === "identity", values: 0 };
      this.#clear.set(stat, clear);
    }
    clear.values++;
  }

  #count(value: Buffer, { group, resource }: ResourceStat): KeyStat {
    const [, , provider = "", version = "", key = ""] = value.toString("latin1", 0, HEADER_BYTES).split(":", 5);
    let id = keyId(provider, key);
    if (!this.#keys.has(id) && this.#keys.size >= KEYS_MAX) id = OTHERS;
    let stat = this.#keys.get(id);
    if (stat === undefined) {
      const names = id === OTHERS ? [OTHERS, "", OTHERS] : [provider, version, key];
      const [shownProvider = "", shownVersion = "", shownKey = ""] = names.map(printable);
      stat = {
        provider: shownProvider,
        version: shownVersion,
        key: shownKey,
        resources: new Set(),
        values: 0,
        bytes: 0,
        decrypted: 0,
        failure: undefined,
      };
      this.#keys.set(id, stat);
    }
    stat.values++;
    stat.bytes += value.length;
    if (stat.resources.size < RESOURCES_MAX) stat.resources.add(bounded(formatGroupResource({ group, resource })));
    return stat;
  }

  #providersOf(stat: ResourceStat): ResourceProviders | undefined {
    let providers = this.#providers.get(stat);
    if (providers === undefined) {
      providers = this.#active?.providersOf(stat) ?? null;
      this.#providers.set(stat, providers);
    }
    return providers ?? undefined;
  }

  /** The keys with which servers encrypt new values. */
  #writers(): ReadonlySet<string> {
    const ids = [...(this.#options?.config.values() ?? [])].flatMap(([first]) => {
      const [writer] = first === undefined ? [] : keysOf(first);
      return writer === undefined ? [] : [keyId(writer.provider, writer.key)];
    });
    return new Set(ids);
  }

  /** All keys of the configuration, with the resources for which it has them. */
  #configured(): ReadonlyMap<string, ConfiguredKey> {
    const keys = new Map<string, ConfiguredKey>();
    for (const [resource, providers] of this.#options?.config ?? []) {
      for (const { provider, key } of providers.flatMap(keysOf)) {
        const id = keyId(provider, key);
        const resources = [...(keys.get(id)?.resources ?? []), resource];
        keys.set(id, { provider, version: provider === "kms" ? "v2" : "v1", key, resources });
      }
    }
    return keys;
  }
}

type ConfiguredKey = Pick<EncryptionKeyTally, "provider" | "version" | "key" | "resources">;

function keysOf(provider: Provider): readonly Pick<ConfiguredKey, "provider" | "key">[] {
  if (provider.kind === "identity") return [];
  const names = provider.kind === "kms" ? [provider.name] : provider.keys.map(({ name }) => name);
  return names.map((key) => ({ provider: provider.kind, key }));
}

/** One byte decides for nearly all values, which is far cheaper. */
export function isEncryptedValue(value: Buffer): boolean {
  return value[3] === COLON && hasHeader(value);
}

function keyId(provider: string, key: string): string {
  return `${provider}:${key}`;
}

/** A value in the store may begin with anything. */
function printable(name: string): string {
  return bounded(name).replaceAll(/[^\x21-\x7e\u2026]/g, "?");
}
