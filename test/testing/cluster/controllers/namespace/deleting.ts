/**
 * A namespace controller on a server. The test reconciles key by key and controls which resources the controller sees.
 */
import type { TestServer } from "../../../../api/start.ts";
import { MetricsRegistry } from "../../../../../src/base/metrics.ts";
import { SILENT_LOG } from "../../../../../src/base/log.ts";
import { createClient, type Client } from "../../../../../src/client/client.ts";
import type { ReconcileResult } from "../../../../../src/cluster/controller-runtime/controller.ts";
import {
  createNamespaceController,
  type NamespaceController,
} from "../../../../../src/cluster/controllers/namespace/namespace-controller.ts";
import type { NamespaceCondition } from "../../../../../src/cluster/controllers/namespace/objects.ts";
import type { FixedResources } from "./fixed-resources.ts";

export class Deleting {
  readonly api: TestServer;
  readonly resources: FixedResources;
  readonly metrics = new MetricsRegistry();
  readonly controller: NamespaceController;
  /** Requests of the controller, such as "DELETE /api/v1/…", in order. */
  readonly requests: string[] = [];
  readonly #never = new AbortController().signal;

  constructor(api: TestServer, resources: FixedResources) {
    const { clock } = api.world;
    this.api = api;
    this.resources = resources;
    this.controller = createNamespaceController({
      client: this.#client("object"),
      metadata: this.#client("metadata"),
      ...{ resources, clock, random: { float: () => 0, bytes: (length) => new Uint8Array(length) } },
      ...{ log: SILENT_LOG, metrics: this.metrics },
    });
  }

  #client(representation: "object" | "metadata"): Client {
    const { world, server } = this.api;
    return createClient({
      transport: {
        send: (request) => {
          this.requests.push(`${request.method} ${request.target}`);
          return server.transport.send(request);
        },
      },
      clock: world.clock,
      random: world.randomFor("client"),
      defaults: { retriesMax: 0, representation },
    });
  }

  reconcile(name = "team"): Promise<ReconcileResult | undefined> {
    return this.api.world.run(this.controller.reconcile(name, this.#never));
  }

  /**
   * Reconciles, after the delays that the controller requests, until it requests no further reconciliation. Resolves to
   * the number of reconciliations.
   */
  async finish(name = "team", looksMax = 20): Promise<number> {
    for (let looks = 1; looks <= looksMax; looks++) {
      const result = await this.reconcile(name);
      if (result?.requeueAfterMs === undefined) return looks;
      await this.api.world.advance(result.requeueAfterMs);
    }
    throw new Error("the namespace deletion did not finish");
  }

  async condition(type: string, name = "team"): Promise<string> {
    const { body } = await this.api.get(`/api/v1/namespaces/${name}`);
    const conditions: NamespaceCondition[] = body.status.conditions ?? [];
    const found = conditions.find((condition) => condition.type === type);
    return found === undefined ? "" : `${found.status} ${found.reason}: ${found.message}`;
  }

  /** Keys of the store that contain the namespace, without /registry/. */
  async keys(name = "team"): Promise<string[]> {
    const { items } = await this.api.kv.range({ start: "/registry/", end: "/registry0" });
    return items.map(({ key }) => key.slice("/registry/".length)).filter((key) => key.split("/").includes(name));
  }
}
