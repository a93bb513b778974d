/**
 * Observes the records and leases of all servers, and keeps the list of live servers current. It adds the time for
 * which each record has been seen, because servers do not compare their clocks.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { BackgroundTask } from "../../base/background.ts";
import type { Log } from "../../base/log.ts";
import { someOf } from "../../base/some-of.ts";
import { jsonEquals } from "../../meta/json.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { DOUBT_WINDOW_MS } from "./doubt-budget.ts";
import { isSameContent, type EndpointTable } from "./endpoint-record.ts";
import {
  decideLiveness,
  RECENT_MS,
  type LeaseEvidence,
  type Liveness,
  type LivenessInput,
  type LiveServer,
  type VanishedServer,
} from "./live-servers.ts";
import { KUBERNETES_PORT, type KubernetesPortTable } from "./kubernetes-port.ts";
import type { MasterLeaseTable } from "./master-leases.ts";
import { startingId, type StartingTable } from "./starting-record.ts";

interface ObserverOptions {
  readonly selfId: string;
  readonly ownAddress: string | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly endpoints: EndpointTable;
  readonly starting: StartingTable;
  readonly masterLeases: MasterLeaseTable;
  readonly kubernetesPort: KubernetesPortTable;
  /** The identity leases of other servers of this component. */
  readonly leases: () => readonly LeaseEvidence[];
  readonly named: ReadonlyMap<string, UpstreamAddress>;
  /** Whether all records that existed at the start have been read. Until then no server is listed. */
  readonly isLoaded: () => boolean;
  /** Whether identity leases without a record count now. Called only if there are any. */
  readonly mayDoubt: () => boolean;
  /** As in `LivenessInput`. */
  readonly hasDeparted: (lease: LeaseEvidence) => boolean;
  /** How often the list is decided again, although no record or lease has changed. */
  readonly intervalMs: number;
  /** How long a live server may take to write its record again. */
  readonly rewriteMs: number;
}

/**
 * A kube-apiserver shows its run only in its identity lease, whose holder other clients can change. Therefore another
 * run is accepted only after this time.
 */
const RUN_CHANGE_MS = 10_000;
/** A lease may outlive the record of its departed server by less than this time. */
const VANISHED_MS = 2 * RECENT_MS;
const NAMES_MAX = 3;
type Present = Pick<VanishedServer, "id" | "incarnation" | "record">;

interface Vanished extends Present {
  readonly atMs: number;
  hasDeparted: boolean;
}

const NONE: Liveness = { servers: [], overdue: [], ignored: [], paired: new Map() };

export class ServerObserver {
  readonly #options: ObserverOptions;
  readonly #listeners = new Set<() => void>();
  readonly #startingSince = new Map<string, number>();
  readonly #vanished = new Map<string, Vanished>();
  /** Servers without a record whose masterlease has disappeared, and when. */
  readonly #unpaired = new Map<string, { readonly ip: string; readonly atMs: number }>();
  readonly #runs = new Map<string, { readonly incarnation: string; readonly sinceMs: number }>();
  /** The servers that have a record. */
  #present = new Map<string, Present>();
  #liveness = NONE;
  #warnedAtMs = -Infinity;

  constructor(options: ObserverOptions) {
    this.#options = options;
    for (const table of [options.endpoints, options.starting, options.masterLeases, options.kubernetesPort])
      table.onChange(() => this.reconsider());
  }

  /** The other live servers, sorted by ID. */
  get servers(): readonly LiveServer[] {
    return this.#liveness.servers;
  }

  get liveness(): Liveness {
    return this.#liveness;
  }

