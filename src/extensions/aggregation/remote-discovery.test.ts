import { upstreamResponse, jsonUpstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";

import { SILENT_LOG } from "../../base/log.ts";
import { World } from "../../tools/simulator/world.ts";
import type { RemoteApiService } from "./api-service.ts";
import { createCallServer, createCallService } from "./call-server.ts";
import { createRemoteDiscovery, type RemoteDiscovery } from "./remote-discovery.ts";
import {
  failing,
  FakeOutbound,
  remote,
  type Respond,
} from "../../../test/testing/extensions/aggregation/fake-outbound.ts";

const AGGREGATED_TYPE = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
const GROUP = "metrics.example.com";
const PODS = {
  resource: "pods",
  scope: "Namespaced",
  singularResource: "pod",
  verbs: ["get", "list"],
  responseKind: { group: GROUP, version: "v1", kind: "PodMetrics" },
};

describe("the discovery of an aggregated server", () => {
  test("comes from the server's aggregated discovery document, for each group version of the server", async () => {
    await using asking = new Asking(aggregated([PODS]));
    asking.apiServices = [remote(), remote({ version: "v2" })];
    asking.changed();
    expect(asking.shown).toEqual(["v1 Stale []", "v2 Stale []"]);
    await asking.advance(100);
    expect(asking.outbound.asked).toEqual(["GET 10.0.0.1:8443/apis"]);
    expect(asking.outbound.requests[0]!.headers).toContain(
      `${AGGREGATED_TYPE},application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList`,
    );
    expect(asking.shown).toEqual(["v1 Current [pods]", "v2 Current []"]);
  });

  test("is fetched every minute, with its ETag", async () => {
    await using asking = new Asking(aggregated([PODS]));
    asking.changed();
    await asking.advance(100);
    const { changes } = asking;
    asking.outbound.answer = () => upstreamResponse(304);
    await asking.advance(120_000);
    expect(asking.outbound.requests).toHaveLength(3);
    expect(asking.outbound.requests[2]!.headers).toContain('"tag"');
    expect(asking.shown).toEqual(["v1 Current [pods]"]);
    expect(asking.changes).toBe(changes);
    asking.outbound.answer = aggregated([]);
    await asking.advance(60_000);
    expect(asking.shown).toEqual(["v1 Current []"]);
    expect(asking.changes).toBe(changes + 1);
  });

  test("comes from the resource list of each group version if the server has no aggregated discovery", async () => {
    await using asking = new Asking(({ target }) => {
      if (target === "/apis") return jsonUpstreamResponse({ kind: "APIGroupList", groups: [] });
      const resources = [{ name: "pods", namespaced: true, kind: "PodMetrics", verbs: ["get"], singularName: "" }];
      return jsonUpstreamResponse({ kind: "APIResourceList", groupVersion: target.slice("/apis/".length), resources });
    });
    asking.apiServices = [remote(), remote({ version: "v2" })];
    asking.changed();
    await asking.advance(100);
    expect(asking.outbound.asked).toEqual([
      "GET 10.0.0.1:8443/apis",
      `GET 10.0.0.1:8443/apis/${GROUP}/v1`,
      `GET 10.0.0.1:8443/apis/${GROUP}/v2`,
    ]);
    expect(asking.shown).toEqual(["v1 Current [pods]", "v2 Current [pods]"]);
  });

  test.each<[rule: string, answer: Respond]>([
    ["does not respond", failing("connect")],
    ["returns 503", () => upstreamResponse(503)],
    ["returns another kind", () => jsonUpstreamResponse({ kind: "Other" }, ["Content-Type", AGGREGATED_TYPE])],
    ["returns malformed JSON", () => upstreamResponse(200, ["Content-Type", AGGREGATED_TYPE], "{")],
    ["returns a malformed list", () => jsonUpstreamResponse({ kind: "APIResourceList", resources: 7 })],
  ])("is stale with its last content if a fetch finds that the server %s", async (_rule, response) => {
    await using asking = new Asking(aggregated([PODS]));
    asking.changed();
    await asking.advance(100);
    asking.outbound.answer = response;
    await asking.advance(61_000);
    expect(asking.shown).toEqual(["v1 Stale [pods]"]);
    asking.outbound.answer = aggregated([PODS]);
    await asking.advance(61_000);
    expect(asking.shown).toEqual(["v1 Current [pods]"]);
  });

  test("is stale and not fetched while the server is unavailable, and is fetched at once when the server is available again", async () => {
    await using asking = new Asking(aggregated([PODS]));
    asking.changed();
    await asking.advance(100);
    asking.isAvailable = false;
    asking.changed();
    expect(asking.shown).toEqual(["v1 Stale [pods]"]);
    const before = asking.outbound.requests.length;
    await asking.advance(600_000);
    expect(asking.outbound.requests).toHaveLength(before);
    asking.isAvailable = true;
    asking.changed();
    await asking.advance(100);
    expect(asking.outbound.requests).toHaveLength(before + 1);
    expect(asking.shown).toEqual(["v1 Current [pods]"]);
  });

  test("is removed together with its APIService", async () => {
    await using asking = new Asking(aggregated([PODS]));
    asking.changed();
    await asking.advance(100);
    const [apiService] = asking.apiServices;
    asking.apiServices = [];
    asking.discovery.changed(apiService!);
    expect(asking.shown).toEqual([]);
    asking.apiServices = [apiService!];
    expect(asking.shown).toEqual(["v1 Stale []"]);
  });
});

function aggregated(resources: readonly object[]): Respond {
  const items = [{ metadata: { name: GROUP }, versions: [{ version: "v1", resources, freshness: "Current" }] }];
  const document = { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", metadata: {}, items };
  return () => upstreamResponse(200, ["Content-Type", AGGREGATED_TYPE, "ETag", '"tag"'], JSON.stringify(document));
}

class Asking {
  readonly world = new World({ seed: 6 });
  readonly outbound: FakeOutbound;
  readonly discovery: RemoteDiscovery;
  apiServices: readonly RemoteApiService[] = [remote()];
  isAvailable = true;
  changes = 0;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(answer: Respond) {
    const { clock } = this.world;
    this.outbound = new FakeOutbound(answer);
    const ask = createCallServer({ outbound: this.outbound, clock });
    this.discovery = createRemoteDiscovery({
      ...{ clock, random: this.world.randomFor("test"), log: SILENT_LOG },
      apiServices: () => this.apiServices.map((apiService) => ({ apiService, isAvailable: this.isAvailable })),
      ask: createCallService(ask, () => ({ kind: "resolved", addresses: [{ host: "10.0.0.1", port: 8443 }] })),
      onChange: () => void this.changes++,
    });
    this.#running = this.discovery.run(this.#stop.signal);
  }

  get shown(): string[] {
    return this.discovery.groupVersions().map(({ version: { version, freshness, resources } }) => {
      return `${version} ${freshness} [${resources.map(({ resource }) => resource).join(" ")}]`;
    });
  }

  changed(): void {
    this.discovery.changed(this.apiServices[0]!);
  }

  advance(byMs: number): Promise<void> {
    return this.world.advance(byMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.world.run(this.#running);
  }
}
