/** A garbage collector run by the controller runtime, with its log and metrics. */
import { SILENT_LOG, type Log, type LogFields } from "../../../../../src/base/log.ts";
import { MetricsRegistry } from "../../../../../src/base/metrics.ts";
import { createClient } from "../../../../../src/client/client.ts";
import type { Transport } from "../../../../../src/client/transport.ts";
import type { World } from "../../../../../src/tools/simulator/world.ts";
import type { ClusterResources } from "../../../../../src/cluster/controllers/cluster-resources.ts";
import { ControllerRun } from "../../../../../src/cluster/controller-runtime/controller-run.ts";
import {
  createGarbageCollector,
  type GarbageCollector,
} from "../../../../../src/cluster/controllers/garbage-collector/garbage-collector.ts";

export interface RunningCollectorOptions {
  readonly world: World;
  readonly transport: Transport;
  readonly resources: ClusterResources;
}

export class RunningCollector {
  readonly collector: GarbageCollector;
  /** Log lines of the levels info, warn and error. */
  readonly logged: string[] = [];
  readonly run: ControllerRun;
  readonly #world: World;
  readonly #registry = new MetricsRegistry();
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor({ world, transport, resources }: RunningCollectorOptions) {
    const { clock } = world;
    const random = world.randomFor("collector");
    const say = (message: string, fields: LogFields = {}): void =>
      void this.logged.push(`${message} ${JSON.stringify(fields)}`);
    const log: Log = { ...SILENT_LOG, info: say, warn: say, error: say };
    const common = { transport, clock, random };
    this.#world = world;
    this.collector = createGarbageCollector({
      ...{ resources, clock, random, log, metrics: this.#registry },
      client: createClient({ ...common, defaults: { retriesMax: 0 } }),
      metadata: createClient({ ...common, defaults: { retriesMax: 0, representation: "metadata" } }),
    });
    this.run = new ControllerRun(this.collector, {
      ...{ clock, random, log, mayWork: () => true, queueHooks: {}, onReconciled: () => {} },
    });
    this.#running = this.run.run(this.#stop.signal);
  }

  /** The value of a metric series; 0 if the series does not exist. */
  metric(series: string): number {
    const line = this.#registry
      .render()
      .split("\n")
      .find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? 0 : Number(line.slice(series.length + 1));
  }

  seriesOf(name: string): string[] {
    return this.#registry
      .render()
      .split("\n")
      .filter((line) => line.startsWith(`${name}{`));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#world.run(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }
}
