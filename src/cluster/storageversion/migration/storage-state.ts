/**
 * Stores the states of all resources in one ConfigMap, with one key for each resource. People may edit it, so an
 * invalid value counts as unknown, which causes a migration but is never wrong. Concurrent changes are written
 * together.
 */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Random } from "../../../base/random.ts";
import type { Client } from "../../../client/client.ts";
import type { KubernetesObject, ObjectKey, ResourceType } from "../../../client/objects.ts";
import type { ResourceClient } from "../../../client/resource-client.ts";
import { jsonEquals } from "../../../meta/json.ts";
import { isReason } from "../../../meta/status-error.ts";
import { STATE_RACES_MAX, STATE_RETRY_MS, STATE_TIMEOUT_MS } from "./migration-limits.ts";
import { parseStorageState, UNKNOWN_STATE, type StorageState } from "./state-value.ts";

export const STORAGE_STATE_KEY = {
  namespace: "kube-system",
  name: "evenkeel-storage-state",
} as const satisfies ObjectKey;

export interface StorageStates {
  load(name: string): Promise<StorageState>;
  /** `change` may be called more than once. It returns the given state if nothing is to change. */
  update(name: string, change: StateChange): Promise<void>;
  /** Changes every known state in one write. If `change` returns undefined, the state is dropped. */
  updateAll(change: (name: string, state: StorageState) => StorageState | undefined): Promise<void>;
}

type StateChange = (state: StorageState) => StorageState;

interface StorageStatesOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly random: Random;
}

export function createStorageStates(options: StorageStatesOptions): StorageStates {
  return new ConfigMapStates(options);
}

interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

const CONFIG_MAPS: ResourceType = { group: "", version: "v1", resource: "configmaps", namespaced: true };
/** The valid keys of a ConfigMap. */
const KEY_PATTERN = /^[-._a-zA-Z0-9]{1,253}$/;

type Edit = (data: Map<string, string>) => void;

interface Waiting {
  readonly edit: Edit;
  readonly resolve: () => void;
  readonly reject: (thrown: unknown) => void;
}

class ConfigMapStates implements StorageStates {
  readonly #options: StorageStatesOptions;
  readonly #configMaps: ResourceClient<ConfigMap>;
  #waiting: Waiting[] = [];
  #isWriting = false;
  /** Settles when the latest read has ended, successfully or not. */
  #lastRead: Promise<void> = Promise.resolve();
  #nextRead: Promise<ReadonlyMap<string, string>> | undefined;

  constructor(options: StorageStatesOptions) {
    this.#options = options;
    this.#configMaps = options.client.resource<ConfigMap>(CONFIG_MAPS);
  }

  async load(name: string): Promise<StorageState> {
    return parseStorageState((await this.#readTogether()).get(name));
  }

  /** Shares one read among all waiting callers, which may be a thousand. The read begins after they have called. */
  #readTogether(): Promise<ReadonlyMap<string, string>> {
    this.#nextRead ??= this.#lastRead.then(() => {
      this.#nextRead = undefined;
      const read = this.#read().then(dataOf);
      this.#lastRead = read.then(
        () => undefined,
        () => undefined,
      );
      return read;
    });
    return this.#nextRead;
  }

  update(name: string, change: StateChange): Promise<void> {
    if (!KEY_PATTERN.test(name))
      return Promise.reject(new TypeError(`${JSON.stringify(name)} is not a valid resource name`));
    return this.#edit((data) => {
      const before = parseStorageState(data.get(name));
      const after = change(before);
      if (jsonEquals(after, before)) return;
      if (jsonEquals(after, UNKNOWN_STATE)) data.delete(name);
      else data.set(name, JSON.stringify(after));
    });
  }

  updateAll(change: (name: string, state: StorageState) => StorageState | undefined): Promise<void> {
    return this.#edit((data) => {
      for (const [name, text] of data) {
        const before = parseStorageState(text);
        const after = change(name, before);
        if (after === undefined) data.delete(name);
        else if (!jsonEquals(after, before)) data.set(name, JSON.stringify(after));
      }
    });
  }

  #edit(edit: Edit): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ edit, resolve, reject });
    if (!this.#isWriting) void this.#writeAll();
    return promise;
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    // Waits for all changes that are requested in the same tick, so that one write includes them.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const together = this.#waiting;
      this.#waiting = [];
      try {
        await this.#write((data) => {
          for (const { edit } of together) edit(data);
        });
        for (const { resolve } of together) resolve();
      } catch (thrown) {
        for (const { reject } of together) reject(thrown);
      }
    }
    this.#isWriting = false;
  }

  async #write(edit: Edit): Promise<void> {
    const { clock, random } = this.#options;
    for (let race = 1; ; race++) {
      const current = await this.#read();
      const before = dataOf(current);
      const after = new Map(before);
      edit(after);
      if (jsonEquals([...after], [...before])) return;
      try {
        return await this.#save(current, after);
      } catch (thrown) {
        const isLost =
          isReason(thrown, "Conflict") || isReason(thrown, "AlreadyExists") || isReason(thrown, "NotFound");
        if (!isLost || race >= STATE_RACES_MAX) throw thrown;
      }
      await sleep(clock, STATE_RETRY_MS * race * (1 + random.float()));
    }
  }

  async #save(current: ConfigMap | undefined, after: ReadonlyMap<string, string>): Promise<void> {
    const data = Object.fromEntries(after);
    const options = { timeoutMs: STATE_TIMEOUT_MS };
    if (current !== undefined) await this.#configMaps.replace({ ...current, data }, options);
    else
      await this.#configMaps.create(
        { apiVersion: "v1", kind: "ConfigMap", metadata: { ...STORAGE_STATE_KEY }, data },
        options,
      );
  }

  async #read(): Promise<ConfigMap | undefined> {
    try {
      return await this.#configMaps.get(STORAGE_STATE_KEY, { timeoutMs: STATE_TIMEOUT_MS });
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return undefined;
      throw thrown;
    }
  }
}

function dataOf(configMap: ConfigMap | undefined): Map<string, string> {
  return new Map(Object.entries(configMap?.data ?? {}));
}
