/**
 * Keeps writes of a resource back until this server has published in which version it stores it. The gate is here to
 * answer early and in words; that nothing unpublished is ever committed is the store's guard to see to. So it errs on
 * the side of waiting, and lets through what publishing itself cannot do without.
 */
import type { Counter, MetricFamily, MetricsRegistry } from "../../base/metrics.ts";
import type { PassingFilter } from "../../serving/http/chain.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { formatGroupResource, type GroupResource } from "../../meta/group-version.ts";
import { serviceUnavailable, type StatusError } from "../../meta/status-error.ts";
import { STORAGE_VERSION_TYPE } from "./objects.ts";

export interface WriteGateState {
  /** Every resource stored here may be written: the only thing asked of an ordinary request. */
  readonly isOpen: boolean;
  /** Undefined: not stored here, or open. */
  closedBecause(group: string, resource: string): { readonly lastError: string | undefined } | undefined;
}

interface WriteGateOptions {
  readonly state: WriteGateState;
  /** The server's own calls. */
  readonly isLoopback: (request: WithInfo) => boolean;
  /** The name of this server's identity lease. */
  readonly serverId: string;
  readonly metrics: MetricsRegistry;
}

interface WriteGateFacts {
  readonly info: RequestInfo;
  readonly isLoopback: boolean;
  readonly serverId: string;
}

type WriteGateRule =
  | "open"
  | "not-a-resource"
  | "read"
  | "own-storage-version"
  | "own-namespace"
  | "own-identity-lease"
  | "nothing-persisted"
  | "not-pending";

type WriteGateDecision =
  | { readonly kind: "pass"; readonly rule: WriteGateRule }
  | { readonly kind: "block"; readonly waitsFor: GroupResource; readonly lastError: string | undefined };

const RETRY_AFTER_SECONDS = 1;
const READ_VERBS: ReadonlySet<string> = new Set(["get", "list", "watch"]);
const KUBE_SYSTEM = "kube-system";
const PODS: GroupResource = { group: "", resource: "pods" };

/**
 * DIFFERS: kubernetes makes these wait for their parent, although they write nothing. Every other subresource is a
 * door to the stored object (eviction, binding, scale, status, approval, …) and waits with it.
 */
const NOTHING_PERSISTED: ReadonlySet<string> = new Set([
  ...["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/log"],
  ...["services/proxy", "nodes/proxy", "serviceaccounts/token"],
]);

/** In this order; the first that holds lets the request through. */
const RULES: readonly (readonly [WriteGateRule, (facts: WriteGateFacts, state: WriteGateState) => boolean])[] = [
  ["open", (_, state) => state.isOpen],
  ["not-a-resource", ({ info }) => !info.isResourceRequest],
  ["read", ({ info }) => READ_VERBS.has(info.verb)],
  ["own-storage-version", ({ info, isLoopback }) => isLoopback && isStorageVersion(info)],
  ["own-namespace", ({ info, isLoopback }) => isLoopback && isNamespaceCreation(info)],
  ["own-identity-lease", isOwnIdentityLease],
  ["nothing-persisted", ({ info }) => persistsNothing(info)],
  ["not-pending", ({ info }, state) => !isStorageVersion(info) && closedBecause(info, state) === undefined],
];

/** A dry run waits like any write: what it would say of the later one is not known yet. */
export function decideWriteGate(facts: WriteGateFacts, state: WriteGateState): WriteGateDecision {
  const found = RULES.find(([, lets]) => lets(facts, state));
  if (found !== undefined) return { kind: "pass", rule: found[0] };
  const { info } = facts;
  return { kind: "block", waitsFor: writtenBy(info), lastError: closedBecause(info, state)?.lastError };
}

export function writeGate({ state, isLoopback, serverId, metrics }: WriteGateOptions): PassingFilter<WithInfo> {
  const blocked = metrics.counter({
    name: "evenkeel_storage_version_blocked_requests_total",
    help: "Writes refused because the storage version of their resource is not published yet.",
    labels: ["group", "resource"],
  });
  return (next) => (request) => {
    if (state.isOpen) return next(request);
    const { info } = request;
    const decision = decideWriteGate({ info, isLoopback: isLoopback(request), serverId }, state);
    return decision.kind === "pass" ? next(request) : Promise.reject(refusal(decision, blocked));
  };
}

function refusal(
  { waitsFor, lastError }: WriteGateDecision & { kind: "block" },
  blocked: MetricFamily<Counter>,
): StatusError {
  // Only storage versions and what is stored here are ever blocked: a client cannot make up label values.
  blocked.with(waitsFor.group, waitsFor.resource).inc();
  const why = lastError === undefined ? "" : `, last seen error: ${lastError}`;
  return serviceUnavailable(
    `wait for storage version registration to complete for resource: ${formatGroupResource(waitsFor)}${why}`,
    RETRY_AFTER_SECONDS,
  );
}

/**
 * DIFFERS: kubernetes lets anybody write these during the start. What servers agree on would then be open to all just
 * while it is being agreed on, so everybody but the server itself waits, also when nothing else holds them up.
 */
function isStorageVersion({ group, resource }: RequestInfo): boolean {
  return group === STORAGE_VERSION_TYPE.group && resource === STORAGE_VERSION_TYPE.resource;
}

/** The identity lease needs kube-system to be in. The name is in the body, which nobody has read yet. */
function isNamespaceCreation({ group, resource, name, verb }: RequestInfo): boolean {
  return group === "" && resource === "namespaces" && name === "" && verb === "create";
}

/**
 * Who publishes must be known to live. DIFFERS: kubernetes lets anybody write any lease of kube-system; here the
 * leases of others, which the server itself may want to collect, wait.
 */
function isOwnIdentityLease({ info, isLoopback, serverId }: WriteGateFacts): boolean {
  const { group, resource, subresource, namespace, name, verb } = info;
  if (!isLoopback || group !== "coordination.k8s.io" || resource !== "leases") return false;
  if (namespace !== KUBE_SYSTEM || subresource !== "") return false;
  return verb === "create" ? name === "" : name === serverId;
}

function persistsNothing({ group, resource, subresource }: RequestInfo): boolean {
  return group === "" && NOTHING_PERSISTED.has(`${resource}/${subresource}`);
}

function closedBecause(info: RequestInfo, state: WriteGateState): ReturnType<WriteGateState["closedBecause"]> {
  const { group, resource } = writtenBy(info);
  return state.closedBecause(group, resource);
}

/** DIFFERS: kubernetes lets `POST bindings` through as a resource nobody stores; yet what it writes is a pod. */
function writtenBy({ group, resource }: RequestInfo): GroupResource {
  return group === "" && resource === "bindings" ? PODS : { group, resource };
}
