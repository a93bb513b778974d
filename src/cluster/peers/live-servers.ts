/**
 * Decides which other servers are live. The evidence is what only servers can write to the store: endpoint records,
 * starting records and masterleases. An identity lease alone proves nothing, because any client with rights to leases
 * in kube-system can create one.
 */
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import type { EndpointRecord } from "./endpoint-record.ts";
import { pairAddresses } from "./paired-addresses.ts";
import type { StartingRecord } from "./starting-record.ts";

/**
 * Why a server counts as live:
 *
 * - `record`: it has an endpoint record.
 * - `starting`: it has a starting record and has not been starting for long.
 * - `recent`: its record, or the masterlease at whose address it is called, disappeared a moment ago; a live server
 *   writes it again.
 * - `masterlease`: it has only an identity lease, and a masterlease exists for an address that no known server has: it
 *   is a kube-apiserver that writes no endpoint record.
 * - `flag`: it has only an identity lease, and --peer-server names it.
 * - `doubt`: it has only an identity lease, which counts for a short time.
 */
type Evidence = "record" | "starting" | "recent" | "masterlease" | "flag" | "doubt";

export interface LiveServer {
  readonly id: string;
  /** The ID of the current run; undefined if it is not known. */
  readonly incarnation: string | undefined;
  /** The endpoint record of the current run, also if it has just disappeared. */
  readonly record: EndpointRecord | undefined;
  /** The address at which the server can be called; undefined if it is not known. */
  readonly address: UpstreamAddress | undefined;
  /** True if the address is that of a masterlease, which does not name its server: perhaps another server has this ID. */
  readonly isIdGuessed?: boolean;
  readonly evidence: Evidence;
  /** The release that the server publishes; undefined if it publishes none. */
  readonly release: string | undefined;
}

export interface LivenessInput {
  readonly selfId: string;
  /** The address that this server publishes in its masterlease. */
  readonly ownAddress: string | undefined;
  readonly endpoints: readonly EndpointRecord[];
  /** The starting records, with the time for which this server has seen them. */
  readonly starting: readonly { readonly record: StartingRecord; readonly ageMs: number }[];
  /** Servers whose records have disappeared within the last minute. */
  readonly vanished: readonly VanishedServer[];
  /** The identity leases of other servers. */
  readonly leases: readonly LeaseEvidence[];
  /** The IP addresses of all masterleases. */
  readonly masterLeases: readonly string[];
  /** The port on which servers with a masterlease listen; undefined if it is not known. */
  readonly kubernetesPort: number | undefined;
  /** The addresses of masterleases that servers without a record had before, by server ID. */
  readonly paired: ReadonlyMap<string, string>;
  /** Servers that had such an address until its masterlease disappeared within the last minute. */
  readonly unpaired: ReadonlyMap<string, { readonly ip: string; readonly ageMs: number }>;
  /** The servers that --peer-server names. */
  readonly named: ReadonlyMap<string, UpstreamAddress>;
  /** Whether identity leases without other evidence count. */
  readonly mayDoubt: boolean;
  /**
   * Whether a record in the store notes that the run of the lease has departed. The identity lease of a kube-apiserver
   * outlives it by up to an hour; without this, a server that starts meanwhile could take it for a live one.
   */
  readonly hasDeparted: (lease: LeaseEvidence) => boolean;
  /** How long a live server may take to write its record again. */
  readonly rewriteMs: number;
}

/** A server that had an endpoint record or a starting record, and has none. */
export interface VanishedServer {
  readonly id: string;
  readonly incarnation: string | undefined;
  /** Its last endpoint record; undefined if it had only a starting record. */
  readonly record: EndpointRecord | undefined;
  /** The time since the record disappeared. */
  readonly ageMs: number;
  /** Whether the server was already found to have departed. It stays departed until it writes a record. */
  readonly hasDeparted: boolean;
}

