/** Runs the steps of an upgrade plan at their times, and records when each began and ended. */
import type { UpgradePlan, PlanStep } from "./plan.ts";
import type { PlayedStep } from "./report.ts";
import type { RehearsalStage } from "./stage.ts";

interface RollOptions {
  readonly stage: RehearsalStage;
  readonly plan: UpgradePlan;
  readonly sinceStart: (stageMs: number) => number;
  readonly onFailure: (thrown: unknown) => void;
}

export class Roll {
  readonly #options: RollOptions;
  readonly #begun: { readonly step: PlanStep; readonly atMs: number }[] = [];

  constructor(options: RollOptions) {
    this.#options = options;
  }

  schedule(): void {
    const { stage, plan, onFailure } = this.#options;
    for (const step of plan.steps) {
      stage.clock.after(step.atMs, () => {
        this.#begun.push({ step, atMs: stage.clock.monotonic() });
        stage.move(step).catch(onFailure);
      });
    }
  }

  played(): PlayedStep[] {
    const { stage, sinceStart } = this.#options;
    return this.#begun.map(({ step: { serverId, from, to }, atMs }) => {
      const back = stage.serverRuns.find(
        (run) => run.serverId === serverId && run.release === to && (run.readyAtMs ?? 0) > atMs,
      );
      const readyAtMs = back?.readyAtMs === undefined ? null : sinceStart(back.readyAtMs);
      return { serverId, from, to, stoppedAtMs: sinceStart(atMs), readyAtMs };
    });
  }
}
