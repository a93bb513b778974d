/**
 * Runs the collector of stale StorageVersion entries on an in-memory API. The test controls the live servers and the
 * time.
 */
import { MetricsRegistry } from "../../../../src/base/metrics.ts";
import { WorkQueue } from "../../../../src/base/work-queue.ts";
import { createClient } from "../../../../src/client/client.ts";
import { World } from "../../../../src/tools/simulator/world.ts";
import { createCollector, type Collector } from "../../../../src/cluster/storageversion/stale-entry-collector.ts";
import type { ServerStorageVersion, StorageVersionStatus } from "../../../../src/cluster/storageversion/objects.ts";
import { FakeMembers } from "./fake-members.ts";
import { FakeStorageVersions } from "./fake-storage-versions.ts";

export class Collecting {
  readonly world = new World({ seed: 5 });
  readonly api = new FakeStorageVersions(this.world.clock);
  readonly metrics = new MetricsRegistry();
  readonly members: FakeMembers;
  readonly collector: Collector;
  readonly logged: string[] = [];
  readonly #stop = new AbortController();
  #running: Promise<unknown> | undefined;

  constructor(...members: readonly string[]) {
    this.members = new FakeMembers(...members);
    const { clock } = this.world;
    const tell = (message: string): void => void this.logged.push(message);
    this.collector = createCollector({
      client: createClient({
        transport: this.api,
        clock,
        random: this.world.randomFor("client"),
        defaults: { retriesMax: 0 },
      }),
      members: this.members,
      clock,
      log: { debug: tell, info: tell, warn: tell, error: tell },
      metrics: this.metrics,
    });
  }

  /** Runs the collector as the leader does: one worker reconciles the keys that the sources enqueue. */
  start(): this {
    const { clock } = this.world;
    const queue = new WorkQueue({ clock, random: this.world.randomFor("queue") });
    const { signal } = this.#stop;
    signal.addEventListener("abort", () => queue.close(), { once: true });
    const sources = this.collector.sources().map((source) => source.run((key) => queue.add(key), signal));
    this.#running = Promise.all([this.#work(queue, signal), ...sources]);
    return this;
  }

  async #work(queue: WorkQueue, signal: AbortSignal): Promise<void> {
    for (let key = await queue.next(); key !== undefined; key = await queue.next()) {
      try {
        const { requeueAfterMs } = (await this.collector.reconcile(key, signal)) ?? {};
        queue.forget(key);
        if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
      } catch {
        queue.addRateLimited(key);
      }
      queue.done(key);
    }
  }

  /** Reconciles one StorageVersion. */
  reconcile(name: string): Promise<{ requeueAfterMs?: number } | undefined> {
    return this.world.run(this.collector.reconcile(name, this.#stop.signal));
  }

  /** A summary of a StorageVersion: its entries, its common encoding version, and the status of its conditions. */
  summary(name: string): string | undefined {
    const object = this.api.get(name);
    return object === undefined ? undefined : summaryOf(object.status ?? {});
  }

  metric(series: string): number {
    const line = this.metrics
      .render()
      .split("\n")
      .find((candidate) => candidate.startsWith(`${series} `));
    return Number(line?.slice(series.length + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    if (this.#running !== undefined) await this.world.run(this.#running);
  }
}

function summaryOf({ storageVersions = [], commonEncodingVersion, conditions = [] }: StorageVersionStatus): string {
  const reported = ({ apiServerID, encodingVersion }: ServerStorageVersion): string =>
    `${apiServerID}:${encodingVersion}`;
  return [
    storageVersions.map(reported).join(" "),
    commonEncodingVersion ?? "none",
    conditions.map(({ status }) => status).join(" "),
  ].join(" | ");
}
