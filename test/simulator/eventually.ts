import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";

/** Longer than controllers wait before they look again at what nobody tells them of, and than informers do. */
const PATIENCE_SECONDS = 180;
const STEP_SECONDS = 5;

/** What is still wrong when there was time enough for it to come right. */
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
