/** Counts the responses that clients receive, over time and by server, and keeps the first wrong ones. */
import type { Clock } from "../../base/clock.ts";
import { judgeResponse, type ObservedResponse, type JudgeFinding, type Truth } from "./judge.ts";
import {
  FIRST_WRONG_MAX,
  type RunReport,
  type SeriesKey,
  type ServerRouting,
  type ClientWait,
  type WrongResponse,
} from "./report.ts";
import type { WrongKind } from "./wrong-kinds.ts";

interface RecorderOptions {
  readonly clock: Clock;
  readonly truth: Truth;
  readonly durationMs: number;
  readonly serverIds: readonly string[];
}

type Bucket = Record<SeriesKey, number>;

/** Number of buckets over time; so many fit into a terminal or a chart. */
const BUCKETS = 60;

export class Recorder {
  readonly #options: RecorderOptions;
  readonly #bucketMs: number;
  readonly #buckets: Bucket[] = Array.from({ length: BUCKETS }, emptyBucket);
  readonly #byStatus = new Map<number, number>();
  readonly #routing: Map<string, { local: number; proxied: number; unavailable: number }>;
  readonly #wrongByKind = new Map<WrongKind, number>();
  readonly #firstWrong: WrongResponse[] = [];
  /** Time of the first request; undefined before the first client starts. */
  #startMs: number | undefined;
  #wrong = 0;
  #unanswered = 0;
  #longestWait: ClientWait | null = null;

  constructor(options: RecorderOptions) {
    this.#options = options;
    this.#bucketMs = options.durationMs / BUCKETS;
    this.#routing = new Map(options.serverIds.map((id) => [id, { local: 0, proxied: 0, unavailable: 0 }]));
  }

  /** Sets the time of the first request of a client. */
  start(): void {
    this.#startMs = this.#options.clock.monotonic();
  }

  /** Milliseconds since the first request. */
  nowMs(): number {
    return this.sinceStart(this.#options.clock.monotonic());
  }

  sinceStart(worldMs: number): number {
    return this.#startMs === undefined ? 0 : Math.round(worldMs - this.#startMs);
  }

  answered(response: ObservedResponse): void {
    const { status, serverId, servedBy } = response;
    this.#byStatus.set(status, (this.#byStatus.get(status) ?? 0) + 1);
    this.#bucket()[seriesOf(status)]++;
    const routing = this.#routing.get(serverId);
    const where = servedBy === undefined ? "local" : "proxied";
    if (routing !== undefined) routing[status === 503 ? "unavailable" : where]++;
    const { client, method, target } = response;
    for (const finding of judgeResponse(response, this.#options.truth))
      this.wrong(finding, { client, server: serverId, request: `${method} ${target}` });
  }

  wrong(finding: JudgeFinding, where: Pick<WrongResponse, "client" | "server" | "request">): void {
    this.#wrong++;
    this.#bucket().wrong++;
    this.#wrongByKind.set(finding.kind, (this.#wrongByKind.get(finding.kind) ?? 0) + 1);
    if (this.#firstWrong.length < FIRST_WRONG_MAX) this.#firstWrong.push({ atMs: this.nowMs(), ...where, ...finding });
  }

  unanswered(): void {
    this.#unanswered++;
  }

  /** Records how long a client waited until it succeeded or gave up. */
  waited(wait: Omit<ClientWait, "atMs">): void {
    if (wait.ms <= (this.#longestWait?.ms ?? 0)) return;
    this.#longestWait = { ...wait, ms: Math.round(wait.ms), atMs: this.nowMs() };
  }

  report(): Pick<
    RunReport,
    "answers" | "byStatus" | "unanswered" | "wrong" | "wrongByKind" | "firstWrong" | "unavailable" | "longestWait"
  > &
    Pick<RunReport, "routing" | "series"> {
    const statuses = [...this.#byStatus].sort(([left], [right]) => left - right);
    const routing: ServerRouting[] = [...this.#routing].map(([serverId, counts]) => ({ serverId, ...counts }));
    return {
      answers: statuses.reduce((sum, [, count]) => sum + count, 0),
      byStatus: Object.fromEntries(statuses),
      unanswered: this.#unanswered,
      wrong: this.#wrong,
      wrongByKind: Object.fromEntries([...this.#wrongByKind].sort(([left], [right]) => (left < right ? -1 : 1))),
      firstWrong: this.#firstWrong,
      unavailable: this.#byStatus.get(503) ?? 0,
      longestWait: this.#longestWait,
      routing,
      series: { bucketMs: Math.round(this.#bucketMs), buckets: this.#buckets },
    };
  }

  /**
   * The bucket of the current time. Responses after the end of the plan are counted in a bucket that is not reported.
   */
  #bucket(): Bucket {
    return this.#buckets[Math.floor(this.nowMs() / this.#bucketMs)] ?? emptyBucket();
  }
}

function seriesOf(status: number): SeriesKey {
  if (status < 300) return "ok";
  if (status === 404) return "notFound";
  return status === 503 ? "unavailable" : "other";
}

function emptyBucket(): Bucket {
  return { ok: 0, notFound: 0, unavailable: 0, other: 0, wrong: 0 };
}
