import { describe, expect, test } from "vitest";

import { SILENT_LOG } from "../../base/log.ts";
import { createClient } from "../../client/client.ts";
import { World } from "../../tools/simulator/world.ts";
import { API_SERVICES, type ApiServiceObject } from "./api-service.ts";
import { createRegistration, type Registration, type RegistrationOptions } from "./registration-controller.ts";
import {
  AUTOMANAGED_LABEL,
  decideRegistration,
  type LocalGroupVersion,
  type RegistrationFacts,
} from "./registration.ts";
import { FakeApi } from "../../../test/testing/extensions/aggregation/fake-api.ts";

const PRIORITIES = { groupPriorityMinimum: 1_000, versionPriority: 100 };
const BUILT_IN: LocalGroupVersion = { group: "apps", version: "v1", ...PRIORITIES, isCustom: false };
const CUSTOM: LocalGroupVersion = { group: "example.com", version: "v1", ...PRIORITIES, isCustom: true };
const PATH = "/apis/apiregistration.k8s.io/v1/apiservices";

describe("decideRegistration", () => {
  const fresh = { existedAtStart: true, isSettled: false };
  const settled = { existedAtStart: true, isSettled: true };
  const late = { existedAtStart: false, isSettled: false };
  type Seen = Pick<RegistrationFacts, "existedAtStart" | "isSettled">;
  test.each<[wanted: LocalGroupVersion | undefined, label: string | undefined, seen: Seen, kind: string]>([
    [undefined, undefined, fresh, "none"],
    [BUILT_IN, undefined, fresh, "create"],
    [BUILT_IN, undefined, settled, "none"],
    [CUSTOM, undefined, settled, "create"],
    [undefined, "", fresh, "none"],
    [BUILT_IN, "", fresh, "none"],
    [CUSTOM, "", fresh, "none"],
    [undefined, "onstart", late, "none"],
    [CUSTOM, "onstart", late, "none"],
    [undefined, "onstart", fresh, "delete"],
    [BUILT_IN, "onstart", fresh, "update"],
    [CUSTOM, "onstart", fresh, "update"],
    [undefined, "onstart", settled, "none"],
    [CUSTOM, "onstart", settled, "none"],
    [undefined, "true", settled, "delete"],
    [BUILT_IN, "true", late, "update"],
    [BUILT_IN, "true", settled, "none"],
    [CUSTOM, "true", settled, "update"],
  ])(
    "for the desired group version %o, an APIService labeled %j and the state %o returns: %s",
    (desired, label, seen, kind) => {
      const current = label === undefined ? undefined : labelled(label);
      expect(decideRegistration({ desired, current, ...seen }).kind).toBe(kind);
    },
  );

  test("returns none if the APIService is as desired", () => {
    const first = decideRegistration({ desired: CUSTOM, current: undefined, ...fresh });
    const current = first.kind === "create" ? first.object : undefined;
    expect(current).toEqual({
      apiVersion: "apiregistration.k8s.io/v1",
      kind: "APIService",
      metadata: { name: "v1.example.com", labels: { [AUTOMANAGED_LABEL]: "true" } },
      spec: { group: "example.com", version: "v1", ...PRIORITIES },
    });
    expect(decideRegistration({ desired: CUSTOM, current, ...fresh }).kind).toBe("none");
  });
});

describe("a server that starts", () => {
  test("registers the group versions that it serves, and reports which APIServices are not available yet", async () => {
    await using registering = new Registering([BUILT_IN, CUSTOM]);
    expect(registering.registration.missing()).toEqual(["v1.apps"]);
    await registering.advance(100);
    expect(registering.api.writes.toSorted()).toEqual(["POST v1.apps", "POST v1.example.com"]);
    registering.api.put(`${PATH}/v1.apps`, { ...registering.api.get(`${PATH}/v1.apps`), status: AVAILABLE });
    await registering.advance(100);
    expect(registering.registration.missing()).toEqual([]);
  });

  test("does not report an APIService with a Service as missing, and does not change it", async () => {
    const api = new FakeApi();
    api.put(`${PATH}/v1.apps`, { spec: { group: "apps", version: "v1", service: {} } });
    await using registering = new Registering([BUILT_IN], { api });
    await registering.advance(100);
    expect(registering.registration.missing()).toEqual([]);
    expect(api.writes).toEqual([]);
  });

  test("deletes the APIServices of an earlier release, but not those of group versions that a peer serves", async () => {
    const api = new FakeApi();
    for (const group of ["old", "new"]) {
      const spec = { group, version: "v1", ...PRIORITIES };
      api.put(`${PATH}/v1.${group}`, { metadata: { labels: { [AUTOMANAGED_LABEL]: "onstart" } }, spec });
    }
    await using registering = new Registering([BUILT_IN], { api, isServedElsewhere: (group) => group === "new" });
    await registering.advance(10_000);
    expect(registering.api.writes).toEqual(["POST v1.apps", "DELETE v1.old"]);
  });

  test("retries a failed write", async () => {
    await using registering = new Registering([BUILT_IN]);
    let failures = 3;
    registering.api.before = () => {
      if (failures-- > 0) throw new Error("as the test says");
    };
    await registering.advance(1_000);
    expect(registering.api.writes).toHaveLength(4);
  });
});

