/** The report of a rehearsal: one value, from which the terminal summary, the JSON and the HTML page are written. */
import type { ReleaseName } from "../../objects/catalogue/release.ts";
import type { ManifestReport } from "./manifests.ts";
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
    /** Which run the verdict is about. */
    readonly gate: Gate;
    readonly seed: number;
  };
  readonly plan: UpgradePlan;
  readonly runs: { readonly on: RunReport; readonly off: RunReport };
  /** Null: none were given. */
  readonly manifests: ManifestReport | null;
  readonly verdict: Verdict;
}

interface Verdict {
  readonly isPass: boolean;
  readonly sentence: string;
}

/** One playing of the plan, with the mixed version proxy or without. */
export interface RunReport {
  readonly gate: Gate;
  readonly answers: number;
  readonly byStatus: Readonly<Record<string, number>>;
  /** Requests to which no answer came: the server was gone, or gave nothing in time. */
  readonly unanswered: number;
  readonly wrong: number;
  readonly wrongByKind: Readonly<Partial<Record<WrongKind, number>>>;
  readonly firstWrong: readonly WrongAnswer[];
  readonly unavailable: number;
  readonly longestWait: ClientWait | null;
  readonly routing: readonly ServerRouting[];
  readonly series: Series;
  readonly steps: readonly PlayedStep[];
  readonly storage: readonly StorageLane[];
  readonly faults: readonly PlayedFault[];
  readonly work: WorkDone;
  /** What went wrong in the rehearsal itself; always empty, or it means nothing. */
  readonly failures: readonly string[];
}

export type WrongKind =
  /** 404 for a resource that somebody serves, or served a short while ago. */
  | "resource-called-unknown"
  /** 404 for an object that was acknowledged and that nobody asked to delete. */
  | "object-called-absent"
  | "missing-from-list"
  | "missing-from-informer"
  /** An informer was told that something is deleted which nobody asked to delete. */
  | "told-deleted"
  | "missing-from-discovery"
  | "write-lost"
  | "collected-although-owned"
  | "namespace-gone-with-content"
  /** Still stored at the end although its deletion, or that of what it goes with, was acknowledged. */
  | "left-behind";

export interface WrongAnswer {
  readonly atMs: number;
  readonly kind: WrongKind;
  readonly client: string;
  readonly server: string;
  readonly request: string;
  /** What was said, and what would have been right. */
  readonly said: string;
  readonly right: string;
}

export interface ClientWait {
  readonly ms: number;
  readonly atMs: number;
  readonly client: string;
  readonly request: string;
}

/** Of the requests of clients that a server answered. */
export interface ServerRouting {
  readonly serverId: string;
  readonly local: number;
  readonly proxied: number;
  /** Answered 503. */
  readonly unavailable: number;
}

export const SERIES_KEYS = ["ok", "notFound", "unavailable", "other", "wrong"] as const;
export type SeriesKey = (typeof SERIES_KEYS)[number];

interface Series {
  readonly bucketMs: number;
  /** One for each span of time; wrong answers are counted there and in their status. The last look is in none. */
  readonly buckets: readonly Readonly<Record<SeriesKey, number>>[];
}

export interface PlayedStep {
  readonly serverId: string;
  readonly from: ReleaseName;
  readonly to: ReleaseName;
  readonly stoppedAtMs: number;
  /** Null: it was not ready before the end. */
  readonly readyAtMs: number | null;
}

/** How one stored resource was to be encoded, from one change to the next. */
export interface StorageLane {
  /** "resource.k8s.io.resourceclaims" */
  readonly resource: string;
  readonly points: readonly StoragePoint[];
}

export interface StoragePoint {
  readonly atMs: number;
  /** In which everybody writes; null: there is none. */
  readonly common: string | null;
  /** By server. */
  readonly encodings: Readonly<Record<string, string>>;
}

export interface PlayedFault {
  readonly atMs: number;
  readonly what: string;
}

/** What both controllers were given to do, and what was left of it at the end. */
interface WorkDone {
  readonly objectsMade: number;
  readonly objectsKept: number;
  readonly namespacesDeleted: number;
  readonly namespacesLeft: number;
  readonly ownersDeleted: number;
  /** Objects that should have gone with their owner or namespace and are still in the store. */
  readonly objectsLeft: number;
}

export const FIRST_WRONG_MAX = 100;

export function decideVerdict(judged: RunReport, manifests: ManifestReport | null): Verdict {
  const { gate, wrong, wrongByKind, failures, answers } = judged;
  const proxy = gate === "on" ? "with the mixed version proxy" : "without the mixed version proxy";
  if (failures.length > 0) return { isPass: false, sentence: `The rehearsal itself failed: ${failures[0]}` };
  if (wrong > 0) {
    const kinds = Object.entries(wrongByKind).map(([kind, count]) => `${count} ${inWords(kind)}`);
    return { isPass: false, sentence: `Fail: ${wrong} wrong answers ${proxy} (${kinds.join(", ")}).` };
  }
  const gone = manifests?.findings.filter(({ kind }) => kind === "vanishes").length ?? 0;
  if (gone > 0) {
    const what = gone === 1 ? "1 manifest uses an API" : `${gone} manifests use APIs`;
    return {
      isPass: false,
      sentence: `Fail: no wrong answers ${proxy}, but ${what} that will not be served any more.`,
    };
  }
  return { isPass: true, sentence: `Pass: ${answers} answers ${proxy}, none of them wrong.` };
}

export function inWords(kind: string): string {
  return kind.replaceAll("-", " ");
}
