/** A clock that a test advances. */
import type { Clock } from "../../../../src/base/clock.ts";

export interface ManualClock extends Clock {
  /** Advances the time and runs the callbacks that come due, in order. */
  advance(ms: number): void;
}

export function createManualClock(): ManualClock {
  let nowMs = 0;
  const timers = new Set<{ dueMs: number; callback: () => void }>();
  const takeDue = (untilMs: number): { dueMs: number; callback: () => void } | undefined => {
    const due = [...timers]
      .filter((timer) => timer.dueMs <= untilMs)
      .sort((left, right) => left.dueMs - right.dueMs)[0];
    if (due !== undefined) timers.delete(due);
    return due;
  };
  return {
    now: () => nowMs,
    monotonic: () => nowMs,
    after(delayMs, callback) {
      const timer = { dueMs: nowMs + delayMs, callback };
      timers.add(timer);
      return () => void timers.delete(timer);
    },
    advance(ms) {
      const untilMs = nowMs + ms;
      for (let due = takeDue(untilMs); due !== undefined; due = takeDue(untilMs)) {
        nowMs = due.dueMs;
        due.callback();
      }
      nowMs = untilMs;
    },
  };
}
