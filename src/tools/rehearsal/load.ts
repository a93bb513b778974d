/** What the clients of a rehearsal share: pacing, and the choice of API versions. */
import { sleep, type Clock } from "../../base/clock.ts";
import { randomItem, type Random } from "../../base/random.ts";
import type { Ledger } from "./ledger.ts";
import type { Session } from "./session.ts";
import type { LoadTarget } from "./targets.ts";

export interface LoadContext {
  readonly clock: Clock;
  readonly ledger: Ledger;
  readonly targets: readonly LoadTarget[];
  /** Whether a server that runs serves it. */
  readonly isServed: (target: LoadTarget, version: string) => boolean;
  /** A client failed in a way no server should make it fail. */
  readonly onFailure: (thrown: unknown) => void;
}

/** Does it again and again, one after the other, with pauses of this length on average. */
export async function keepDoing(
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

/** Who has seen an API in discovery uses it; now and then somebody asks for what is not there yet, or no longer. */
const ASKS_BLINDLY = 0.1;

export function pickVersion(random: Random, target: LoadTarget, isServed: LoadContext["isServed"]): string {
  const served = target.versions.filter((version) => isServed(target, version));
  const isBlind = served.length === 0 || random.float() < ASKS_BLINDLY;
  return randomItem(random, isBlind ? target.versions : served);
}
