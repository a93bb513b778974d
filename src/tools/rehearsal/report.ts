/** The report of a rehearsal: one value from which the terminal summary, the JSON output and the HTML page are made. */
import { must } from "../../base/assert.ts";
import type { ReleaseName } from "../../objects/catalog/release.ts";
import { countRejected, type ManifestReport } from "./manifests.ts";
import type { UpgradePlan } from "./plan.ts";
import type { SeedKind } from "./seed.ts";
import { wordsOf, type RehearsalSubject } from "./subject.ts";
import { tallyText, type WrongKind } from "./wrong-kinds.ts";

export type FaultLevel = "none" | "light" | "heavy";

/** Times are milliseconds since the first request of a client. */
export interface RehearsalReport {
  readonly format: 2;
  readonly about: ReportAbout;
  readonly settings: {
    readonly from: ReleaseName;
    readonly to: ReleaseName;
    readonly servers: number;
    readonly minutes: number;
    readonly time: "virtual" | "real";
    readonly way: "up" | "and-back";
    readonly faults: FaultLevel;
    /** The run that the verdict is about. */
    readonly subject: RehearsalSubject;
    readonly seed: number;
  };
  readonly plan: UpgradePlan;
  /** One run is about the subject; the other shows what it is compared with. */
  readonly runs: readonly RunReport[];
  /** Null if the rehearsal was not seeded with a cluster. */
  readonly cluster: ClusterReport | null;
  /** Null if no manifests were given. */
  readonly manifests: ManifestReport | null;
  readonly verdict: Verdict;
}

/** Where the report comes from, so that a reader can repeat the rehearsal. */
export interface ReportAbout {
  /** The version of Evenkeel. */
  readonly version: string;
  /** RFC 3339. */
  readonly date: string;
  /** The arguments of the command, without the name of the program. */
  readonly command: readonly string[];
}

/** The cluster with which the rehearsal was seeded. */
interface ClusterReport {
  /** For example "etcd snapshot backup.db". */
  readonly source: string;
  readonly runtimeConfig: readonly string[];
  readonly kinds: readonly SeedKind[];
  /** Kinds in use that clients did not use: the servers write them themselves, or cannot be asked for them. */
  readonly notPlayed: readonly string[];
}

interface Verdict {
  readonly isPass: boolean;
  readonly sentence: string;
}

/** One run of the plan. */
export interface RunReport {
  readonly subject: RehearsalSubject;
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
  /** The custom resources that clients did not use, with the reasons. */
  readonly notes: readonly string[];
  /** Failures of the rehearsal itself. If there are any, the report is invalid. */
  readonly failures: readonly string[];
}

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

/** The run that the verdict is about. */
export function judgedRun({ runs, settings }: Pick<RehearsalReport, "runs" | "settings">): RunReport {
  return must(
    runs.find(({ subject }) => subject === settings.subject),
    "a rehearsal plays its subject",
  );
}

/** The sentence names the judged run first, then the other one. */
export function decideVerdict(
  judged: RunReport,
  others: readonly RunReport[],
  manifests: ManifestReport | null,
): Verdict {
  const [failure] = [judged, ...others].flatMap(({ failures }) => failures);
  if (failure !== undefined) return { isPass: false, sentence: `The rehearsal itself failed: ${failure}` };
  const gone = countRejected(manifests);
  const isPass = judged.wrong === 0 && gone === 0;
  const compared = others.map(({ subject, wrong, wrongByKind }) => {
    const tally = judged.wrong > 0 && wrong === 0 ? "0" : tallyText(wrongByKind);
    return `${wordsOf(subject).name}: ${tally}.`;
  });
  return {
    isPass,
    sentence: [
      `${isPass ? "Pass" : "Fail"}: ${wordsOf(judged.subject).name}: ${tallyText(judged.wrongByKind)}.`,
      ...compared,
      ...goneText(gone),
    ].join(" "),
  };
}

function goneText(gone: number): string[] {
  if (gone === 0) return [];
  const what = gone === 1 ? "1 manifest uses an API" : `${gone} manifests use APIs`;
  return [`${what} that will not be served after the upgrade.`];
}

export function inWords(kind: string): string {
  return kind.replaceAll("-", " ");
}
