import { describe, expect, test } from "vitest";
import { throughSuspend } from "./through-suspend.ts";

/** A machine with three clocks, which the test moves. */
class Machine {
  wallMs = 1_900_000_000_000;
  monotonicMs = 500;
  bootMs: number | undefined = 70_000;
  readings = 0;
  /** Called while the clock that runs through suspend is read. */
  duringReading: () => void = () => {};

  readonly clock = throughSuspend({
    wall: () => Math.floor(this.wallMs),
    monotonic: () => this.monotonicMs,
    sinceBoot: () => {
      this.readings++;
      this.duringReading();
      // The resolution of /proc/uptime.
      return this.bootMs === undefined ? undefined : Math.floor(this.bootMs / 10) * 10;
    },
  });

  run(ms: number): void {
    this.monotonicMs += ms;
    this.suspend(ms);
  }

  suspend(ms: number): void {
    this.wallMs += ms;
    if (this.bootMs !== undefined) this.bootMs += ms;
  }
}

describe("a clock that runs through suspend", () => {
  test("equals the monotonic clock while the machine runs, and rarely reads the slow clock", () => {
    const machine = new Machine();
    const before = machine.readings;
    for (let step = 0; step < 10_000; step++) {
      machine.run(1.7);
      expect(machine.clock()).toBe(machine.monotonicMs);
    }
    expect(machine.readings - before).toBeLessThanOrEqual(17);
    expect(machine.readings - before).toBeGreaterThanOrEqual(10);
  });

  test("counts a suspend at the first reading after it, and every further suspend", () => {
    const machine = new Machine();
    machine.run(300);
    const startMs = machine.clock();
    for (const [index, ms] of [20_000, 150, 3_600_000].entries()) {
      const earlierMs = machine.clock();
      machine.suspend(ms);
      expect(Math.abs(machine.clock() - earlierMs - ms), `suspend ${index}`).toBeLessThanOrEqual(20);
    }
    expect(Math.abs(machine.clock() - startMs - 3_620_150)).toBeLessThanOrEqual(20);
  });

  test("does not follow a wall clock that is set forward or back", () => {
    const machine = new Machine();
    for (const ms of [3_600_000, -7_200_000, 5_000]) {
      const earlierMs = machine.clock();
      machine.wallMs += ms;
      expect(machine.clock()).toBe(earlierMs);
    }
  });

  test("counts a suspend within a second if the wall clock was set back by the same time", () => {
    const machine = new Machine();
    const earlierMs = machine.clock();
    machine.suspend(20_000);
    machine.wallMs -= 20_000;
    machine.run(1_000);
    expect(machine.clock() - earlierMs).toBeGreaterThanOrEqual(20_900);
  });

  test("does not count a pause of the process twice that begins during a reading", () => {
    const machine = new Machine();
    const earlierMs = machine.clock();
    machine.suspend(5_000);
    let pauses = 1;
    machine.duringReading = () => {
      if (pauses-- > 0) machine.run(30_000);
    };
    machine.clock();
    machine.duringReading = () => {};
    expect(Math.abs(machine.clock() - earlierMs - 35_000)).toBeLessThanOrEqual(20);
  });

  test("never goes back", () => {
    const machine = new Machine();
    machine.suspend(20_000);
    const earlierMs = machine.clock();
    machine.bootMs! -= 15_000;
    machine.wallMs += 60_000;
    expect(machine.clock()).toBe(earlierMs);
  });

  test("equals the monotonic clock on a platform without such a clock", () => {
    const machine = new Machine();
    machine.bootMs = undefined;
    machine.clock();
    machine.monotonicMs += 1_000;
    machine.wallMs += 60_000;
    expect(machine.clock()).toBe(machine.monotonicMs);
  });
});
