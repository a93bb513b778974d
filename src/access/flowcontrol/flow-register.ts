/** Holds the current FlowSchemas and priority levels. A change takes effect with the next request. */
import type { User } from "../auth/user.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import type { ObjectTable } from "../../meta/object-table.ts";
import { BoundedMemo } from "./bounded-memo.ts";
import { Classifier, type Classified, type Flow } from "./classifier.ts";
import type { FlowSeries, Readings } from "./flow-metrics.ts";
import {
  compareSchemas,
  MANDATORY_CATCH_ALL,
  MANDATORY_EXEMPT,
  readFlowSchema,
  type FlowSchema,
} from "./flow-schema.ts";
import { LevelStates, type LevelState } from "./level-states.ts";
import { objectMap } from "./object-map.ts";
import { readPriorityLevel, type PriorityLevel } from "./priority-level.ts";
import type { FlowCounts, QueuePlace } from "./queue-set.ts";

/** Number of cached hands (sets of queues) per FlowSchema; the cache keeps up to twice as many. */
const HANDS_MAX = 1_000;

/**
 * Calls back in the next turn of the event loop. A request with more than one seat releases its seats only then, when
 * requests of other clients have been queued too. Otherwise one client could send any number of lists in a row: a list
 * from memory ends within one turn, so the client would never hold the seats of two lists.
 */
export type NextTurn = (callback: (nowMs: number) => void) => void;

type SeriesOf = (level: string, flowSchema: string) => FlowSeries;

export class FlowRegister {
  readonly flowSchemas: ObjectTable;
  readonly priorityLevels: ObjectTable;
  readonly #schemas = new Map<string, FlowSchema>();
  readonly #configs = new Map<string, PriorityLevel>();
  readonly #levels: LevelStates;
  readonly #seriesOf: SeriesOf;
  readonly #nextTurn: NextTurn | undefined;
  #ended: { readonly level: LevelState; readonly place: QueuePlace }[] = [];
  #flows: readonly Flow[] = [];
  #classifier = new Classifier([]);
  /** True if a FlowSchema or priority level has changed since the last request. */
  #isStale = true;

  constructor(
    serverSeats: number,
    nextTurn: NextTurn | undefined,
    measure: (readings: Pick<Readings, "levels" | "flows">) => SeriesOf,
  ) {
    this.#nextTurn = nextTurn;
    const onChange = (): void => void (this.#isStale = true);
    this.flowSchemas = objectMap(this.#schemas, readFlowSchema, onChange);
    this.priorityLevels = objectMap(this.#configs, readPriorityLevel, onChange);
    this.#levels = new LevelStates(serverSeats);
    this.#seriesOf = measure({
      levels: () => this.#levels.readings(),
      flows: () =>
        this.#flows.map(({ schema, level, counts }) => ({
          level: level.config.name,
          flowSchema: schema.name,
          counts,
        })),
    });
  }

  classify(user: User, info: RequestInfo, nowMs: number): Classified {
    this.#refresh(nowMs);
    return this.#classifier.classify(user, info);
  }

  finish(level: LevelState, place: QueuePlace, nowMs: number): void {
    if (this.#nextTurn === undefined || place.seats === 1) {
      level.queues.finish(place, nowMs);
      this.#finished(level, nowMs);
      return;
    }
    this.#ended.push({ level, place });
    if (this.#ended.length === 1) this.#nextTurn((laterMs) => this.#finishEnded(laterMs));
  }

  #finishEnded(nowMs: number): void {
    const ended = this.#ended;
    this.#ended = [];
    for (const { level, place } of ended) {
      level.queues.finish(place, nowMs);
      this.#finished(level, nowMs);
    }
  }

  #finished(level: LevelState, nowMs: number): void {
    if (level.isRetiring && level.queues.isIdle) this.#isStale = true;
    this.#refresh(nowMs);
  }

  #refresh(nowMs: number): void {
    if (this.#isStale) this.#digest(nowMs);
    else this.#levels.adjustWhenDue(nowMs);
  }

  #digest(nowMs: number): void {
    this.#isStale = false;
    this.#levels.configure(this.#configs, nowMs);
    const before = new Map(this.#flows.map((flow) => [flow.schema.name, flow]));
    const usable = [...this.#schemas.values()].filter(({ level }) => this.#levels.get(level) !== undefined);
    usable.sort(compareSchemas);
    if (!usable.some(({ name }) => name === MANDATORY_EXEMPT.name)) usable.unshift(MANDATORY_EXEMPT);
    if (!usable.some(({ name }) => name === MANDATORY_CATCH_ALL.name)) usable.push(MANDATORY_CATCH_ALL);
    this.#flows = usable.map((schema) => this.#flowOf(schema, before.get(schema.name)));
    this.#classifier = new Classifier(this.#flows);
  }

  #flowOf(schema: FlowSchema, before: Flow | undefined): Flow {
    const level = this.#levels.get(schema.level)!;
    const counts: FlowCounts =
      before?.level === level ? before.counts : { executing: 0, executingSeats: 0, waiting: 0, waitingSeats: 0 };
    const hands = new BoundedMemo<readonly number[]>(HANDS_MAX);
    const headers = {
      "x-kubernetes-pf-flowschema-uid": schema.uid,
      "x-kubernetes-pf-prioritylevel-uid": level.config.uid,
    };
    return {
      schema,
      level,
      counts,
      series: this.#seriesOf(level.config.name, schema.name),
      headers,
      handsByDistinguisher: hands,
    };
  }
}
