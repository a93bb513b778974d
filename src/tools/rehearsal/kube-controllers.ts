/**
 * A model of kube-controller-manager: its namespace controller and its garbage collector, with the rules that decide
 * what they delete. As kubeadm sets it up, one instance runs beside each server, uses only that server, and one instance
 * at a time is the leader. A leader beside an older server does not see the resources of newer releases: that is how an
 * upgrade deletes too much, or too little.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import { randomItem, type Random } from "../../base/random.ts";
import { createClient, type Client } from "../../client/client.ts";
import type { Transport } from "../../client/transport.ts";
import { collectGarbage } from "./kube-garbage-collector.ts";
import { readDiscovery, requestOf, type KubeResource } from "./kube-requests.ts";
import { deleteNamespaces } from "./kube-namespaces.ts";

/** A server beside which an instance runs. */
interface KubeServer {
  /** The run of the server: the instance loses its lease when the run ends. */
  readonly run: object;
  readonly transport: () => Transport;
}

interface KubeControllersOptions {
  readonly clock: Clock;
  readonly random: Random;
  /** The servers that are ready now. */
  readonly servers: () => readonly KubeServer[];
  /** The resources that clients of the rehearsal use, as "group/resource": the model reads no others. */
  readonly resources: ReadonlySet<string>;
  readonly onFailure: (thrown: unknown) => void;
}

interface Leader {
  readonly run: object;
  readonly client: Client;
  /** The resources for the garbage collector, which discovers them only from time to time. */
  known: readonly KubeResource[];
  knownAtMs: number;
}

/** As kubernetes: the duration of the leader lease. Another instance takes over when it has expired. */
const LEASE_MS = 15_000;
/** As kubernetes: how often the garbage collector discovers resources. */
const DISCOVER_EVERY_MS = 30_000;
const SYNC_EVERY_MS = 5_000;

export class KubeControllers {
  readonly #options: KubeControllersOptions;
  #leader: Leader | undefined;
  /** Time until which the lease of the previous leader is valid. */
  #heldUntilMs = -Infinity;

  constructor(options: KubeControllersOptions) {
    this.#options = options;
  }

  async run(signal: AbortSignal): Promise<void> {
    while (await sleep(this.#options.clock, SYNC_EVERY_MS, signal)) {
      try {
        const leader = this.#lead();
        if (leader !== undefined) await this.#sync(leader);
      } catch (thrown) {
        this.#options.onFailure(thrown);
        return;
      }
    }
  }

  async #sync(leader: Leader): Promise<void> {
    const { clock, resources } = this.#options;
    const send = requestOf(leader.client);
    const fresh = await readDiscovery(send);
    if (fresh === undefined) return;
    if (clock.monotonic() - leader.knownAtMs >= DISCOVER_EVERY_MS) {
      leader.known = fresh;
      leader.knownAtMs = clock.monotonic();
    }
    const isUsed = ({ group, resource }: KubeResource): boolean => resources.has(`${group}/${resource}`);
    await deleteNamespaces(send, fresh.filter(isUsed));
    await collectGarbage(send, leader.known, isUsed);
  }

  #lead(): Leader | undefined {
    const { clock, random, servers } = this.#options;
    const ready = servers();
    if (this.#leader !== undefined) {
      if (ready.some(({ run }) => run === this.#leader?.run)) return this.#leader;
      this.#leader = undefined;
      this.#heldUntilMs = clock.monotonic() + LEASE_MS;
    }
    if (ready.length === 0 || clock.monotonic() < this.#heldUntilMs) return undefined;
    const next = randomItem(random, ready);
    const client = createClient({
      transport: next.transport(),
      clock,
      random,
      userAgent: "kube-controller-manager",
      defaults: { retriesMax: 0 },
    });
    this.#leader = { run: next.run, client, known: [], knownAtMs: -Infinity };
    return this.#leader;
  }
}