describe("the APIService of a custom group version", () => {
  test("is created again if a user deletes it; that of a built-in group version is not", async () => {
    await using registering = new Registering([BUILT_IN, CUSTOM]);
    await registering.advance(100);
    registering.api.remove(`${PATH}/v1.apps`);
    registering.api.remove(`${PATH}/v1.example.com`);
    await registering.advance(10_000);
    expect(registering.api.get(`${PATH}/v1.example.com`)).toBeDefined();
    expect(registering.api.get(`${PATH}/v1.apps`)).toBeUndefined();
  });

  test("is deleted if its CRD stays deleted, and is kept if the CRD is created again at once", async () => {
    await using registering = new Registering([BUILT_IN, CUSTOM]);
    await registering.advance(100);
    registering.serve([BUILT_IN]);
    await registering.advance(1_000);
    registering.serve([BUILT_IN, CUSTOM]);
    await registering.advance(5_000);
    expect(registering.api.get(`${PATH}/v1.example.com`)).toBeDefined();
    registering.serve([BUILT_IN]);
    await registering.advance(5_000);
    expect(registering.api.get(`${PATH}/v1.example.com`)).toBeUndefined();
    expect(registering.api.get(`${PATH}/v1.apps`)).toBeDefined();
  });

  test("is not changed after a user has removed its label", async () => {
    await using registering = new Registering([CUSTOM]);
    await registering.advance(100);
    const mine = { ...registering.api.get(`${PATH}/v1.example.com`), metadata: {}, spec: { service: {} } };
    registering.api.put(`${PATH}/v1.example.com`, mine);
    registering.serve([]);
    await registering.advance(10_000);
    expect(registering.api.get(`${PATH}/v1.example.com`)).toMatchObject({ spec: { service: {} } });
  });
});

const AVAILABLE = { conditions: [{ type: "Available", status: "True" }] };

function labelled(label: string): ApiServiceObject {
  return { metadata: { name: "x", labels: { [AUTOMANAGED_LABEL]: label } }, spec: { group: "other" } };
}

/** Runs the registration on an in-memory API, with a manual clock and given local group versions. */
class Registering {
  readonly world = new World({ seed: 2 });
  readonly api: FakeApi;
  readonly registration: Registration;
  #served: readonly LocalGroupVersion[];
  readonly #stop = new AbortController();
  readonly #running: Promise<unknown>;

  constructor(
    served: readonly LocalGroupVersion[],
    more: Partial<Pick<RegistrationOptions, "isServedElsewhere">> & { readonly api?: FakeApi } = {},
  ) {
    const { clock } = this.world;
    const random = this.world.randomFor("test");
    this.#served = served;
    this.api = more.api ?? new FakeApi();
    const client = createClient({ transport: this.api, clock, random, defaults: { retriesMax: 0 } });
    const apiServices = client.informer<ApiServiceObject>(API_SERVICES);
    this.registration = createRegistration({
      ...{ client, apiServices, clock, random, log: SILENT_LOG },
      localGroupVersions: () => this.#served,
      isServedElsewhere: more.isServedElsewhere ?? (() => false),
    });
    const { signal } = this.#stop;
    this.#running = Promise.all([apiServices.run(signal), this.registration.run(signal)]);
  }

  serve(served: readonly LocalGroupVersion[]): void {
    this.#served = served;
    this.registration.localChanged();
  }

  advance(byMs: number): Promise<void> {
    return this.world.advance(byMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.world.run(this.#running);
  }
}
