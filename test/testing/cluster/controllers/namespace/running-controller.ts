/** A namespace controller that runs on a server as it does on the leader. */
import type { TestServer } from "../../../../api/start.ts";
import { SILENT_LOG } from "../../../../../src/base/log.ts";
import { createClient, type Client } from "../../../../../src/client/client.ts";
import { ControllerRun, type ReconcileOutcome } from "../../../../../src/cluster/controller-runtime/controller-run.ts";
import type { ControllerSpec } from "../../../../../src/cluster/controller-runtime/controller.ts";

export class RunningController implements AsyncDisposable {
  readonly api: TestServer;
  readonly outcomes: ReconcileOutcome[] = [];
  readonly #stop = new AbortController();
  readonly #running: Promise<void>;

  constructor(api: TestServer, spec: ControllerSpec) {
    const { clock } = api.world;
    this.api = api;
    const run = new ControllerRun(spec, {
      ...{ clock, random: api.world.randomFor("run"), log: SILENT_LOG, mayWork: () => true, queueHooks: {} },
      onReconciled: (outcome) => void this.outcomes.push(outcome),
    });
    this.#running = run.run(this.#stop.signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.api.world.run(this.#running);
  }
}

export function clientOf({ world, server }: TestServer): Client {
  return createClient({
    ...{ transport: server.transport, clock: world.clock, random: world.randomFor("client") },
    defaults: { retriesMax: 0 },
  });
}
