/** Runs ten thousand random cases, a thousand for each release; `npm run fuzz` runs more. */
import { expect, test } from "vitest";
import { isKnown, KNOWN_FINDINGS } from "./known-findings.ts";
import { describeFailure } from "./report.ts";
import { CASES_PER_BATCH, releaseOf, runBatch, type Failure } from "./run-batch.ts";

const SEED = 1;
const BATCHES = 10;
const CASES_OF_BATCH = 1_000;
const batches = Array.from({ length: BATCHES }, (_, batch) => {
  const first = batch * CASES_PER_BATCH;
  return { first, end: first + CASES_OF_BATCH, release: releaseOf(first) };
});

test.each(batches)(
  `random requests violate no invariant: seed ${SEED}, cases from $first, release $release`,
  { timeout: 120_000 },
  async ({ first, end }) => {
    const failures: string[] = [];
    const onFailure = (failure: Failure): void => {
      if (!isKnown(failure)) failures.push(describeFailure(failure));
    };
    // Durations are reported by `npm run fuzz` only; no test fails because it is slow.
    const { cases } = await runBatch({ seed: SEED, first, end, stopwatch: () => 0, onFailure });
    expect(failures.slice(0, 5).join("\n\n")).toBe("");
    expect(cases).toBe(CASES_OF_BATCH);
  },
);

test.each(KNOWN_FINDINGS)("a known finding can still be reproduced: $why", async ({ seed, caseNumber }) => {
  const known: Failure[] = [];
  const onFailure = (failure: Failure): void => {
    if (isKnown(failure)) known.push(failure);
  };
  await runBatch({ seed, first: caseNumber, end: caseNumber + 1, stopwatch: () => 0, onFailure });
  expect(known.length).toBeGreaterThan(0);
});
