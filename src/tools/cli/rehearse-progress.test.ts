import { expect, test } from "vitest";
import { RehearsalProgress } from "./rehearse-progress.ts";

function shownAt(nowMs: number, passedMs: number, isTTY = true): string {
  const written: string[] = [];
  let clockMs = 0;
  const progress = new RehearsalProgress({ isTTY, write: (text) => written.push(text) }, () => clockMs);
  clockMs = nowMs;
  progress.show({ subject: "kube-apiserver-with-proxy", run: 2, runs: 2, passedMs, durationMs: 1_800_000 });
  return written.join("");
}

test("the progress of a rehearsal names the run, the played time and the time left of both runs", () => {
  expect(shownAt(30_000, 900_000)).toContain(
    "run 2 of 2 (With the mixed version proxy), minute 15 of 30, about 10.0 s left",
  );
});

test("the progress of a rehearsal is shown only on a terminal", () => {
  expect(shownAt(30_000, 900_000, false)).toBe("");
});
