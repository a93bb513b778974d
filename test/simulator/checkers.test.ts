import { describe, expect, test } from "vitest";
import type { Plant } from "../../src/simulator/cluster.ts";
import type { Swarm } from "../../src/simulator/nemesis.ts";
import { NO_FAULTS } from "../../src/simulator/network.ts";
import { runSeed } from "../../src/simulator/run-seed.ts";
import {
  deletesTwice,
  forgetsPeers,
  forgetsWrites,
  leavesOneOut,
  losesGuard,
  refusesToList,
  sendsInCircles,
  staysUnready,
  tellsOtherwise,
} from "./planted-bugs.ts";

/** Nothing fails but what was planted. */
const CALM: Partial<Swarm> = { rates: NO_FAULTS, faultEveryMs: 1e9, delayMsMax: 5, probeIntervalMs: 2_000 };
/** Of servers that serve different things. */
const SEED = 3;

async function broken(plant: Plant): Promise<ReadonlySet<string>> {
  const { violations } = await runSeed({ seed: SEED, minutes: 3, plant, swarm: CALM });
  return new Set(violations.map(({ checker }) => checker));
}

const PLANTED: readonly (readonly [checker: string, bug: () => Plant])[] = [
  ["no-false-404", forgetsPeers],
  ["at-most-one-hop", losesGuard],
  ["no-circle", sendsInCircles],
  ["sent-once", deletesTwice],
  ["no-lost-write", forgetsWrites],
  ["ready-again", staysUnready],
  ["served-is-listed", leavesOneOut],
  ["listed-is-reachable", refusesToList],
  ["documents-equal", tellsOtherwise],
];

describe("a checker finds the bug it is there for", () => {
  test.each(PLANTED)("%s", async (checker, bug) => {
    expect(await broken(bug())).toContain(checker);
  });
});

test("a sound cluster without faults breaks no promise", async () => {
  expect([...(await broken({}))]).toEqual([]);
});
