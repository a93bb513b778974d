/** The providers of one encryption configuration, with the connections to its KMS plugins. */
import type { Clock } from "../../base/clock.ts";
import type { Random } from "../../base/random.ts";
import type { GroupResource } from "../../meta/group-version.ts";
import type { EncryptionConfig, Provider } from "./encryption-config.ts";
import type { EncryptionMetrics } from "./encryption-metrics.ts";
import { KmsProvider } from "./kms/kms-provider.ts";
import type { KmsPlugin, KmsPluginAddress, ObserveCall } from "./kms/plugin-client.ts";
import { localKey, ResourceProviders, type SealingKey } from "./providers.ts";

/** Connects to a KMS plugin. No call is made yet. */
export type OpenKmsPlugin = (address: KmsPluginAddress, onCall: ObserveCall) => KmsPlugin;

export interface ActiveOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly metrics: EncryptionMetrics;
  readonly openPlugin: OpenKmsPlugin;
  /** Called when values that could not be decrypted may now be. */
  readonly onReadable: () => void;
}

export class ActiveEncryption {
  readonly #byResource: ReadonlyMap<string, ResourceProviders>;
  readonly plugins: readonly KmsProvider[];
  /** Longer than the calls of all plugins in turn. */
  readonly graceMs: number;

  constructor(config: EncryptionConfig, options: ActiveOptions) {
    const plugins = new Map<Provider, KmsProvider>();
    const keysOf = (provider: Provider): readonly SealingKey[] | "identity" => {
      if (provider.kind === "identity") return "identity";
      if (provider.kind === "kms") {
        const plugin = plugins.get(provider) ?? openProvider(provider, options);
        plugins.set(provider, plugin);
        return [plugin];
      }
      const { kind, keys } = provider;
      return keys.map(({ name, fingerprint, createCipher }) =>
        localKey({ kind, name, fingerprint, cipher: createCipher(options.random) }),
      );
    };
    this.#byResource = new Map(
      [...config].map(([name, providers]) => [name, new ResourceProviders(providers.map(keysOf))]),
    );
    this.plugins = [...plugins.values()];
    this.graceMs = 2 * [...plugins.keys()].reduce((sum, one) => sum + (one.kind === "kms" ? one.timeoutMs : 0), 0);
  }

  /** Undefined if nothing is configured for the resource. */
  providersOf({ group, resource }: GroupResource): ResourceProviders | undefined {
    const name = group === "" ? resource : `${resource}.${group}`;
    return this.#byResource.get(name) ?? this.#byResource.get(`*.${group}`) ?? this.#byResource.get("*.*");
  }

  /** Calls every plugin once. */
  async check(): Promise<void> {
    await Promise.all(this.plugins.map((plugin) => plugin.check()));
  }

  /** Why the plugins are unhealthy; undefined if all of them are healthy. */
  get problem(): string | undefined {
    const problems = this.plugins.flatMap(({ name, problem }, index) =>
      problem === undefined ? [] : [`kms-provider-${index}: the KMS plugin ${JSON.stringify(name)}: ${problem}`],
    );
    return problems.length === 0 ? undefined : problems.join("; ");
  }

  close(): void {
    for (const plugin of this.plugins) plugin.close();
  }
}

function openProvider(provider: Extract<Provider, { kind: "kms" }>, options: ActiveOptions): KmsProvider {
  const { clock, random, metrics, onReadable } = options;
  const { name, socket, timeoutMs } = provider;
  const plugin = options.openPlugin({ socket, timeoutMs }, (method, seconds, status) =>
    metrics.pluginCalled(name, method, { seconds, status }),
  );
  return new KmsProvider({ name, plugin, clock, random, metrics, onReadable });
}
