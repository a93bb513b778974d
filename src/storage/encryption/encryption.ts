/**
 * The encryption of a server's store: the active configuration, its reload, the health of its KMS plugins, and the second
 * read of values that become readable or unreadable.
 */
import type { BackgroundTask } from "../../base/background.ts";
import { sleep, type Clock } from "../../base/clock.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import type { Log } from "../../base/log.ts";
import { runTogether } from "../../base/run-together.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import { Wakeable } from "../../base/wakeable.ts";
import { messageOf } from "../../base/within.ts";
import { formatGroupResource, type GroupResource } from "../../meta/group-version.ts";
import { StorageError, type Kv, type Sealing } from "../kv.ts";
import type { WatchCache } from "../watch-cache/cache.ts";
import type { Entry } from "../watch-cache/entry.ts";
import { ActiveEncryption, type ActiveOptions } from "./active-encryption.ts";
import type { ValueEncryption } from "./encrypted-kv.ts";
import type { EncryptionConfig } from "./encryption-config.ts";
import {
  HEALTH_POLL_MS,
  HEALTH_WAIT_MS_MIN,
  PREVIOUS_KEYS_MS_MIN,
  RELOAD_INTERVAL_MS,
  REREAD_RETRY_MS,
} from "./encryption-limits.ts";
import { withoutProviders, type Opened, type ResourceProviders } from "./providers.ts";
import { rereadValues } from "./reread.ts";

/** A parsed file, with a hash of its content. */
export interface LoadedConfig {
  readonly config: EncryptionConfig;
  readonly hash: string;
}

interface EncryptionOptions extends Omit<ActiveOptions, "onReadable"> {
  readonly log: Log;
  readonly initial: LoadedConfig;
  /**
   * Reads and parses the file, or returns undefined if it has this hash. Throws an Error without secrets in its message.
   * Absent if the file is not reloaded.
   */
  readonly reload: ((knownHash: string) => LoadedConfig | undefined) | undefined;
  /** The resource to which a key belongs; undefined for a record of the servers themselves, which is stored in clear. */
  readonly resourceOf: (key: string) => GroupResource | undefined;
}

/** A configuration in use. `retired` aborts when another one replaces it. */
interface InUse {
  readonly encryption: ActiveEncryption;
  readonly hash: string;
  readonly retired: AbortController;
}

export class Encryption implements ValueEncryption {
  readonly #options: EncryptionOptions;
  readonly #clock: Clock;
  #inUse: InUse;
  readonly #rereading: Wakeable;
  #isRereadDue = false;
  /** The names of the plugins whose problem is in the log. */
  readonly #unhealthy = new Set<string>();
  #lastError: string | undefined;
  /** Closes configurations that were replaced a moment ago. */
  readonly #closings = new Set<() => void>();

  constructor(options: EncryptionOptions) {
    this.#options = options;
    this.#clock = options.clock;
    this.#rereading = new Wakeable(options.clock);
    this.#inUse = this.#activated(this.#open(options.initial.config), options.initial.hash);
    options.metrics.showDataKeys(() => this.#inUse.encryption.plugins.map(({ name, dataKeys }) => [name, dataKeys]));
  }

  /** Calls every KMS plugin once. A server also starts while plugins are unhealthy. */
  async check(): Promise<void> {
    await this.#inUse.encryption.check();
    this.#logHealth();
  }

  /** The health check of the KMS plugins; undefined if there can be none. */
  healthCheck(): (() => string | undefined) | undefined {
    const hasPlugins = this.#options.reload !== undefined || this.#inUse.encryption.plugins.length > 0;
    return hasPlugins ? () => this.#inUse.encryption.problem : undefined;
  }

  seal(plain: Buffer, key: string): Opened | undefined {
    const configured = this.#configuredFor(key);
    if (configured === undefined) return undefined;
    const { providers, resource } = configured;
    const report = this.#measure(resource, "to_storage", providers.writePrefix);
    try {
      const sealed = providers.seal(plain, key);
      report(true);
      return sealed;
    } catch (thrown) {
      report(false);
      throw thrown;
    }
  }

  open(value: Buffer, key: string): Opened | Promise<Opened> {
    const configured = this.#configuredFor(key);
    if (configured === undefined) return withoutProviders(value);
    const { providers, resource } = configured;
    const report = this.#measure(resource, "from_storage", providers.readPrefix(value));
    const reported = (opened: Opened): Opened => {
      report(opened.sealing.problem === undefined);
      return opened;
    };
    const opened = providers.open(value, key);
    return opened instanceof Promise ? opened.then(reported) : reported(opened);
  }

  isOutdated(key: string, sealing: Sealing | undefined): boolean {
    const providers = this.#configuredFor(key)?.providers;
    return providers !== undefined && sealing !== undefined && providers.isOutdated(sealing);
  }

  task(kv: Kv, cache: WatchCache): BackgroundTask {
    return {
      name: "encryption",
      run: (signal) =>
        runTogether(signal, [
          (ending) => this.#pollPlugins(ending),
          (ending) => this.#reloadAtInterval(ending),
          (ending) => this.#rereadOnDemand(kv, cache, ending),
        ]),
    };
  }

  close(): void {
    this.#inUse.encryption.close();
    for (const close of this.#closings) close();
  }

  #open(config: EncryptionConfig): ActiveEncryption {
    return new ActiveEncryption(config, { ...this.#options, onReadable: () => this.#wakeReread() });
  }

  #activated(encryption: ActiveEncryption, hash: string): InUse {
    this.#options.metrics.configApplied(hash);
    return { encryption, hash, retired: new AbortController() };
  }

  #configuredFor(key: string): { readonly providers: ResourceProviders; readonly resource: GroupResource } | undefined {
    const resource = this.#options.resourceOf(key);
    const providers = resource && this.#inUse.encryption.providersOf(resource);
    return resource === undefined || providers === undefined ? undefined : { providers, resource };
  }

  #measure(
    resource: GroupResource,
    transformation: "from_storage" | "to_storage",
    prefix: string,
  ): (hasSucceeded: boolean) => void {
    const startedAtMs = this.#clock.monotonic();
    return (hasSucceeded) => {
      const seconds = hasSucceeded ? (this.#clock.monotonic() - startedAtMs) / 1000 : undefined;
      this.#options.metrics.transformed(formatGroupResource(resource), transformation, { prefix, seconds });
    };
  }

  /** Logs each change, because a server with an unhealthy plugin is not ready, and /readyz withholds the reason. */
  #logHealth(): void {
    for (const { name: plugin, problem } of this.#inUse.encryption.plugins) {
      if (problem === undefined) {
        if (this.#unhealthy.delete(plugin)) this.#options.log.info("KMS plugin healthy again", { plugin });
      } else if (!this.#unhealthy.has(plugin)) {
        this.#unhealthy.add(plugin);
        this.#options.log.warn("KMS plugin unhealthy", { plugin, problem });
      }
    }
  }

  async #pollPlugins(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const { encryption, retired } = this.#inUse;
      const polls = encryption.plugins.map(
        (plugin) => (ending: AbortSignal) => plugin.poll(ending, () => this.#logHealth()),
      );
      await runTogether(eitherSignal(signal, retired.signal), [...polls, untilAborted]);
    }
  }