  /** Adds a listener that is called when the live servers have changed. The returned function removes it. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  readonly task: BackgroundTask = {
    name: "live-servers",
    run: async (signal) => {
      while (await sleep(this.#options.clock, this.#options.intervalMs, signal)) this.reconsider();
    },
  };

  /** Decides again. Called when a record or lease has changed. */
  reconsider(): void {
    const { mayDoubt, isLoaded } = this.#options;
    if (!isLoaded()) return;
    this.#observe();
    const input = this.#input();
    let next = decideLiveness({ ...input, mayDoubt: false });
    if (next.ignored.length > 0 && mayDoubt()) next = decideLiveness({ ...input, mayDoubt: true });
    for (const [id, vanished] of this.#vanished)
      vanished.hasDeparted ||= !next.servers.some((server) => server.id === id);
    this.#warn(next.ignored);
    const before = this.#liveness;
    this.#liveness = next;
    if (!isSame(before, next)) for (const listener of this.#listeners) listener();
  }

  #observe(): void {
    const now = this.#options.clock.monotonic();
    const present = presentServers(this.#options);
    for (const [id, server] of this.#present)
      if (!present.has(id)) this.#vanished.set(id, { ...server, atMs: now, hasDeparted: false });
    for (const [id, { atMs }] of this.#vanished)
      if (present.has(id) || now - atMs >= VANISHED_MS) this.#vanished.delete(id);
    this.#present = present;
    this.#noteUnpaired(now);
    const running = new Set(this.#options.starting.all().map(startingId));
    for (const id of this.#startingSince.keys()) if (!running.has(id)) this.#startingSince.delete(id);
    for (const id of running) if (!this.#startingSince.has(id)) this.#startingSince.set(id, now);
  }

  #noteUnpaired(now: number): void {
    const { endpoints, masterLeases, named } = this.#options;
    for (const [id, ip] of this.#liveness.paired)
      if (masterLeases.get(ip) === undefined) this.#unpaired.set(id, { ip, atMs: now });
    for (const [id, { ip, atMs }] of this.#unpaired) {
      const isBack = masterLeases.get(ip) !== undefined || endpoints.has(id) || named.has(id);
      if (isBack || now - atMs >= VANISHED_MS) this.#unpaired.delete(id);
    }
  }

  #input(): Omit<LivenessInput, "mayDoubt"> {
    const { selfId, ownAddress, clock, endpoints, starting, masterLeases, named, rewriteMs, hasDeparted } =
      this.#options;
    const now = clock.monotonic();
    const leases = this.#options.leases();
    this.#forgetRuns(leases);
    return {
      selfId,
      ownAddress,
      endpoints: endpoints.all(),
      starting: starting
        .all()
        .map((record) => ({ record, ageMs: now - (this.#startingSince.get(startingId(record)) ?? now) })),
      vanished: [...this.#vanished.values()].map((server) => ({ ...server, ageMs: now - server.atMs })),
      leases: leases.map((lease) => ({ ...lease, incarnation: this.#runOf(lease, now) })),
      masterLeases: masterLeases.all().map(({ ip }) => ip),
      kubernetesPort: this.#options.kubernetesPort.get(KUBERNETES_PORT)?.port,
      paired: this.#liveness.paired,
      unpaired: new Map([...this.#unpaired].map(([id, { ip, atMs }]) => [id, { ip, ageMs: now - atMs }])),
      named,
      hasDeparted,
      rewriteMs,
    };
  }

  #runOf({ id, incarnation }: LeaseEvidence, nowMs: number): string {
    const known = this.#runs.get(id);
    if (known !== undefined && (known.incarnation === incarnation || nowMs - known.sinceMs < RUN_CHANGE_MS))
      return known.incarnation;
    this.#runs.set(id, { incarnation, sinceMs: nowMs });
    return incarnation;
  }

  #forgetRuns(leases: readonly LeaseEvidence[]): void {
    const ids = new Set(leases.map(({ id }) => id));
    for (const id of this.#runs.keys()) if (!ids.has(id)) this.#runs.delete(id);
  }

  #warn(ignored: readonly string[]): void {
    const { clock, log } = this.#options;
    if (ignored.length === 0 || clock.monotonic() - this.#warnedAtMs < DOUBT_WINDOW_MS) return;
    this.#warnedAtMs = clock.monotonic();
    log.warn("identity leases ignored: nothing else shows that their servers exist", {
      servers: someOf(ignored, NAMES_MAX),
    });
  }
}

function presentServers({
  endpoints,
  starting,
}: Pick<ObserverOptions, "endpoints" | "starting">): Map<string, Present> {
  const present = new Map<string, Present>();
  for (const { id, incarnation } of starting.all()) present.set(id, { id, incarnation, record: undefined });
  for (const record of endpoints.all()) {
    const { id, incarnation } = record;
    present.set(id, { id, incarnation, record });
  }
  return present;
}

function isSame(left: Liveness, right: Liveness): boolean {
  return (
    left.servers.length === right.servers.length &&
    left.servers.every((server, index) => isSameServer(server, right.servers[index]!)) &&
    jsonEquals(left.overdue, right.overdue)
  );
}

function isSameServer(left: LiveServer, right: LiveServer): boolean {
  const isSameRecord =
    left.record === undefined || right.record === undefined
      ? left.record === right.record
      : isSameContent(left.record, right.record);
  return (
    isSameRecord &&
    left.id === right.id &&
    left.incarnation === right.incarnation &&
    left.evidence === right.evidence &&
    jsonEquals(left.address, right.address)
  );
}
