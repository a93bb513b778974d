/**
 * Runs the seeds of the test suite. They are in separate test files, so that they run in parallel; `npm run sim` runs
 * more seeds for a longer time.
 */
import { expect, test } from "vitest";
import { runSeed } from "./run-seed.ts";

const MINUTES = 3;
const LINES_SHOWN = 30;

export function testSeeds(first: number, last: number): void {
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  test.each(seeds)("no guarantee is violated in the simulation of seed %i", async (seed) => {
    const { violations, lines } = await runSeed({ seed, minutes: MINUTES });
    const replay = `npm run sim -- --seed ${seed} --minutes ${MINUTES} --trace`;
    expect(violations, [replay, ...lines.slice(-LINES_SHOWN)].join("\n")).toEqual([]);
  });
}

export function testSeedsWithRestores(first: number, last: number): void {
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  test.each(seeds)("the servers recover from restores of the store in the simulation of seed %i", async (seed) => {
    const { violations, lines } = await runSeed({ seed, minutes: MINUTES, restores: true });
    const replay = `npm run sim -- --seed ${seed} --minutes ${MINUTES} --restores --trace`;
    expect(violations, [replay, ...lines.slice(-LINES_SHOWN)].join("\n")).toEqual([]);
  });
}
