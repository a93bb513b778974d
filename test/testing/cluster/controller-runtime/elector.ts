/** One of several processes that compete for a leader lease, with a record of its terms of leadership. */
import { SILENT_LOG, type Log } from "../../../../src/base/log.ts";
import { createClient } from "../../../../src/client/client.ts";
import type { Transport } from "../../../../src/client/transport.ts";
import type { World } from "../../../../src/tools/simulator/world.ts";
import {
  runLeaderElection,
  type LeaderElectionOptions,
  type Term,
} from "../../../../src/cluster/controller-runtime/leader-election.ts";
import { untilAborted } from "../../../../src/base/until-aborted.ts";
import { Host, type HostOptions } from "./host.ts";

export const LEASE_NAME = "test-leader";

export interface ElectorOptions extends Partial<Pick<HostOptions, "rate" | "offsetMs">> {
  readonly identity: string;
  readonly timing?: LeaderElectionOptions["timing"];
  readonly epoch?: LeaderElectionOptions["epoch"];
  /** Default: requests and responses take no time, and none is lost. */
  readonly passage?: Host["passage"];
  /** Called at the start of a term. */
  readonly onStart?: () => void;
  /** The work of a term. Default: waits for the end of the term. */
  readonly work?: LeaderElectionOptions["onTerm"];
}

export class Elector {
  readonly identity: string;
  readonly host: Host;
  readonly warnings: string[] = [];
  /** Terms in the time of the world's clock; the end is undefined until the work of the term has ended. */
  readonly terms: { readonly startedAtMs: number; endedAtMs: number | undefined }[] = [];
  readonly #stop = new AbortController();
  readonly #world: World;
  readonly #running: Promise<void>;
  #term: Term | undefined;

  constructor(world: World, server: Transport, options: ElectorOptions) {
    const { identity, timing, epoch, onStart, work = untilAborted } = options;
    this.identity = identity;
    this.#world = world;
    this.host = new Host({ ...options, clock: world.clock, server });
    if (options.passage !== undefined) this.host.passage = options.passage;
    const { clock, transport } = this.host;
    const random = world.randomFor(identity);
    const warn = (message: string, fields: unknown): void =>
      void this.warnings.push(`${message}: ${JSON.stringify(fields)}`);
    const log: Log = { ...SILENT_LOG, warn, error: warn };
    const onTerm = async (signal: AbortSignal, term: Term): Promise<void> => {
      this.#term = term;
      const entry: (typeof this.terms)[number] = { startedAtMs: world.clock.monotonic(), endedAtMs: undefined };
      this.terms.push(entry);
      onStart?.();
      try {
        await work(signal, term);
      } finally {
        entry.endedAtMs = world.clock.monotonic();
      }
    };
    const client = createClient({ transport, clock, random, defaults: { retriesMax: 0 } });
    this.#running = runLeaderElection(
      {
        client,
        clock,
        random,
        log,
        name: LEASE_NAME,
        identity,
        onTerm,
        ...(timing && { timing }),
        ...(epoch && { epoch }),
      },
      this.#stop.signal,
    );
  }

  get isLeading(): boolean {
    return this.#term?.isLeading === true;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#world.run(this.#running);
  }

  /** Stops the process, unless it has crashed. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.host.resume();
    if (!this.host.isDead) await this.stop();
  }
}
