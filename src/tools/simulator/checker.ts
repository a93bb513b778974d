/** The interface of checkers: the events of a simulation that they receive, and how they report a violation. */
import type { ResourceQuestion } from "../../cluster/peers/view.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { Commit, Restore } from "./history.ts";
import type { ProxiedRequest } from "./network.ts";

/** A request of a client. */
export interface SimulatedRequest {
  readonly auditId: string;
  readonly serverId: string;
  readonly method: string;
  readonly target: string;
  readonly startedAtMs: number;
  /** The requested resource; undefined for a discovery request. */
  readonly resource: ResourceQuestion | undefined;
  /** Name of the object; "" for other requests. */
  readonly name: string;
  readonly isWatch?: boolean;
}

export interface SimulatedResponse {
  readonly request: SimulatedRequest;
  readonly atMs: number;
  readonly status: number;
  /** For a 404: whether it reports the object or the resource as unknown. */
  readonly unknown: "object" | "resource" | undefined;
  /** Message of a failure response. */
  readonly message: string;
  /** The resourceVersion of the object in the response; absent if it has none. */
  readonly resourceVersion?: string;
}

/** An event of a watch, after the response to its request. */
export interface SimulatedWatchEvent {
  readonly request: SimulatedRequest;
  readonly atMs: number;
  /** The received text; undefined if the watch has ended. */
  readonly text: string | undefined;
}

/** Each method returns the violations that it found, as sentences. */
export interface GuaranteeChecker {
  readonly name: string;
  /** The guarantee in words, for the report of a violation. */
  readonly promise: string;
  onRequest?(request: SimulatedRequest): readonly string[];
  onResponse?(response: SimulatedResponse): readonly string[];
  onWatch?(event: SimulatedWatchEvent): readonly string[];
  onHop?(hop: ProxiedRequest): readonly string[];
  /** Called when the store has applied this commit, and before any server sees it. */
  onCommit?(commit: Commit): readonly string[];
  /** Called when the store has been restored from a backup, and before any server notices it. */
  onRestore?(restore: Restore): readonly string[];
  /** Called after all faults have ended and servers have had time to detect it. */
  whenSettled?(cluster: SimulatedCluster): Promise<readonly string[]>;
}

export interface GuaranteeViolation {
  readonly checker: string;
  readonly promise: string;
  readonly what: string;
}

export const NO_VIOLATIONS: readonly string[] = [];
