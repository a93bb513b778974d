/** An informer on a scripted server and a virtual clock, which records the notifications that its handler receives. */
import { World } from "../../../src/tools/simulator/world.ts";
import { StoreEpochs } from "../../../src/base/store-epoch.ts";
import { createClient } from "../../../src/client/client.ts";
import type { InformerHandler } from "../../../src/client/handler-queue.ts";
import type { Informer, InformerSettings } from "../../../src/client/informer.ts";
import type { KubernetesObject } from "../../../src/client/objects.ts";
import { CONFIG_MAPS, ScriptedTransport, type Reply } from "./scripted-transport.ts";

/**
 * Records notifications as "add a@1", "update a@1→2", "delete a@3", with "(initial)" for an object of the initial list
 * and "(unknown)" if the final state is unknown.
 */
export function recorder(notifications: string[]): InformerHandler<KubernetesObject> {
  return {
    onAdd: (object, { isInInitialList }) =>
      void notifications.push(`add ${describe(object)}${isInInitialList ? " (initial)" : ""}`),
    onUpdate: (object, before) =>
      void notifications.push(`update ${describe(before)}→${object.metadata?.resourceVersion}`),
    onDelete: (object, { isFinalStateUnknown }) =>
      void notifications.push(`delete ${describe(object)}${isFinalStateUnknown ? " (unknown)" : ""}`),
  };
}

function describe({ metadata }: KubernetesObject): string {
  return `${metadata?.name}@${metadata?.resourceVersion}`;
}

export class RunningInformer {
  readonly world = new World({ seed: 3 });
  readonly epochs = new StoreEpochs();
  readonly transport: ScriptedTransport;
  readonly informer: Informer;
  readonly reported: string[] = [];
  readonly errors: unknown[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(replies: readonly Reply[], settings: InformerSettings<KubernetesObject> = {}) {
    this.transport = new ScriptedTransport(...replies);
    const { clock } = this.world;
    const client = createClient({
      transport: this.transport,
      clock,
      random: this.world.randomFor("client"),
      epoch: this.epochs,
      defaults: { retriesMax: 0 },
    });
    this.informer = client.informer(CONFIG_MAPS, { onError: (thrown) => void this.errors.push(thrown), ...settings });
    this.informer.addHandler(recorder(this.reported));
    this.#running = this.informer.run(this.#stop.signal);
  }

  get names(): string[] {
    return this.informer.list().map(({ metadata }) => metadata?.name ?? "");
  }

  /** Advances the clock and returns the notifications since the last call. */
  async takeNotifications(afterMs = 0): Promise<string[]> {
    await this.world.advance(afterMs);
    return this.reported.splice(0);
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.world.run(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
