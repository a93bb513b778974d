/** API Priority and Fairness: decides which requests are served at once, which wait, and which are rejected. */
import type { WithUser } from "../auth/user.ts";
import type { Clock } from "../../base/clock.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { Handler, PassingFilter } from "../../serving/http/chain.ts";
import { isLongRunning } from "../../serving/http/filters/request-info.ts";
import { headerValue, type ApiResponse } from "../../serving/http/message.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { tooManyRequestsText } from "../../serving/http/respond.ts";
import type { ObjectTable } from "../../meta/object-table.ts";
import { tooManyRequests } from "../../meta/status-error.ts";
import type { Flow } from "./classifier.ts";
import { createFlowMetrics, type KindCounts, type RejectionReason } from "./flow-metrics.ts";
import { FlowRegister, type NextTurn } from "./flow-register.ts";
import type { Entrant, QueuePlace } from "./queue-set.ts";
import { SlowBodies } from "./slow-bodies.ts";
import { Turns } from "./turns.ts";
import { estimatedSeats, type ObjectStats } from "./work-estimate.ts";

interface FlowControlOptions {
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  /** The concurrency limit of the server: the sum of both in-flight limits. Exempt requests do not count. */
  readonly serverSeats: number;
  /** The timeout of a request that does not specify one. */
  readonly requestTimeoutMs: number;
  /** The timeout that the request specifies; undefined if it specifies none. */
  readonly requestedTimeoutMs?: (request: WithUser) => number | undefined;
  /**
   * Calls back in the next turn of the event loop, as setImmediate does. Absent in environments without an event loop.
   */
  readonly nextTurn?: (callback: () => void) => void;
  /**
   * Statistics of the stored objects of a resource; undefined if the resource is not stored in this cluster, or the
   * watch cache is not synced.
   */
  readonly statsOf: (info: RequestInfo) => ObjectStats | undefined;
}

interface FlowControl {
  readonly flowSchemas: ObjectTable;
  readonly priorityLevels: ObjectTable;
  readonly filter: PassingFilter<WithUser>;
}

const WAIT_MS_MAX = 60_000;
const READ_VERBS: ReadonlySet<string> = new Set(["get", "list", "watch"]);

export function createFlowControl(options: FlowControlOptions): FlowControl {
  const executing: KindCounts = { readOnly: 0, mutating: 0 };
  const waiting: KindCounts = { readOnly: 0, mutating: 0 };
  const { clock, metrics, serverSeats, nextTurn } = options;
  const turn: NextTurn | undefined =
    nextTurn === undefined ? undefined : (callback) => nextTurn(() => callback(clock.monotonic()));
  const register = new FlowRegister(serverSeats, turn, (readings) =>
    createFlowMetrics(metrics, { ...readings, executing, waiting }),
  );
  const pacing = nextTurn && { turns: new Turns(clock, nextTurn), slowBodies: new SlowBodies(clock, nextTurn) };
  const control: Control = { ...options, register, executing, waiting, pacing };
  return {
    flowSchemas: register.flowSchemas,
    priorityLevels: register.priorityLevels,
    filter: (next) => (request) =>
      request.info.verb !== "watch" && isLongRunning(request.info) ? next(request) : serve(control, next, request),
  };
}

interface Control extends FlowControlOptions {
  readonly register: FlowRegister;
  readonly executing: KindCounts;
  readonly waiting: KindCounts;
  readonly pacing: { readonly turns: Turns; readonly slowBodies: SlowBodies } | undefined;
}

async function serve<Req extends WithUser>(control: Control, next: Handler<Req>, request: Req): Promise<ApiResponse> {
  const { clock, register, executing, statsOf } = control;
  const { info, user, isProxied } = request;
  const arrivedMs = clock.monotonic();
  const { flow, hand } = register.classify(user, info, arrivedMs);
  const { level, counts, series } = flow;
  const seats = estimatedSeats(request, level.seatsMax, statsOf);
  series.seats.observe(seats);
  // A proxied request already holds a seat at the peer. If it also waited for a seat here, servers could deadlock on
  // each other's seats. DIFFERS: in kube-apiserver it waits.
  const entrant: Entrant = { seats, hand, counts, isUrgent: isProxied };
  const place = level.queues.start(entrant, arrivedMs);
  if (typeof place === "string") return rejectedResponse(control, flow, place, arrivedMs);
  if (place.state === "waiting" && !(await hasTurn(control, request, flow, place)))
    return rejectedResponse(control, flow, "time-out", arrivedMs);
  if (!level.config.isExempt) series.waitedToExecute.observe((place.startedMs - arrivedMs) / 1_000);
  series.dispatched.inc();
  const kind = kindOf(info);
  const seat = new Seat(control, { flow, request, entrant, place });
  executing[kind]++;
  try {
    if (seats > 1 || needsConversion(request)) await readingTurn(control, flow, { request, isWide: seats > 1 });
    // A watch holds its seats until its response begins. The time in which a response is sent does not count.
    return await next(Object.assign(paced(control, seat, request), { responseHeaders: flow.headers }));
  } finally {
    executing[kind]--;
    const durations = info.verb === "watch" ? series.watchStarted : series.executed;
    durations.observe((clock.monotonic() - place.startedMs) / 1_000);
    seat.leave();
  }
}

