import { upstreamResponse, jsonUpstreamResponse } from "../../../test/testing/serving/http/upstream-responses.ts";
import { describe, expect, test } from "vitest";

import { SILENT_LOG } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { createClient } from "../../client/client.ts";
import type { JsonObject } from "../../meta/json.ts";
import { World } from "../../tools/simulator/world.ts";
import { API_SERVICES, BY_SERVICE, serviceKeys, statusWith, type ApiServiceObject } from "./api-service.ts";
import { createCallServer } from "./call-server.ts";
import { createAvailability, type Availability } from "./availability-controller.ts";
import { unavailableCondition } from "./availability.ts";
import { createServiceDirectory } from "../../access/webhook-client/service-directory.ts";
import { resolveService, type ServiceOverrides } from "../../access/webhook-client/service-resolver.ts";
import { FakeApi } from "../../../test/testing/extensions/aggregation/fake-api.ts";
import {
  failing,
  FakeOutbound,
  remote,
  remoteObject,
} from "../../../test/testing/extensions/aggregation/fake-outbound.ts";

const NAME = "v1.metrics.example.com";
const PATH = `/apis/apiregistration.k8s.io/v1/apiservices/${NAME}`;
const SERVICE_PATH = "/api/v1/namespaces/system/services/metrics";
const SLICE_PATH = "/apis/discovery.k8s.io/v1/namespaces/system/endpointslices/metrics-1";
const SERVICE = { spec: { type: "ClusterIP", ports: [{ name: "https", port: 443 }] } };
const SLICE = {
  metadata: { labels: { "kubernetes.io/service-name": "metrics" } },
  addressType: "IPv4",
  ports: [{ name: "https", port: 8443 }],
  endpoints: [{ addresses: ["10.0.0.1"] }],
};
const PASSED = { status: "True", reason: "Passed", message: "all checks passed" };

test.each<[reason: string, service: JsonObject | undefined, slices: JsonObject[], message: string]>([
  ["ServiceNotFound", undefined, [], 'service/metrics in "system" is not present'],
  [
    "ServicePortError",
    { spec: { ports: [{ port: 80 }] } },
    [],
    'service/metrics in "system" is not listening on port 443',
  ],
  ["EndpointsNotFound", SERVICE, [], 'cannot find endpointslices for service/metrics in "system"'],
  [
    "MissingEndpoints",
    SERVICE,
    [{ ...SLICE, endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: false } }] }],
    'endpointslices for service/metrics in "system" have no addresses with port name "https"',
  ],
])("an APIService without an override is unavailable with the reason %s", (reason, service, slices, message) => {
  const state = { service: () => service, endpointSlices: () => slices };
  expect(unavailableCondition(remote(), state, new Map())).toEqual({
    type: "Available",
    status: "False",
    reason,
    message,
  });
  expect(unavailableCondition(remote(), state, new Map([["metrics.system", { host: "h", port: 1 }]]))).toBeUndefined();
});

test("a condition keeps its lastTransitionTime while its status is unchanged, and an equal condition is not written again", () => {
  const condition = { type: "Available", status: "False", reason: "a", message: "b" } as const;
  const other = { type: "Other", status: "True" };
  const object: ApiServiceObject = { status: { conditions: [other] } };
  const first = statusWith(object, condition, "T1")!;
  expect(first).toEqual({ conditions: [other, { ...condition, lastTransitionTime: "T1" }] });
  expect(statusWith({ status: first }, condition, "T2")).toBeUndefined();
  const second = statusWith({ status: first }, { ...condition, reason: "c" }, "T2")!;
  expect(second["conditions"]).toEqual([other, { ...condition, reason: "c", lastTransitionTime: "T1" }]);
  const third = statusWith({ status: second }, { ...condition, status: "True" }, "T3")!;
  expect(third["conditions"]).toEqual([other, { ...condition, status: "True", lastTransitionTime: "T3" }]);
});

