/** Keeps the seats and queues of the priority levels across changes of their configuration. */
import { DroppedRequests } from "./dropped-requests.ts";
import type { LevelReading } from "./flow-metrics.ts";
import { MANDATORY_LEVELS, type PriorityLevel } from "./priority-level.ts";
import { QueueSet } from "./queue-set.ts";
import { currentLimits, seatLimits, type SeatLimits } from "./seat-allocation.ts";
import { seatsMaxOf } from "./work-estimate.ts";

export interface LevelState {
  config: PriorityLevel;
  limits: SeatLimits;
  /** Maximum number of seats of one request. */
  seatsMax: number;
  /** True if the priority level was deleted while requests wait or are executing. */
  isRetiring: boolean;
  readonly queues: QueueSet;
  readonly dropped: DroppedRequests;
}

const NO_LIMITS: SeatLimits = { nominal: 0, lower: 0, upper: 0 };
/** Interval at which seats are reallocated among the levels. */
const ADJUSTMENT_MS = 10_000;

export class LevelStates {
  readonly #serverSeats: number;
  readonly #states = new Map<string, LevelState>();
  #adjustedMs = 0;

  constructor(serverSeats: number) {
    this.#serverSeats = serverSeats;
  }

  /** Undefined if there is no such level or it was deleted, so that it accepts no new requests. */
  get(name: string): LevelState | undefined {
    const state = this.#states.get(name);
    return state?.isRetiring === true ? undefined : state;
  }

  *readings(): Iterable<LevelReading> {
    for (const [level, { limits, queues }] of this.#states) yield { level, limits, current: queues.limit };
  }

  configure(levels: ReadonlyMap<string, PriorityLevel>, nowMs: number): void {
    for (const [name, state] of this.#states) {
      state.isRetiring = !levels.has(name) && !MANDATORY_LEVELS.some((level) => level.name === name);
      if (state.isRetiring && state.queues.isIdle) this.#states.delete(name);
    }
    for (const level of [...MANDATORY_LEVELS.filter(({ name }) => !levels.has(name)), ...levels.values()])
      this.#put(level, nowMs);
    const states = [...this.#states.values()];
    const limits = seatLimits(
      states.map(({ config }) => config),
      this.#serverSeats,
    );
    states.forEach((state, index) => {
      state.limits = limits[index] ?? NO_LIMITS;
      state.seatsMax = seatsMaxOf(state.limits.nominal, state.config.queuing?.handSize);
      state.queues.configure(state.config);
    });
    this.#adjust(nowMs);
  }

  #put(config: PriorityLevel, nowMs: number): void {
    const known = this.#states.get(config.name);
    if (known !== undefined) {
      known.config = config;
      return;
    }
    const [queues, dropped] = [new QueueSet(nowMs), new DroppedRequests()];
    this.#states.set(config.name, { config, limits: NO_LIMITS, seatsMax: 1, isRetiring: false, queues, dropped });
  }

  // DIFFERS: kube-apiserver adjusts the seats by a timer. Here a request triggers the adjustment, because an idle
  // server needs none.
  adjustWhenDue(nowMs: number): void {
    if (nowMs - this.#adjustedMs >= ADJUSTMENT_MS) this.#adjust(nowMs);
  }

  #adjust(nowMs: number): void {
    this.#adjustedMs = nowMs;
    const states = [...this.#states.values()];
    const current = currentLimits(
      states.map(({ config: { isExempt }, limits, queues }) => ({
        isExempt,
        limits,
        demand: queues.demand.take(nowMs),
      })),
    );
    states.forEach(({ queues }, index) => queues.setLimit(current[index] ?? 0, nowMs));
  }
}
