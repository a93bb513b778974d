/** API Priority and Fairness: who is served at once, who waits for whom, and who is refused. */
import type { WithUser } from "../auth/user.ts";
import type { Clock } from "../base/clock.ts";
import type { MetricsRegistry } from "../base/metrics.ts";
import type { Handler, PassingFilter } from "../http/chain.ts";
import { isLongRunning } from "../http/filters/request-info.ts";
import type { ApiResponse } from "../http/message.ts";
import type { RequestInfo } from "../http/request-info.ts";
import { tooManyAnswer } from "../http/respond.ts";
import type { ObjectTable } from "../meta/object-table.ts";
import type { Flow } from "./classifier.ts";
import { createFlowMetrics, type KindCounts, type RefusalReason } from "./flow-metrics.ts";
import { FlowRegister, type NextTurn } from "./flow-register.ts";
import type { Place } from "./queue-set.ts";
import { inTurn, Turns } from "./turns.ts";
import { estimatedSeats, type ObjectStats } from "./work-estimate.ts";

export interface FlowControlOptions {
  readonly clock: Clock;
  readonly metrics: MetricsRegistry;
  /** Requests served at the same time, those of exempt users not counted: both in-flight limits together. */
  readonly serverSeats: number;
  /** How long a request may take that does not say otherwise. */
  readonly requestTimeoutMs: number;
  /** How long it says that it may take. */
  readonly askedTimeoutMs?: (request: WithUser) => number | undefined;
  /** Calls back when the event loop has come round, as setImmediate does. Absent where there is no such loop. */
  readonly nextTurn?: (callback: () => void) => void;
  /** Of what is stored; undefined for what is not stored here. */
  readonly statsOf: (info: RequestInfo) => ObjectStats | undefined;
}

export interface FlowControl {
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
  const turns = nextTurn && new Turns(clock, nextTurn);
  const control: Control = { ...options, register, executing, waiting, turns };
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
  readonly turns: Turns | undefined;
}

async function serve<Req extends WithUser>(control: Control, next: Handler<Req>, request: Req): Promise<ApiResponse> {
  const { clock, register, executing, statsOf } = control;
  const { info, user, isProxied } = request;
  const arrivedMs = clock.monotonic();
  const { flow, hand } = register.classify(user, info, arrivedMs);
  const { level, counts, series } = flow;
  const seats = estimatedSeats(request, level.seatsMax, statsOf);
  series.seats.observe(seats);
  // A peer has found it a seat already. If it waited for another one here, servers could wait for each other's seats.
  // DIFFERS: kube-apiserver lets it wait.
  const place = level.queues.start({ seats, hand, counts, isUrgent: isProxied }, arrivedMs);
  if (typeof place === "string") return refused(control, flow, place, arrivedMs);
  if (place.state === "waiting" && !(await hasTurn(control, request, flow, place)))
    return refused(control, flow, "time-out", arrivedMs);
  if (!level.config.isExempt) series.waitedToExecute.observe((place.startedMs - arrivedMs) / 1_000);
  series.dispatched.inc();
  const kind = kindOf(info);
  executing[kind]++;
  try {
    // A watch has been begun when its answer has. What is sent of an answer is not counted.
    return await next(Object.assign(paced(control, flow, request), { answerHeaders: flow.headers }));
  } finally {
    executing[kind]--;
    const endedMs = clock.monotonic();
    const durations = info.verb === "watch" ? series.watchStarted : series.executed;
    durations.observe((endedMs - place.startedMs) / 1_000);
    register.finish(level, place, endedMs);
  }
}

function paced<Req extends WithUser>({ turns }: Control, { level }: Flow, request: Req): Req {
  const { body, signal, user } = request;
  if (turns === undefined || body.isEmpty || level.config.isExempt) return request;
  return Object.assign(request, { body: inTurn(body, signal, () => turns.take(user.name)) });
}

function kindOf({ verb }: RequestInfo): keyof KindCounts {
  return READ_VERBS.has(verb) ? "readOnly" : "mutating";
}

/** False when it takes too long, or nobody waits for the answer any more. */
async function hasTurn(control: Control, request: WithUser, { level }: Flow, place: Place): Promise<boolean> {
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

function waitMs({ requestTimeoutMs, askedTimeoutMs }: Control, request: WithUser): number {
  const asked = request.info.verb === "watch" ? undefined : askedTimeoutMs?.(request);
  return Math.min(Math.min(requestTimeoutMs, asked ?? Infinity) / 4, WAIT_MS_MAX);
}

function refused({ clock }: Control, flow: Flow, reason: RefusalReason, arrivedMs: number): ApiResponse {
  const nowMs = clock.monotonic();
  flow.series.refused(reason);
  flow.series.waitedInVain.observe((nowMs - arrivedMs) / 1_000);
  const retryAfter = String(flow.level.dropped.drop(nowMs));
  return tooManyAnswer({ ...flow.headers, "retry-after": retryAfter });
}