describe("an aggregated server", () => {
  test("is available if it responds for its group version", async () => {
    await using watching = new Watching();
    watching.addService();
    await watching.advance(1_000);
    expect(new Set(watching.outbound.asked)).toEqual(new Set(["GET 10.0.0.1:8443/apis/metrics.example.com/v1"]));
    const sent = watching.outbound.requests[0]!;
    expect(sent.to).toMatchObject({ serverName: "metrics.system.svc", insecureSkipTlsVerify: true });
    expect(sent.headers.slice(0, 4)).toEqual([
      "X-Remote-User",
      "system:kube-aggregator",
      "X-Remote-Group",
      "system:masters",
    ]);
    expect(watching.condition).toMatchObject(PASSED);
    expect(watching.stored).toMatchObject({ type: "Available", ...PASSED, lastTransitionTime: expect.any(String) });
    expect(watching.reported).toEqual([NAME]);
  });

  test("is checked every 30 seconds, and its condition is not written while it is unchanged", async () => {
    await using watching = new Watching();
    watching.addService();
    await watching.advance(10_000);
    const atFirst = watching.outbound.requests.length;
    await watching.advance(90_000);
    expect(watching.outbound.requests).toHaveLength(atFirst + 3);
    expect(watching.api.writes).toEqual([`PUT ${NAME}/status`]);
  });

  test("is unavailable if no endpoint returns a good response, and is then checked more often", async () => {
    await using watching = new Watching();
    watching.addService();
    await watching.advance(1_000);
    watching.outbound.answer = () => upstreamResponse(404);
    await watching.advance(60_000);
    const url = "https://10.0.0.1:8443/apis/metrics.example.com/v1";
    const message = `failing or missing response from ${url}: bad status from ${url}: 404`;
    expect(watching.stored).toMatchObject({ status: "False", reason: "FailedDiscoveryCheck", message });
    expect(watching.metrics.render()).toContain(`aggregator_unavailable_apiservice{name="${NAME}"} 1`);
    expect(watching.metrics.render()).toContain('reason="FailedDiscoveryCheck"} 1');
    expect(watching.outbound.requests.length).toBeGreaterThan(8);
    watching.outbound.answer = () => jsonUpstreamResponse({});
    await watching.advance(31_000);
    expect(watching.stored).toMatchObject(PASSED);
    expect(watching.reported).toEqual([NAME, NAME, NAME]);
  });

  test("is checked again when its Service, its EndpointSlices or its spec change", async () => {
    await using watching = new Watching();
    await watching.advance(100);
    expect(watching.stored).toMatchObject({ reason: "ServiceNotFound" });
    watching.api.put(SERVICE_PATH, SERVICE);
    await watching.advance(100);
    expect(watching.stored).toMatchObject({ reason: "EndpointsNotFound" });
    watching.api.put(SLICE_PATH, SLICE);
    await watching.advance(100);
    expect(watching.stored).toMatchObject(PASSED);
    watching.api.put(SLICE_PATH, { ...SLICE, endpoints: [] });
    await watching.advance(100);
    expect(watching.stored).toMatchObject({ reason: "MissingEndpoints" });
    watching.api.put(PATH, { ...watching.object, spec: { ...watching.object.spec, service: undefined } });
    await watching.advance(100);
    expect(watching.stored).toMatchObject({ status: "True", reason: "Local" });
  });

  test("is checked by every server, but only one server writes its condition", async () => {
    await using watching = new Watching({ mayWrite: false });
    watching.addService();
    await watching.advance(1_000);
    expect(watching.condition).toMatchObject(PASSED);
    expect(watching.api.writes).toEqual([]);
    watching.api.remove(PATH);
    await watching.advance(100);
    expect(watching.condition).toBeUndefined();
  });

  test("is called at the address of its override, even if it has no Service", async () => {
    await using watching = new Watching({ overrides: new Map([["metrics.system", { host: "127.0.0.1", port: 9 }]]) });
    await watching.advance(100);
    expect(watching.outbound.asked).toEqual(["GET 127.0.0.1:9/apis/metrics.example.com/v1"]);
    expect(watching.condition).toMatchObject(PASSED);
  });

  test("that hangs times out after five seconds, and does not delay the checks of others", async () => {
    await using watching = new Watching();
    watching.addService();
    watching.outbound.answer = (request) =>
      new Promise((_resolve, reject) => {
        const giveUp = (): void => void Promise.resolve(failing("aborted", true)(request)).catch(reject);
        request.signal.addEventListener("abort", giveUp);
      });
    await watching.advance(6_000);
    expect(watching.stored).toMatchObject({
      reason: "FailedDiscoveryCheck",
      message: expect.stringContaining("5000 ms"),
    });
  });

  test("whose condition could not be written is checked again soon", async () => {
    await using watching = new Watching();
    let failures = 2;
    watching.api.before = () => {
      if (failures-- > 0) throw new Error("as the test says");
    };
    watching.addService();
    await watching.advance(1_000);
    expect(watching.stored).toMatchObject(PASSED);
  });
});

/** Runs the controller on an in-memory API, with a manual clock and a fake aggregated server. */
class Watching {
  readonly world = new World({ seed: 4 });
  readonly api = new FakeApi();
  readonly outbound = new FakeOutbound(() => jsonUpstreamResponse({}));
  readonly metrics = new MetricsRegistry();
  readonly reported: string[] = [];
  readonly #availability: Availability;
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor({ mayWrite = true, overrides = new Map() }: { mayWrite?: boolean; overrides?: ServiceOverrides } = {}) {
    const { clock } = this.world;
    const random = this.world.randomFor("test");
    this.api.put(PATH, remoteObject());
    const client = createClient({ transport: this.api, clock, random, defaults: { retriesMax: 0 } });
    const apiServices = client.informer<ApiServiceObject>(API_SERVICES, { indexes: { [BY_SERVICE]: serviceKeys } });
    const directory = createServiceDirectory({ client, onError: () => undefined });
    this.#availability = createAvailability({
      ...{ client, apiServices, directory, overrides, clock, random, metrics: this.metrics, log: SILENT_LOG },
      resolve: (service) => resolveService(service, { state: directory, overrides, random }),
      ask: createCallServer({ outbound: this.outbound, clock }),
      mayWrite: () => mayWrite,
    });
    this.#availability.onChange((name) => void this.reported.push(name));
    const { signal } = this.#stop;
    this.#running = Promise.all([apiServices.run(signal), directory.run(signal), this.#availability.run(signal)]);
  }

  get condition(): unknown {
    return this.#availability.condition(NAME);
  }

  get object(): ApiServiceObject {
    return this.api.get(PATH) as ApiServiceObject;
  }

  get stored(): unknown {
    const { conditions } = this.object.status as { conditions?: unknown[] };
    return conditions?.[0];
  }

  addService(): void {
    this.api.put(SERVICE_PATH, SERVICE);
    this.api.put(SLICE_PATH, SLICE);
  }

  advance(byMs: number): Promise<void> {
    return this.world.advance(byMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.world.run(this.#running);
  }
}
