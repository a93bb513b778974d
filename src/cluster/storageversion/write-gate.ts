/**
 * Rejects writes of a resource until this server has published the version in which it stores the resource. The gate
 * only serves to respond early with a clear message; the guard in the store ensures that nothing unpublished is
 * committed. So in doubt the gate rejects a write. Of resources that are not published yet, it admits only the writes
 * that publishing itself needs.
 */
import type { Counter, MetricFamily, MetricsRegistry } from "../../base/metrics.ts";
import type { PassingFilter } from "../../serving/http/chain.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { formatGroupResource, type GroupResource } from "../../meta/group-version.ts";
import { serviceUnavailable, type StatusError } from "../../meta/status-error.ts";
import { STORAGE_VERSION_TYPE } from "./objects.ts";

export interface WriteGateState {
  /** Whether every built-in resource is published. If true, the gate admits every request. */
  readonly isOpen: boolean;
  /** Why the resource is closed; undefined if it is open or not stored here. */
  closedBecause(group: string, resource: string): { readonly lastError: string | undefined } | undefined;
}

interface WriteGateOptions {
  readonly state: WriteGateState;
  /** Whether the server itself sent the request. */
  readonly isLoopback: (request: WithInfo) => boolean;
  /** The ID of this server, which is also the name of its identity lease. */
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
 * Subresources that write nothing. DIFFERS: kubernetes makes them wait for their parent resource. Every other
 * subresource (eviction, binding, scale, status, approval, …) writes the stored object and waits with it.
 */
const NOTHING_PERSISTED: ReadonlySet<string> = new Set([
  ...["pods/exec", "pods/attach", "pods/portforward", "pods/proxy", "pods/log"],
  ...["services/proxy", "nodes/proxy", "serviceaccounts/token"],
]);

/** The rules in the order in which they are evaluated. The first rule that holds admits the request. */
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

/** A dry run is rejected like any write, because the result of the real write is not known yet. */
export function decideWriteGate(facts: WriteGateFacts, state: WriteGateState): WriteGateDecision {
  const found = RULES.find(([, lets]) => lets(facts, state));
  if (found !== undefined) return { kind: "pass", rule: found[0] };
  const { info } = facts;
  return { kind: "block", waitsFor: writtenBy(info), lastError: closedBecause(info, state)?.lastError };
}

export function writeGate({ state, isLoopback, serverId, metrics }: WriteGateOptions): PassingFilter<WithInfo> {
  const blocked = metrics.counter({
    name: "evenkeel_storage_version_blocked_requests_total",
    help: "Writes rejected because the storage version of their resource is not published yet.",
    labels: ["group", "resource"],
  });
  return (next) => (request) => {
    if (state.isOpen) return next(request);
    const { info } = request;
    const decision = decideWriteGate({ info, isLoopback: isLoopback(request), serverId }, state);
    return decision.kind === "pass" ? next(request) : Promise.reject(rejection(decision, blocked));
  };
}

function rejection(
  { waitsFor, lastError }: WriteGateDecision & { kind: "block" },
  blocked: MetricFamily<Counter>,
): StatusError {
  // Only StorageVersions and resources that are stored here are ever blocked, so a client cannot create new label
  // values.
  blocked.with(waitsFor.group, waitsFor.resource).inc();
  const why = lastError === undefined ? "" : `, last seen error: ${lastError}`;
  return serviceUnavailable(
    `wait for storage version registration to complete for resource: ${formatGroupResource(waitsFor)}${why}`,
    RETRY_AFTER_SECONDS,
  );
}

/**
 * DIFFERS: kubernetes lets any client write StorageVersions during the start, so any client could change the agreement
 * while it is being made. Here every client except the server itself waits, even if nothing else blocks the request.
 */
function isStorageVersion({ group, resource }: RequestInfo): boolean {
  return group === STORAGE_VERSION_TYPE.group && resource === STORAGE_VERSION_TYPE.resource;
}

/**
 * The identity lease needs the namespace kube-system. Its name cannot be checked, because it is in the body, which has
 * not been read yet.
 */
function isNamespaceCreation({ group, resource, name, verb }: RequestInfo): boolean {
  return group === "" && resource === "namespaces" && name === "" && verb === "create";
}

/**
 * A server must be known to be live before it publishes. DIFFERS: kubernetes lets any client write any lease in
 * kube-system. Here only the server itself may write its lease. Its updates and deletions of other leases wait; its
 * creates pass with any name, because the name is in the body.
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

/** DIFFERS: kubernetes admits `POST bindings` as a resource that is not stored, although it writes a pod. */
function writtenBy({ group, resource }: RequestInfo): GroupResource {
  return group === "" && resource === "bindings" ? PODS : { group, resource };
}
