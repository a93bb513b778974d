/** The seeds of every run of the tests, in files of their own so that they run side by side; `npm run sim` plays longer. */
import { expect, test } from "vitest";
import { runSeed } from "./run-seed.ts";

const MINUTES = 3;
const LINES_SHOWN = 30;

export function testSeeds(first: number, last: number): void {
  const seeds = Array.from({ length: last - first + 1 }, (_, index) => first + index);
  test.each(seeds)("no promise is broken in the world of seed %i", async (seed) => {
    const { violations, lines } = await runSeed({ seed, minutes: MINUTES });
    const replay = `npm run sim -- --seed ${seed} --minutes ${MINUTES} --trace`;
    expect(violations, [replay, ...lines.slice(-LINES_SHOWN)].join("\n")).toEqual([]);
  });
}
