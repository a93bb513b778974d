/**
 * Classifies requests: finds the FlowSchema of a request, and the queues of its flow. The rules that apply to a user
 * are cached for its next request.
 */
import type { User } from "../auth/user.ts";
import type { RequestInfo } from "../../serving/http/request-info.ts";
import { BoundedMemo } from "./bounded-memo.ts";
import type { FlowSeries } from "./flow-metrics.ts";
import { isAbout, isAboutEverything, isSubject, type FlowRule, type FlowSchema } from "./flow-schema.ts";
import type { LevelState } from "./level-states.ts";
import { CATCH_ALL } from "./priority-level.ts";
import type { FlowCounts } from "./queue-set.ts";
import { deal, hashOfFlow } from "./shuffle-sharding.ts";

/** A FlowSchema whose priority level exists, with its state. */
export interface Flow {
  readonly schema: FlowSchema;
  readonly level: LevelState;
  readonly counts: FlowCounts;
  readonly series: FlowSeries;
  /** The response headers that name the FlowSchema and the priority level. */
  readonly headers: Readonly<Record<string, string>>;
  /** Cached hands by flow distinguisher. A hand is the set of queues that shuffle sharding assigns to a flow. */
  readonly handsByDistinguisher: BoundedMemo<readonly number[]>;
}

export interface Classified {
  readonly flow: Flow;
  /** The hand of the flow: the queues in which the request may wait. Empty if the priority level has no queues. */
  readonly hand: readonly number[];
}

const USERS_MAX = 2_000;
const NO_HAND: readonly number[] = [];

interface KnownUser {
  readonly user: User;
  /** The rules whose subjects include this user, in matching order. */
  readonly rules: readonly { readonly rule: FlowRule; readonly flow: Flow }[];
}

export class Classifier {
  readonly #flows: readonly Flow[];
  readonly #users = new BoundedMemo<KnownUser>(USERS_MAX);

  /** `flows` are in matching order. */
  constructor(flows: readonly Flow[]) {
    this.#flows = flows;
  }

  classify(user: User, info: RequestInfo): Classified {
    const flow = this.#flowOf(user, info);
    return { flow, hand: this.#handOf(flow, user, info) };
  }

  #flowOf(user: User, info: RequestInfo): Flow {
    for (const { rule, flow } of this.#rulesFor(user)) if (isAbout(rule, info)) return flow;
    return this.#flows.find(({ schema }) => schema.name === CATCH_ALL)!;
  }

  #rulesFor(user: User): KnownUser["rules"] {
    const known = this.#users.get(user.name);
    if (known !== undefined && hasSameGroups(known.user, user)) return known.rules;
    const rules: { rule: FlowRule; flow: Flow }[] = [];
    search: for (const flow of this.#flows) {
      for (const rule of flow.schema.rules) {
        if (!isSubject(rule.subjects, user)) continue;
        rules.push({ rule, flow });
        if (isAboutEverything(rule)) break search;
      }
    }
    this.#users.set(user.name, { user, rules });
    return rules;
  }

  #handOf({ schema, level, handsByDistinguisher }: Flow, user: User, { namespace }: RequestInfo): readonly number[] {
    const { queuing } = level.config;
    if (queuing === undefined) return NO_HAND;
    const { name, distinguisher } = schema;
    const kind = distinguisher === "ByUser" ? user.name : distinguisher === "ByNamespace" ? namespace : "";
    const known = handsByDistinguisher.get(kind);
    if (known !== undefined) return known;
    const hand = deal(hashOfFlow(name, kind), queuing);
    handsByDistinguisher.set(kind, hand);
    return hand;
  }
}

function hasSameGroups(left: User, right: User): boolean {
  if (left.groups === right.groups) return true;
  return (
    left.groups.length === right.groups.length && left.groups.every((group, index) => group === right.groups[index])
  );
}
