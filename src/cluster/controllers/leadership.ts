/**
 * Runs controllers as background tasks. At a shutdown they stop before everything else, so that another server can lead
 * at once.
 */
import { eitherSignal } from "../../base/either-signal.ts";
import type { ControllerManager } from "../controller-runtime/manager.ts";
import { whenOrAborted, type BackgroundTask } from "../../base/background.ts";
import { untilAborted } from "../../base/until-aborted.ts";

export interface Leadership {
  readonly tasks: readonly BackgroundTask[];
  /**
   * Ends the work of the controllers and never competes again. Resolves when the work has ended and the leases are
   * released.
   */
  giveUp(): Promise<void>;
}

/** The managers compete for their leases only after `ready` has resolved. */
export function createLeadership(managers: readonly ControllerManager[], ready: Promise<void>): Leadership {
  const leaving = new AbortController();
  const running = new Set<Promise<void>>();
  const compete = async (manager: ControllerManager, signal: AbortSignal): Promise<void> => {
    const either = eitherSignal(signal, leaving.signal);
    if (await whenOrAborted(ready, either)) await manager.run(either);
  };
  return {
    tasks: managers.map((manager) => ({
      name: "controllers",
      async run(signal) {
        const run = compete(manager, signal);
        running.add(run);
        try {
          await run;
        } finally {
          running.delete(run);
        }
        // A shutdown ends the controllers before this task, and a server without controllers has nothing to run.
        await untilAborted(signal);
      },
    })),
    async giveUp() {
      leaving.abort();
      await Promise.allSettled(running);
    },
  };
}
