/**
 * Verifies that the model of kube-controller-manager does the damage that an upgrade without the mixed version proxy
 * does: a leader beside an older server overlooks the objects of newer releases.
 */
import { afterEach, describe, expect, test } from "vitest";
import { runOptionsOf } from "../../src/tools/rehearsal/kube-apiserver.ts";
import { KubeControllers } from "../../src/tools/rehearsal/kube-controllers.ts";
import { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { objectAt, type JsonObject } from "../../src/meta/json.ts";

const CLAIMS = "/apis/resource.k8s.io/v1/namespaces/n/resourceclaims";
const CLAIM = { apiVersion: "resource.k8s.io/v1", kind: "ResourceClaim", spec: {} };
const LEASE_SECONDS = 20;

class Stage {
  readonly cluster: SimulatedCluster;
  readonly end = new AbortController();
  readonly failures: unknown[] = [];
  leaders: readonly SimulatedServer[] = [];

  constructor() {
    this.cluster = new SimulatedCluster({ seed: 1, onFailure: (thrown) => this.failures.push(thrown) });
  }

  /** Starts a server of 1.33, which does not serve resource.k8s.io/v1, and one of 1.34, which does. */
  async start(): Promise<{ readonly old: SimulatedServer; readonly current: SimulatedServer }> {
    const { cluster } = this;
    const old = await cluster.addServer(runOptionsOf("kube-apiserver", "1.33", []));
    const current = await cluster.addServer(runOptionsOf("kube-apiserver", "1.34", []));
    const { clock } = cluster.world;
    const controllers = new KubeControllers({
      clock,
      random: cluster.world.randomFor("controllers"),
      servers: () =>
        this.leaders.flatMap((server) =>
          server.run ? [{ run: server.run, transport: () => server.transport() }] : [],
        ),
      resources: new Set(["/configmaps", "resource.k8s.io/resourceclaims"]),
      onFailure: (thrown) => this.failures.push(thrown),
    });
    void controllers.run(this.end.signal);
    await this.send(current, "POST", "/api/v1/namespaces", { metadata: { name: "n" } });
    return { old, current };
  }

  async send(server: SimulatedServer, method: string, target: string, body?: JsonObject): Promise<JsonObject> {
    const headers = { "content-type": "application/json" };
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const sent = server.request({ method, target, headers, ...(bytes && { body: bytes }) });
    const response = await this.cluster.world.run(sent);
    const object = JSON.parse(await response.text()) as JsonObject;
    if (response.status >= 300) throw new Error(JSON.stringify(object));
    return object;
  }

  stored(): string[] {
    return [...this.cluster.history.under("resourceclaims/"), ...this.cluster.history.under("namespaces/n")].map(
      ([key]) => key,
    );
  }
}

describe("the model of kube-controller-manager", () => {
  let stage: Stage;
  afterEach(() => {
    stage.end.abort();
    stage.cluster.shutDown();
    if (stage.failures.length > 0) throw new Error(String(stage.failures[0]));
  });

  test("beside a server that serves the content of a namespace deletes the content first", async () => {
    stage = new Stage();
    const { current } = await stage.start();
    stage.leaders = [current];
    await stage.send(current, "POST", CLAIMS, { ...CLAIM, metadata: { name: "c" } });
    await stage.send(current, "DELETE", "/api/v1/namespaces/n");
    await stage.cluster.advance({ seconds: LEASE_SECONDS });
    expect(stage.stored()).toEqual([]);
  });

  test("beside an older server deletes a namespace whose content this server does not serve", async () => {
    stage = new Stage();
    const { old, current } = await stage.start();
    stage.leaders = [old];
    await stage.send(current, "POST", CLAIMS, { ...CLAIM, metadata: { name: "c" } });
    await stage.send(current, "DELETE", "/api/v1/namespaces/n");
    await stage.cluster.advance({ seconds: LEASE_SECONDS });
    expect(stage.stored()).toEqual(["resourceclaims/n/c"]);
  });

  test("orphans only the dependents that it sees, so that a later leader deletes the others", async () => {
    stage = new Stage();
    const { old, current } = await stage.start();
    stage.leaders = [old];
    const owner = await stage.send(current, "POST", "/api/v1/namespaces/n/configmaps", { metadata: { name: "o" } });
    const { uid } = objectAt(owner, "metadata");
    const ownerReferences = [{ apiVersion: "v1", kind: "ConfigMap", name: "o", uid }];
    await stage.send(current, "POST", CLAIMS, { ...CLAIM, metadata: { name: "c", ownerReferences } });
    await stage.send(current, "DELETE", "/api/v1/namespaces/n/configmaps/o", { propagationPolicy: "Orphan" });
    await stage.cluster.advance({ seconds: LEASE_SECONDS });
    expect(stage.cluster.history.under("configmaps/n/").length).toBe(0);
    expect(stage.stored()).toEqual(["resourceclaims/n/c", "namespaces/n"]);
    stage.leaders = [current];
    await stage.cluster.advance({ seconds: 3 * LEASE_SECONDS });
    expect(stage.stored()).toEqual(["namespaces/n"]);
  });
});
