/** Functions that all clients of a rehearsal share: pauses between requests, and the choice of API versions. */
import { sleep, type Clock } from "../../base/clock.ts";
import { randomItem, type Random } from "../../base/random.ts";
import type { Ledger } from "./ledger.ts";
import type { Session } from "./session.ts";
import type { LoadTarget } from "./targets.ts";

export interface LoadContext {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly targets: readonly LoadTarget[];
  /** Whether a running server serves this version of the resource. */
  readonly isServed: (target: LoadTarget, version: string) => boolean;
  /** Called if a client fails in a way that no server may cause. */
  readonly onFailure: (thrown: unknown) => void;
}

/** Repeats the work, one run after another, with pauses of `paceMs` on average. */
export async function repeatWork(
  { clock, onFailure }: LoadContext,
  { random }: Pick<Session, "random">,
  how: { readonly paceMs: number; readonly signal: AbortSignal },
  once: () => Promise<unknown>,
): Promise<void> {
  while (await sleep(clock, 2 * random.float() * how.paceMs, how.signal)) {
    try {
      await once();
    } catch (thrown) {
      onFailure(thrown);
      return;
    }
  }
}

/** Picks a resource by its weight. */
export function pickTarget(random: Random, targets: readonly LoadTarget[]): LoadTarget {
  let left = random.float() * targets.reduce((sum, { weight }) => sum + weight, 0);
  return targets.find(({ weight }) => (left -= weight) < 0) ?? randomItem(random, targets);
}

/**
 * The share of requests for any version of the resource, served or not; all others are for versions that a running
 * server serves.
 */
const UNSERVED_SHARE = 0.1;

export function pickVersion(random: Random, target: LoadTarget, isServed: LoadContext["isServed"]): string {
  const served = target.versions.filter((version) => isServed(target, version));
  const isBlind = served.length === 0 || random.float() < UNSERVED_SHARE;
  return randomItem(random, isBlind ? target.versions : served);
}
