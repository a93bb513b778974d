/** The report of a rehearsal: one value from which the terminal summary, the JSON output and the HTML page are made. */
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { countRejected, type ManifestReport } from "./manifests.ts";
import type { UpgradePlan } from "./plan.ts";

export type FaultLevel = "none" | "light" | "heavy";
export type Gate = "on" | "off";

/** Times are milliseconds since the first request of a client. */
export interface RehearsalReport {
  readonly format: 1;
  readonly settings: {
    readonly from: ReleaseName;
    readonly to: ReleaseName;
    readonly servers: number;
    readonly minutes: number;
    readonly time: "virtual" | "real";
    readonly way: "up" | "and-back";
    readonly faults: FaultLevel;
    /** The run that the verdict is about. */
    readonly gate: Gate;
    readonly seed: number;
  };
  readonly plan: UpgradePlan;
  readonly runs: { readonly on: RunReport; readonly off: RunReport };
  /** Null if no manifests were given. */
  readonly manifests: ManifestReport | null;
  readonly verdict: Verdict;
}

interface Verdict {
  readonly isPass: boolean;
  readonly sentence: string;
}

/** One run of the plan, with or without the mixed version proxy. */
export interface RunReport {
  readonly gate: Gate;
  readonly answers: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** Requests without a response: the server had stopped, or did not respond in time. */
  readonly unanswered: number;
  readonly wrong: number;
  readonly wrongByKind: Readonly<Partial<Record<WrongKind, number>>>;
  readonly firstWrong: readonly WrongResponse[];
  readonly unavailable: number;
  readonly longestWait: ClientWait | null;
  readonly routing: readonly ServerRouting[];
  readonly series: Series;
  readonly steps: readonly PlayedStep[];
  readonly storage: readonly StorageLane[];
  readonly faults: readonly PlayedFault[];
  readonly work: WorkDone;
  /** Failures of the rehearsal itself. If there are any, the report is invalid. */
  readonly failures: readonly string[];
}

export type WrongKind =
  /** 404 for a resource that a server serves, or served recently. */
  | "resource-called-unknown"
  /** 404 for an object that was acknowledged and that no client deleted. */
  | "object-called-absent"
  | "missing-from-list"
  | "missing-from-informer"
  /** An informer received the deletion of an object that no client deleted. */
  | "told-deleted"
  | "missing-from-discovery"
  | "write-lost"
  | "collected-although-owned"
  | "namespace-gone-with-content"
  /**
   * An object is still stored at the end, although its deletion, or that of its owner or namespace, was acknowledged.
   */
  | "left-behind";

export interface WrongResponse {
  readonly atMs: number;
  readonly kind: WrongKind;
  readonly client: string;
  readonly server: string;
  readonly request: string;
  /** The response or state that was observed, and the fact that makes it wrong. */
  readonly said: string;
  readonly right: string;
}

export interface ClientWait {
  readonly ms: number;
  readonly atMs: number;
  readonly client: string;
  readonly request: string;
}

/** Requests of clients to one server, by how it responded. */
export interface ServerRouting {
  readonly serverId: string;
  readonly local: number;
  readonly proxied: number;
  /** Responses with status 503. */
  readonly unavailable: number;
}

export const SERIES_KEYS = ["ok", "notFound", "unavailable", "other", "wrong"] as const;
export type SeriesKey = (typeof SERIES_KEYS)[number];

interface Series {
  readonly bucketMs: number;
  /**
   * Counts per time span. A wrong response counts as wrong and under its status. The reads after the end of the plan
   * are in no bucket.
   */
  readonly buckets: readonly Readonly<Record<SeriesKey, number>>[];
}

export interface PlayedStep {
  readonly serverId: string;
  readonly from: ReleaseName;
  readonly to: ReleaseName;
  readonly stoppedAtMs: number;
  /** Null if the server was not ready before the end. */
  readonly readyAtMs: number | null;
}

/** The encodings of one stored resource, from one change to the next. */
export interface StorageLane {
  /** Group and resource, such as "resource.k8s.io.resourceclaims". */
  readonly resource: string;
  readonly points: readonly StoragePoint[];
}

export interface StoragePoint {
  readonly atMs: number;
  /** The version that all servers write; null if there is none. */
  readonly common: string | null;
  /** Encoding version by server ID. */
  readonly encodings: Readonly<Record<string, string>>;
}

export interface PlayedFault {
  readonly atMs: number;
  readonly what: string;
}

/** The work that clients created for the controllers, and what remained of it at the end. */
interface WorkDone {
  readonly objectsMade: number;
  readonly objectsKept: number;
  readonly namespacesDeleted: number;
  readonly namespacesLeft: number;
  readonly ownersDeleted: number;
  /** Objects in the store that should have been deleted with their owner or namespace. */
  readonly objectsLeft: number;
}

export const FIRST_WRONG_MAX = 100;

export function decideVerdict(judged: RunReport, manifests: ManifestReport | null): Verdict {
  const { gate, wrong, wrongByKind, failures, answers } = judged;
  const proxy = gate === "on" ? "with the mixed version proxy" : "without the mixed version proxy";
  if (failures.length > 0) return { isPass: false, sentence: `The rehearsal itself failed: ${failures[0]}` };
  if (wrong > 0) {
    const kinds = Object.entries(wrongByKind).map(([kind, count]) => `${count} ${inWords(kind)}`);
    return { isPass: false, sentence: `Fail: ${wrong} wrong responses ${proxy} (${kinds.join(", ")}).` };
  }
  const gone = countRejected(manifests);
  if (gone > 0) {
    const what = gone === 1 ? "1 manifest uses an API" : `${gone} manifests use APIs`;
    return {
      isPass: false,
      sentence: `Fail: no wrong responses ${proxy}, but ${what} that will not be served after the upgrade.`,
    };
  }
  return { isPass: true, sentence: `Pass: ${answers} responses ${proxy}, none of them wrong.` };
}

export function inWords(kind: string): string {
  return kind.replaceAll("-", " ");
}
