/**
 * Keeps controllers from writing after their term has ended. A request that was sent during the term may reach the store
 * long after its end, for example because the process was paused, and another server may lead by then. Each request is
 * bound to the term in which it was sent, because this server may lead again in a later term.
 */
import type { CommitCondition } from "../../meta/commit-condition.ts";
import type { Term } from "./leader-election.ts";

export class TermFence {
  #term: Term | undefined;

  begin(term: Term): void {
    this.#term = term;
  }

  /** The condition for the writes of a request that is sent now. */
  readonly condition = (): CommitCondition => {
    const term = this.#term;
    return { rejection: () => (term?.isLeading === true ? undefined : "this server no longer leads the controllers") };
  };
}
