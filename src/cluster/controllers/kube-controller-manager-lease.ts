/**
 * Decides from the leader lease of kube-controller-manager whether it runs its controllers. Without it, two sets of
 * controllers write the same objects. Only changes that this server has seen count, by its own monotonic clock; the
 * times in the lease are those of another machine.
 */

/** The name of the Lease in kube-system. */
export const KUBE_CONTROLLER_MANAGER_LEASE = "kube-controller-manager";
/** How long after the last renewal kube-controller-manager counts as running: four of its lease durations. */
export const KUBE_CONTROLLER_MANAGER_GRACE_MS = 60_000;

interface HeldLease {
  readonly holder: string;
  readonly changedAtMs: number;
}

export class KubeControllerManagerLease {
  #isSynced = false;
  #revision = 0;
  #held: HeldLease | undefined;

  /** Called for each state of the lease that this server sees, also if it is not new. */
  seen(holder: string, revision: number, nowMs: number): void {
    if (this.#revision === revision) return;
    this.#revision = revision;
    // An empty holder: the process has released the lease, and has ended its controllers before.
    this.#held = holder === "" ? undefined : { holder, changedAtMs: nowMs };
  }

  /** Called when the lease does not exist. A process that held it may run until it notices, so the grace begins. */
  gone(nowMs: number): void {
    if (this.#revision === 0) return;
    this.#revision = 0;
    if (this.#held !== undefined) this.#held = { ...this.#held, changedAtMs: nowMs };
  }

  /** Called when this server has read the leases for the first time. */
  synced(): void {
    this.#isSynced = true;
  }

  /** Whether the leases have been read. Before that, this server cannot tell whether kube-controller-manager runs. */
  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** The holder, with the time of the last change; undefined if kube-controller-manager does not run. */
  holder(nowMs: number): HeldLease | undefined {
    const held = this.#held;
    return held === undefined || nowMs - held.changedAtMs >= KUBE_CONTROLLER_MANAGER_GRACE_MS ? undefined : held;
  }
}