export interface LeaseEvidence {
  readonly id: string;
  /** The run of the holder; empty if the lease does not show it. */
  readonly incarnation: string;
  readonly isExpired: boolean;
}

export interface Liveness {
  /** Sorted by ID. */
  readonly servers: readonly LiveServer[];
  /** Servers that have been starting for so long that they do not count for routing. */
  readonly overdue: readonly StartingRecord[];
  /** IDs in identity leases that do not count, because nothing else shows that their servers exist. */
  readonly ignored: readonly string[];
  /** The addresses of masterleases at which servers without a record are called, by server ID. */
  readonly paired: ReadonlyMap<string, string>;
}

/** How long a starting server makes requests for unknown resources return 503 instead of 404. */
const STARTING_MS = 30_000;
/** How long a server without its record stays live while its identity lease is renewed. */
export const RECENT_MS = 30_000;

export function decideLiveness(input: LivenessInput): Liveness {
  const { selfId } = input;
  const evidence = evidenceById(input);
  const paired = pairedAddresses(evidence, input);
  const servers: LiveServer[] = [];
  const overdue: StartingRecord[] = [];
  const ignored: string[] = [];
  for (const [id, found] of [...evidence].sort(([left], [right]) => (left < right ? -1 : 1))) {
    if (id === selfId) continue;
    const server = byRecords(found, input) ?? byLease(found, input, paired);
    if (server !== undefined) servers.push(server);
    else if (found.starting !== undefined) overdue.push(found.starting.record);
    else if (hasOnlyLease(found) && !input.unpaired.has(id) && !input.hasDeparted(found.lease)) ignored.push(id);
  }
  return { servers, overdue, ignored, paired };
}

/** The evidence for one server. */
interface Found {
  record?: EndpointRecord;
  /** The youngest run that is starting, unless it already has the endpoint record. */
  starting?: LivenessInput["starting"][number];
  vanished?: VanishedServer;
  lease?: LeaseEvidence;
}

function evidenceById({ endpoints, starting, vanished, leases }: LivenessInput): Map<string, Found> {
  const byId = new Map<string, Found>();
  const of = (id: string): Found => {
    const found = byId.get(id) ?? {};
    byId.set(id, found);
    return found;
  };
  for (const record of endpoints) of(record.id).record = record;
  for (const one of starting) {
    const found = of(one.record.id);
    const isReady = found.record?.incarnation === one.record.incarnation;
    if (!isReady && one.ageMs < (found.starting?.ageMs ?? Infinity)) found.starting = one;
  }
  for (const one of vanished) of(one.id).vanished = one;
  for (const lease of leases) of(lease.id).lease = lease;
  return byId;
}

/** Judges by records that only servers write. */
function byRecords({ record, starting, vanished, lease }: Found, { rewriteMs }: LivenessInput): LiveServer | undefined {
  if (starting !== undefined && starting.ageMs < STARTING_MS) {
    const { id, incarnation, release } = starting.record;
    return { id, incarnation, record: undefined, address: undefined, evidence: "starting", release };
  }
  if (record !== undefined) {
    const { id, address, incarnation = runOf(lease) } = record;
    return { id, incarnation, record, address, evidence: "record", release: record.release };
  }
  if (vanished === undefined || vanished.hasDeparted) return undefined;
  if (vanished.ageMs >= keptMs(vanished, lease, rewriteMs)) return undefined;
  // Until it is clear that the server has departed, requests are routed as before.
  const { id, incarnation = runOf(lease), record: last } = vanished;
  return { id, incarnation, record: last, address: last?.address, evidence: "recent", release: last?.release };
}

/**
 * How long a server counts as live after its record has disappeared. A draining server removes it itself. An
 * expired identity lease shows that the server has crashed; a missing one may have been deleted by any client.
 */
function keptMs({ record }: VanishedServer, lease: LeaseEvidence | undefined, rewriteMs: number): number {
  if (record?.state === "draining" || lease?.isExpired === true) return 0;
  return lease === undefined ? rewriteMs : RECENT_MS;
}

