/** Lets a settled cluster resolve its problems before a checker reports them. */
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";

/** Longer than the resync period of controllers and informers. */
const PATIENCE_SECONDS = 180;
const STEP_SECONDS = 5;

/**
 * Advances the time until `look` finds no problem. Returns the problems that remain after enough time to resolve them.
 */
export async function eventuallyNone(
  cluster: SimulatedCluster,
  look: () => readonly string[],
): Promise<readonly string[]> {
  let problems = look();
  for (let seconds = 0; problems.length > 0 && seconds < PATIENCE_SECONDS; seconds += STEP_SECONDS) {
    await cluster.advance({ seconds: STEP_SECONDS });
    problems = look();
  }
  return problems;
}