  async #reloadAtInterval(signal: AbortSignal): Promise<void> {
    const { reload } = this.#options;
    if (reload === undefined) return untilAborted(signal);
    while (await sleep(this.#clock, RELOAD_INTERVAL_MS, signal)) {
      try {
        const loaded = reload(this.#inUse.hash);
        if (loaded !== undefined) await this.#replace(loaded, signal);
        this.#lastError = undefined;
      } catch (thrown) {
        this.#reloadFailed(messageOf(thrown));
      }
    }
  }

  /** Throws if a plugin of the new configuration is unhealthy. The previous configuration then stays in use. */
  async #replace({ config, hash }: LoadedConfig, signal: AbortSignal): Promise<void> {
    const { log, metrics } = this.#options;
    const next = this.#open(config);
    const problem = await this.#problemOf(next, signal);
    if (problem !== undefined || signal.aborted) {
      next.close();
      if (signal.aborted) return;
      throw new Error(problem);
    }
    const previous = this.#inUse;
    this.#inUse = this.#activated(next, hash);
    previous.retired.abort();
    this.#closeLater(previous.encryption);
    metrics.reloaded("success");
    log.info("encryption configuration reloaded", { hash });
    this.#wakeReread();
  }

  /** Calls in flight may still complete. Their values were read with the previous keys, so they are checked then. */
  #closeLater(encryption: ActiveEncryption): void {
    const close = (): void => {
      cancel();
      this.#closings.delete(close);
      encryption.close();
      this.#wakeReread();
    };
    const cancel = this.#clock.after(Math.max(PREVIOUS_KEYS_MS_MIN, encryption.graceMs), close);
    this.#closings.add(close);
  }

  /** Waits until the plugins are healthy, but not for long. */
  async #problemOf(encryption: ActiveEncryption, signal: AbortSignal): Promise<string | undefined> {
    const untilMs =
      this.#clock.monotonic() + Math.min(Math.max(HEALTH_WAIT_MS_MIN, encryption.graceMs), RELOAD_INTERVAL_MS);
    for (;;) {
      await encryption.check();
      const { problem } = encryption;
      if (problem === undefined || this.#clock.monotonic() >= untilMs) return problem;
      if (!(await sleep(this.#clock, HEALTH_POLL_MS, signal))) return problem;
    }
  }

  #reloadFailed(error: string): void {
    this.#options.metrics.reloaded("failure");
    if (error === this.#lastError) return;
    this.#lastError = error;
    this.#options.log.warn("failed to reload the encryption configuration; the previous one stays in use", { error });
  }

  #wakeReread(): void {
    this.#isRereadDue = true;
    this.#rereading.wake();
  }

  async #rereadOnDemand(kv: Kv, cache: WatchCache, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.#rereading.wait(REREAD_RETRY_MS, signal);
      if (!this.#isRereadDue || cache.state === "loading" || signal.aborted) continue;
      this.#isRereadDue = false;
      try {
        const values = await rereadValues({ kv, cache, isDue: (entry) => this.#isChanged(entry), signal });
        if (values > 0) this.#options.log.info("values read a second time after a change of keys", { values });
      } catch (thrown) {
        if (!(thrown instanceof StorageError)) throw thrown;
        this.#isRereadDue = true;
        await sleep(this.#clock, REREAD_RETRY_MS, signal);
      }
    }
  }

  /** Whether a value may be readable now, or may have become unreadable. */
  #isChanged({ key, sealing }: Entry): boolean {
    if (sealing === undefined) return false;
    const providers = this.#configuredFor(key)?.providers;
    const isReadable = providers === undefined ? sealing.sealedBy === "" : providers.reads(sealing);
    return sealing.problem !== undefined || !isReadable;
  }
}
