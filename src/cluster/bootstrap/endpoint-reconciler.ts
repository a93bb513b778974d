/**
 * Keeps the endpoints of the kubernetes Service equal to the live servers, as kube-apiserver's lease reconciler does.
 * This server publishes its own address in a masterlease while it is ready, and every server writes the addresses of
 * all masterleases to the Endpoints and the EndpointSlice. So a crashed server is removed by the others when its
 * masterlease expires.
 */
import { whenOrAborted, type BackgroundTask } from "../../base/background.ts";
import { eitherSignal } from "../../base/either-signal.ts";
import { runTogether } from "../../base/run-together.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import { Wakeable } from "../../base/wakeable.ts";
import { messageOf, within } from "../../base/within.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { LeasedRecord } from "../peers/leased-record.ts";
import type { MasterLease, MasterLeaseTable } from "../peers/master-leases.ts";
import { endpointObjects, serviceEndpoints, type HostPort, type LiveAddresses } from "./kubernetes-endpoints.ts";
import { SERVICE_NAME, SERVICE_NAMESPACE, serviceWithTargetPort } from "./kubernetes-service.ts";
import { ensureAll, type BootstrapPorts } from "./owned-object.ts";
import type { Serves } from "./served-version.ts";

type OwnMasterLease = LeasedRecord<Pick<MasterLease, "ip">>;

interface EndpointReconcilerOptions extends BootstrapPorts {
  readonly serves: Serves;
  readonly clusterIp: string;
  readonly masterLeases: MasterLeaseTable;
  /** Creates the writer of the masterlease of this server. */
  readonly ownMasterLease: (ip: string) => OwnMasterLease;
  /** Reads from the store whether a masterlease for the address exists. */
  readonly hasMasterLease: (ip: string) => Promise<boolean>;
  /** The addresses in the endpoint records of the other servers. */
  readonly peers: () => readonly HostPort[];
  /** Resolves with the address at which clients reach this server, when it listens. */
  readonly address: Promise<HostPort>;
  /** Resolves when the server is ready for the first time. */
  readonly ready: Promise<void>;
}

/** As kubernetes. Changes of masterleases are noticed at once; this interval corrects changes of the objects. */
const RECONCILE_MS = 10_000;

export class EndpointReconciler {
  readonly #options: EndpointReconcilerOptions;
  readonly #leaving = new AbortController();
  readonly #due: Wakeable;
  #left: Promise<void> | undefined;
  /** Whether another server still publishes the address of this server. Known after this server has left. */
  #isShared = false;
  #own: { readonly address: HostPort; readonly lease: OwnMasterLease; readonly running: Promise<void> } | undefined;

  constructor(options: EndpointReconcilerOptions) {
    this.#options = options;
    this.#due = new Wakeable(options.clock);
  }

  readonly task: BackgroundTask = {
    name: "kubernetes-service-endpoints",
    run: async (signal) => {
      const { ready, address } = this.#options;
      const until = eitherSignal(signal, this.#leaving.signal);
      if (await whenOrAborted(Promise.all([ready, address]), until)) await this.#run(await address, until);
      // At a shutdown, `leave` ends the work before this task is stopped.
      await untilAborted(signal);
    },
  };

  /** Removes the address of this server from the endpoints. This is the first step of a shutdown. */
  leave(): Promise<void> {
    this.#left ??= this.#leave();
    return this.#left;
  }

  async #leave(): Promise<void> {
    this.#leaving.abort();
    if (this.#own === undefined) return;
    const { address, lease, running } = this.#own;
    await Promise.allSettled([running]);
    await lease.remove();
    this.#isShared = await this.#options.hasMasterLease(address.host).catch(() => false);
    await this.#reconcile(address, new AbortController().signal);
  }

  async #run(address: HostPort, signal: AbortSignal): Promise<void> {
    const { masterLeases, ownMasterLease } = this.#options;
    const lease = ownMasterLease(address.host);
    const stop = masterLeases.onChange(() => this.#due.wake());
    const loop = async (until: AbortSignal): Promise<void> => {
      while (!until.aborted) {
        await this.#reconcile(address, until);
        await this.#due.wait(RECONCILE_MS, until);
      }
    };
    const running = runTogether(signal, [(until) => lease.run(until), loop]).finally(stop);
    this.#own = { address, lease, running };
    await running;
  }

  async #reconcile(address: HostPort, signal: AbortSignal): Promise<void> {
    const { clock, log } = this.#options;
    try {
      await within(clock, RECONCILE_MS, (limit) => this.#write(address, limit), signal);
    } catch (thrown) {
      if (signal.aborted) return;
      log.warn("reconciling the endpoints of the kubernetes Service failed", { error: messageOf(thrown) });
    }
  }

  async #write(address: HostPort, signal: AbortSignal): Promise<void> {
    const { serves, clusterIp } = this.#options;
    const wanted = serviceEndpoints(await this.#existing(), this.#live(address));
    await ensureAll(this.#options, endpointObjects(serves, wanted), signal);
    if (wanted.ips.length === 0) return;
    await ensureAll(this.#options, serviceWithTargetPort(serves, { clusterIp, port: wanted.port }), signal);
  }

  /** The address of this server counts while it is ready, even if its masterlease has not been read back yet. */
  #live(own: HostPort): LiveAddresses {
    const { masterLeases } = this.#options;
    const peers = this.#options.peers();
    const others = masterLeases.all().flatMap(({ ip }) => (ip === own.host ? [] : [ip]));
    const isOwnLive = !this.#leaving.signal.aborted || this.#isShared;
    return { ips: isOwnLive ? [...others, own.host] : others, own, peers };
  }

  /** The existing Endpoints; undefined if there are none. */
  async #existing(): Promise<JsonObject | undefined> {
    const at = this.#options.serves("", "endpoints", SERVICE_NAMESPACE);
    if (at === undefined) return undefined;
    const response = await this.#options.call({ method: "GET", target: `${at.collection}/${SERVICE_NAME}` });
    const body = await response.json<JsonObject>();
    if (response.status === 200) return body;
    if (response.status === 404) return undefined;
    throw new Error(`GET of the Endpoints returned ${response.status}`);
  }
}