interface Seated {
  readonly flow: Flow;
  readonly request: WithUser;
  readonly entrant: Entrant;
  readonly place: QueuePlace;
}

/** The seats that a request holds while it is processed. */
class Seat {
  readonly flow: Flow;
  readonly #control: Control;
  readonly #seated: Seated;
  #place: QueuePlace | undefined;

  constructor(control: Control, seated: Seated) {
    this.#control = control;
    this.#seated = seated;
    this.flow = seated.flow;
    this.#place = seated.place;
  }

  leave(): void {
    const { register, clock } = this.#control;
    const place = this.#place;
    this.#place = undefined;
    if (place !== undefined) register.finish(this.flow.level, place, clock.monotonic());
  }

  async reacquire(): Promise<void> {
    const { entrant, request } = this.#seated;
    const place = this.flow.level.queues.start(entrant, this.#control.clock.monotonic());
    const isRejected = typeof place === "string";
    if (isRejected || (place.state === "waiting" && !(await hasTurn(this.#control, request, this.flow, place))))
      throw tooManyRequests("Too many requests, please try again later.", 1);
    this.#place = place;
  }
}

const OTHER_FORMS = /yaml|\bas\s*=/i;

/** True if the response must be converted to a table or to YAML. */
function needsConversion({ info, headers }: WithUser): boolean {
  return READ_VERBS.has(info.verb) && OTHER_FORMS.test(headerValue(headers, "accept") ?? "");
}

/**
 * Building the response of a list with several seats, or of a read that is converted, blocks the event loop, sometimes
 * for long. Therefore such reads wait for a turn, and the turns alternate between users.
 */
async function readingTurn(
  { pacing }: Control,
  { level }: Flow,
  { request, isWide }: { readonly request: WithUser; readonly isWide: boolean },
): Promise<void> {
  const { user, signal } = request;
  if (!level.config.isExempt) await pacing?.turns.take(user.name, isWide ? Infinity : 0, signal);
}

function paced<Req extends WithUser>({ pacing }: Control, seat: Seat, request: Req): Req {
  const { body, headers, signal, user } = request;
  if (pacing === undefined || body.isEmpty || seat.flow.level.config.isExempt) return request;
  const { turns, slowBodies } = pacing;
  const reader = { user: user.name, leave: () => seat.leave(), reacquire: () => seat.reacquire() };
  const announced = Number(headerValue(headers, "content-length") ?? 0);
  const read = async (limitBytes: number): Promise<Buffer> => {
    turns.rejectTooMany(user.name, announced);
    const bytes = await slowBodies.read(body, limitBytes, reader);
    const turn = turns.take(user.name, bytes.length, signal);
    if (turn !== undefined) await turn;
    return bytes;
  };
  return Object.assign(request, { body: { isEmpty: false, stream: () => body.stream(), read } });
}

function kindOf({ verb }: RequestInfo): keyof KindCounts {
  return READ_VERBS.has(verb) ? "readOnly" : "mutating";
}

/** Waits for seats. False if the wait times out or the client disconnects. */
async function hasTurn(control: Control, request: WithUser, { level }: Flow, place: QueuePlace): Promise<boolean> {
  const { clock, waiting } = control;
  const kind = kindOf(request.info);
  waiting[kind]++;
  try {
    return await new Promise((resolve) => {
      const settle = (isTurn: boolean): void => {
        cancel();
        request.signal.removeEventListener("abort", giveUp);
        resolve(isTurn);
      };
      const giveUp = (): void => {
        level.queues.leave(place, clock.monotonic());
        settle(false);
      };
      const cancel = clock.after(waitMs(control, request), giveUp);
      place.onTurn = () => settle(true);
      if (request.signal.aborted) giveUp();
      else request.signal.addEventListener("abort", giveUp);
    });
  } finally {
    waiting[kind]--;
  }
}

function waitMs({ requestTimeoutMs, requestedTimeoutMs }: Control, request: WithUser): number {
  const asked = request.info.verb === "watch" ? undefined : requestedTimeoutMs?.(request);
  return Math.min(Math.min(requestTimeoutMs, asked ?? Infinity) / 4, WAIT_MS_MAX);
}

function rejectedResponse({ clock }: Control, flow: Flow, reason: RejectionReason, arrivedMs: number): ApiResponse {
  const nowMs = clock.monotonic();
  flow.series.countRejected(reason);
  flow.series.waitedAndRejected.observe((nowMs - arrivedMs) / 1_000);
  const retryAfter = String(flow.level.dropped.drop(nowMs));
  return tooManyRequestsText({ ...flow.headers, "retry-after": retryAfter });
}
