/** The interface of promise checkers: the events they see of a simulation, and how they report a broken promise. */
import type { ResourceQuestion } from "../../cluster/peers/view.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { Commit } from "./history.ts";
import type { ProxiedRequest } from "./network.ts";

/** What a client asked for. */
export interface SimulatedRequest {
  readonly auditId: string;
  readonly serverId: string;
  readonly method: string;
  readonly target: string;
  readonly startedAtMs: number;
  /** Undefined when no resource but discovery is asked for. */
  readonly resource: ResourceQuestion | undefined;
  /** Of the object; "" when none is named. */
  readonly name: string;
}

export interface SimulatedResponse {
  readonly request: SimulatedRequest;
  readonly atMs: number;
  readonly status: number;
  /** Of a 404: what is said to be unknown. */
  readonly unknown: "object" | "resource" | undefined;
  /** Of a failure. */
  readonly message: string;
}

/** Each method returns what was broken, in sentences. */
export interface PromiseChecker {
  readonly name: string;
  /** In words, for whoever reads that it was broken. */
  readonly promise: string;
  onRequest?(request: SimulatedRequest): readonly string[];
  onResponse?(response: SimulatedResponse): readonly string[];
  onHop?(hop: ProxiedRequest): readonly string[];
  /** The store is as it was right after it, and no server has heard of it. */
  onCommit?(commit: Commit): readonly string[];
  /** All faults are over, and there was time to notice. */
  whenSettled?(cluster: SimulatedCluster): Promise<readonly string[]>;
}

export interface BrokenPromise {
  readonly checker: string;
  readonly promise: string;
  readonly what: string;
}

export const NONE_BROKEN: readonly string[] = [];