/** Whether the server has never had a record, as far as this server knows, and its identity lease is valid. */
function hasOnlyLease(found: Found): found is Found & { readonly lease: LeaseEvidence } {
  const { record, lease, starting, vanished } = found;
  const hasRecord = record !== undefined || starting !== undefined || vanished !== undefined;
  return !hasRecord && lease !== undefined && !lease.isExpired;
}

function byLease(found: Found, input: LivenessInput, paired: ReadonlyMap<string, string>): LiveServer | undefined {
  if (!hasOnlyLease(found)) return undefined;
  const { named, unpaired, mayDoubt, hasDeparted } = input;
  const { id } = found.lease;
  const server = { id, incarnation: runOf(found.lease), record: undefined, release: undefined };
  const address = named.get(id);
  if (address !== undefined) return { ...server, address, evidence: "flag" };
  const ip = paired.get(id);
  if (ip !== undefined) return { ...server, ...atMasterLease(found.lease, ip, input), evidence: "masterlease" };
  const lost = unpaired.get(id);
  if (lost === undefined)
    return mayDoubt && !hasDeparted(found.lease) ? { ...server, address: undefined, evidence: "doubt" } : undefined;
  if (lost.ageMs >= RECENT_MS) return undefined;
  return { ...server, ...atMasterLease(found.lease, lost.ip, input), evidence: "recent" };
}

/** The run includes the address: if the server gets the address of another one, its earlier pair has departed. */
function atMasterLease(
  lease: LeaseEvidence,
  host: string,
  { kubernetesPort: port }: LivenessInput,
): Pick<LiveServer, "incarnation" | "address" | "isIdGuessed"> {
  const run = runOf(lease);
  const address = port === undefined ? undefined : { host, port };
  return { incarnation: run && runAt(run, host), address, isIdGuessed: true };
}

/** The run of a server that is called at the address of a masterlease. */
function runAt(run: string, host: string): string {
  return `${run}${AT}${host}`;
}

/** Whether a recorded run is that of the lease, at whichever address. */
export function isRunOf({ incarnation: run }: LeaseEvidence, recorded: string): boolean {
  return run !== "" && (recorded === run || recorded.startsWith(run + AT));
}

const AT = "-at-";

function runOf(lease: LeaseEvidence | undefined): string | undefined {
  return lease === undefined || lease.incarnation === "" ? undefined : lease.incarnation;
}

/**
 * Pairs the servers that have only an identity lease with the masterleases that belong to no server which this server
 * knows by its records or by a flag.
 */
function pairedAddresses(evidence: ReadonlyMap<string, Found>, input: LivenessInput): ReadonlyMap<string, string> {
  const { selfId, masterLeases, ownAddress, endpoints, vanished, named, paired, unpaired } = input;
  const known = new Set([
    ownAddress,
    ...endpoints.flatMap(hostsOf),
    ...vanished.flatMap(({ record }) => (record === undefined ? [] : hostsOf(record))),
  ]);
  for (const { host } of named.values()) known.add(host);
  const ids = [...evidence]
    .filter(([id, found]) => id !== selfId && !named.has(id) && hasOnlyLease(found))
    .sort(([left], [right]) => (left < right ? -1 : 1));
  const [others, lost] = [ids.filter(([id]) => !unpaired.has(id)), ids.filter(([id]) => unpaired.has(id))];
  return pairAddresses(
    // A server that has lost its masterlease has probably departed, so a new masterlease belongs to another one.
    [...others, ...lost].map(([id]) => id),
    masterLeases.filter((ip) => !known.has(ip)),
    paired,
  );
}

/** The IP addresses that an endpoint record contains. */
function hostsOf({ address, publishedAddress }: EndpointRecord): string[] {
  return [address?.host, publishedAddress].filter((host) => host !== undefined);
}
