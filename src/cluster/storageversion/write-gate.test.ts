import { describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../base/log.ts";
import { MetricsRegistry } from "../../base/metrics.ts";
import { chain } from "../../serving/http/chain.ts";
import { recover } from "../../serving/http/filters/recover.ts";
import type { WithInfo } from "../../serving/http/filters/request-info.ts";
import { NO_BODY, type ApiResponse } from "../../serving/http/message.ts";
import { bodyJson, infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { formatGroupResource } from "../../meta/group-version.ts";
import { decideWriteGate, writeGate, type WriteGateState } from "./write-gate.ts";

const SERVER_ID = "apiserver-a";
const CORE = "/api/v1/namespaces/default";
const PODS = `${CORE}/pods`;
const STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions";
const LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";
const OTHER_LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases";

const STORED: ReadonlySet<string> = new Set([
  ...["pods", "services", "nodes", "serviceaccounts", "configmaps", "namespaces", "replicationcontrollers"],
  ...["deployments.apps", "certificatesigningrequests.certificates.k8s.io", "leases.coordination.k8s.io"],
  ...["customresourcedefinitions.apiextensions.k8s.io", "apiservices.apiregistration.k8s.io"],
  ...["storageversions.internal.apiserver.k8s.io", "services.example.com"],
]);

/** The state of a gate with nothing published except the given resources. */
function closed(published: readonly string[] = [], lastError?: string): WriteGateState {
  return {
    isOpen: false,
    closedBecause: (group, resource) => {
      const name = formatGroupResource({ group, resource });
      return STORED.has(name) && !published.includes(name) ? { lastError } : undefined;
    },
  };
}

function decide(request: string, state: WriteGateState, isLoopback: boolean): string {
  const [method = "", url = ""] = request.split(" ");
  const { info } = infoRequest({ method, url });
  const decision = decideWriteGate({ info, isLoopback, serverId: SERVER_ID }, state);
  return decision.kind === "pass" ? decision.rule : `wait for ${formatGroupResource(decision.waitsFor)}`;
}

function answer(
  state: WriteGateState,
  request: WithInfo,
  { isLoopback }: { isLoopback: boolean } = { isLoopback: false },
): Promise<ApiResponse> {
  return chain<WithInfo>()
    .through(recover(SILENT_LOG))
    .through(writeGate({ state, isLoopback: () => isLoopback, serverId: SERVER_ID, metrics: new MetricsRegistry() }))
    .to(() => Promise.resolve({ status: 200, headers: {}, body: NO_BODY }))(request);
}

describe("a closed gate, for every client", () => {
  test.each([
    ["POST /somewhere", "not-a-resource"],
    ["POST /api/v1", "not-a-resource"],
    ["POST /apis/apps/v1", "not-a-resource"],
    [`GET ${PODS}/a`, "read"],
    [`HEAD ${PODS}/a`, "read"],
    [`GET ${PODS}`, "read"],
    [`GET ${PODS}?watch=1`, "read"],
    [`GET /api/v1/watch/pods`, "read"],
    [`GET ${STORAGE_VERSIONS}/core.pods`, "read"],
    [`GET ${LEASES}/${SERVER_ID}`, "read"],

    [`POST ${PODS}/a/exec`, "nothing-persisted"],
    [`POST ${PODS}/a/attach`, "nothing-persisted"],
    [`POST ${PODS}/a/portforward`, "nothing-persisted"],
    [`PUT ${PODS}/a/proxy/some/path`, "nothing-persisted"],
    [`POST ${PODS}/a/log`, "nothing-persisted"],
    [`POST ${CORE}/services/a/proxy`, "nothing-persisted"],
    [`DELETE ${CORE}/services/a/proxy/some/path`, "nothing-persisted"],
    [`PATCH /api/v1/nodes/a/proxy/some/path`, "nothing-persisted"],
    [`POST ${CORE}/serviceaccounts/a/token`, "nothing-persisted"],
    [`GET ${PODS}/a/exec`, "read"],

    ["POST /apis/authentication.k8s.io/v1/tokenreviews", "not-pending"],
    ["POST /apis/authentication.k8s.io/v1/selfsubjectreviews", "not-pending"],
    ["POST /apis/authorization.k8s.io/v1/subjectaccessreviews", "not-pending"],
    ["POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "not-pending"],
    ["POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews", "not-pending"],
    ["POST /apis/authorization.k8s.io/v1/namespaces/default/localsubjectaccessreviews", "not-pending"],
    ["POST /api/v1/componentstatuses", "not-pending"],
    ["POST /apis/example.com/v1/namespaces/default/widgets", "not-pending"],
    ["PUT /apis/metrics.k8s.io/v1beta1/namespaces/default/pods/a", "not-pending"],
    ["DELETE /apis/unheard.of/v1/things/a", "not-pending"],
    ["POST /apis/internal.apiserver.k8s.io/v1alpha1/others", "not-pending"],

    [`POST ${PODS}`, "wait for pods"],
    [`PUT ${PODS}/a`, "wait for pods"],
    [`PATCH ${PODS}/a`, "wait for pods"],
    [`DELETE ${PODS}/a`, "wait for pods"],
    [`DELETE ${PODS}`, "wait for pods"],
    [`PROPFIND ${PODS}/a`, "wait for pods"],
    [`POST ${PODS}?dryRun=All`, "wait for pods"],
    [`POST ${CORE}/configmaps`, "wait for configmaps"],
    ["POST /apis/apps/v1/namespaces/default/deployments", "wait for deployments.apps"],
    [
      "POST /apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      "wait for customresourcedefinitions.apiextensions.k8s.io",
    ],
    ["POST /apis/apiregistration.k8s.io/v1/apiservices", "wait for apiservices.apiregistration.k8s.io"],
  ])("%s: %s", (request, expected) => {
    expect(decide(request, closed(), false)).toBe(expected);
    expect(decide(request, closed(), true)).toBe(expected);
  });

  test.each([
    [`POST ${PODS}/a/eviction`, "wait for pods"],
    [`POST ${PODS}/a/binding`, "wait for pods"],
    [`POST ${CORE}/bindings`, "wait for pods"],
    [`PATCH ${PODS}/a/ephemeralcontainers`, "wait for pods"],
    [`PATCH ${PODS}/a/resize`, "wait for pods"],
    [`PUT ${PODS}/a/status`, "wait for pods"],
    [`PUT ${PODS}/a/token`, "wait for pods"],
    ["PUT /apis/apps/v1/namespaces/default/deployments/a/scale", "wait for deployments.apps"],
    ["POST /apis/apps/v1/namespaces/default/deployments/a/proxy", "wait for deployments.apps"],
    ["PUT /api/v1/namespaces/a/finalize", "wait for namespaces"],
    [
      "PUT /apis/certificates.k8s.io/v1/certificatesigningrequests/a/approval",
      "wait for certificatesigningrequests.certificates.k8s.io",
    ],

    ["POST /apis/example.com/v1/namespaces/default/services/a/proxy", "wait for services.example.com"],

    ["POST /api/v1/namespaces/a/finalize", "wait for namespaces"],
    ["PUT /api/v1/namespaces/kube-system", "wait for namespaces"],
    ["DELETE /api/v1/namespaces/kube-system", "wait for namespaces"],
    ["DELETE /api/v1/namespaces", "wait for namespaces"],
    [`PUT ${LEASES}/apiserver-b`, "wait for leases.coordination.k8s.io"],
    [`DELETE ${LEASES}/apiserver-b`, "wait for leases.coordination.k8s.io"],
    [`DELETE ${LEASES}`, "wait for leases.coordination.k8s.io"],
    [`PUT ${LEASES}/${SERVER_ID}/status`, "wait for leases.coordination.k8s.io"],
    [`POST ${OTHER_LEASES}`, "wait for leases.coordination.k8s.io"],
    [`PUT ${OTHER_LEASES}/${SERVER_ID}`, "wait for leases.coordination.k8s.io"],
  ])("%s: %s", (request, expected) => {
    expect(decide(request, closed(), false)).toBe(expected);
    expect(decide(request, closed(), true)).toBe(expected);
  });
});

describe("writes that publishing needs pass a closed gate only for the server itself", () => {
  test.each([
    [`POST ${STORAGE_VERSIONS}`, "own-storage-version", "storageversions.internal.apiserver.k8s.io"],
    [`PUT ${STORAGE_VERSIONS}/core.pods`, "own-storage-version", "storageversions.internal.apiserver.k8s.io"],
    [`PUT ${STORAGE_VERSIONS}/core.pods/status`, "own-storage-version", "storageversions.internal.apiserver.k8s.io"],
    [`DELETE ${STORAGE_VERSIONS}/core.pods`, "own-storage-version", "storageversions.internal.apiserver.k8s.io"],
    ["POST /api/v1/namespaces", "own-namespace", "namespaces"],
    [`POST ${LEASES}`, "own-identity-lease", "leases.coordination.k8s.io"],
    [`PUT ${LEASES}/${SERVER_ID}`, "own-identity-lease", "leases.coordination.k8s.io"],
    [`PATCH ${LEASES}/${SERVER_ID}`, "own-identity-lease", "leases.coordination.k8s.io"],
    [`DELETE ${LEASES}/${SERVER_ID}`, "own-identity-lease", "leases.coordination.k8s.io"],
  ])("%s", (request, rule, resource) => {
    expect(decide(request, closed(), true)).toBe(rule);
    expect(decide(request, closed(), false)).toBe(`wait for ${resource}`);
  });
});

describe("once a resource is published, although others are not", () => {
  test.each([
    [`POST ${PODS}`, "pods"],
    [`POST ${PODS}/a/binding`, "pods"],
    [`POST ${CORE}/bindings`, "pods"],
    ["POST /api/v1/namespaces", "namespaces"],
    [`PUT ${LEASES}/apiserver-b`, "leases.coordination.k8s.io"],
    [`PUT ${LEASES}/kube-scheduler`, "leases.coordination.k8s.io"],
  ])("%s passes", (request, resource) => {
    expect(decide(request, closed([resource]), false)).toBe("not-pending");
  });

  test("a write of a StorageVersion still waits, unless the server itself sends it", () => {
    const state = closed(["storageversions.internal.apiserver.k8s.io"]);
    expect(decide(`PUT ${STORAGE_VERSIONS}/core.pods`, state, false)).toBe(
      "wait for storageversions.internal.apiserver.k8s.io",
    );
    expect(decide(`PUT ${STORAGE_VERSIONS}/core.pods`, state, true)).toBe("own-storage-version");
  });

  test("a write of a resource with the same name in another group still waits", () => {
    expect(decide("POST /apis/example.com/v1/storageversions", closed(), false)).toBe("not-pending");
    expect(decide(`POST ${PODS}`, closed(["pods.example.com"]), true)).toBe("wait for pods");
  });
});

describe("an open gate", () => {
  const OPEN: WriteGateState = {
    isOpen: true,
    closedBecause: () => expect.unreachable("an open gate read the state of a resource"),
  };

  test.each([`POST ${PODS}`, `PUT ${STORAGE_VERSIONS}/core.pods`, `PUT ${LEASES}/apiserver-b`])(
    "admits %s",
    (request) => {
      expect(decide(request, OPEN, false)).toBe("open");
    },
  );

  test("passes the request on unchanged, without reading the request or the state of any resource", async () => {
    const request = infoRequest({ method: "POST", url: PODS });
    const guarded = new Proxy(request, { get: (_, key) => expect.unreachable(`the gate read ${String(key)}`) });
    const seen: WithInfo[] = [];
    const options = {
      state: OPEN,
      isLoopback: () => expect.unreachable("an open gate checked the caller"),
      serverId: SERVER_ID,
      metrics: new MetricsRegistry(),
    };
    await writeGate(options)((passed: WithInfo) => {
      seen.push(passed);
      return Promise.resolve({ status: 200, headers: {}, body: NO_BODY });
    })(guarded);
    expect(seen[0] === guarded).toBe(true);
  });

  test("is evaluated for each request", async () => {
    let isOpen = false;
    const state: WriteGateState = {
      ...closed(),
      get isOpen() {
        return isOpen;
      },
    };
    const status = async (): Promise<number> =>
      (await answer(state, infoRequest({ method: "POST", url: PODS }))).status;
    expect(await status()).toBe(503);
    isOpen = true;
    expect(await status()).toBe(200);
    isOpen = false;
    expect(await status()).toBe(503);
  });
});

describe("a request that must wait", () => {
  test("is rejected with its resource and Retry-After", async () => {
    const response = await answer(closed(), infoRequest({ method: "POST", url: PODS }));
    expect(response.status).toBe(503);
    expect(response.headers["retry-after"]).toBe("1");
    expect(bodyJson(response)).toEqual({
      kind: "Status",
      apiVersion: "v1",
      metadata: {},
      status: "Failure",
      message: "wait for storage version registration to complete for resource: pods",
      reason: "ServiceUnavailable",
      details: { retryAfterSeconds: 1 },
      code: 503,
    });
  });

  test("is rejected with the last error of publishing, if there was one", async () => {
    const url = "/apis/apps/v1/namespaces/default/deployments/a";
    const response = await answer(closed([], "etcd is away"), infoRequest({ method: "DELETE", url }));
    expect(bodyJson(response)).toMatchObject({
      message:
        "wait for storage version registration to complete for resource: deployments.apps, last seen error: etcd is away",
    });
  });

  test("does not reach the handler behind the gate, but a request of the server itself does", async () => {
    const request = infoRequest({ method: "PUT", url: `${STORAGE_VERSIONS}/core.pods/status` });
    expect((await answer(closed(), request)).status).toBe(503);
    expect((await answer(closed(), request, { isLoopback: true })).status).toBe(200);
  });

  test("is counted by resource, and passing requests are not", async () => {
    const metrics = new MetricsRegistry();
    const state = closed();
    const gate = writeGate({ state, isLoopback: () => false, serverId: SERVER_ID, metrics });
    const handler = gate(() => Promise.resolve({ status: 200, headers: {}, body: NO_BODY }));
    const rejected = [PODS, `${PODS}/a/eviction`, `${CORE}/bindings`, STORAGE_VERSIONS];
    for (const url of rejected) await expect(handler(infoRequest({ method: "POST", url }))).rejects.toThrow("wait for");
    for (const url of ["/apis/made.up/v1/things", `${PODS}/a/exec`])
      await handler(infoRequest({ method: "POST", url }));
    const name = "evenkeel_storage_version_blocked_requests_total";
    expect(
      metrics
        .render()
        .split("\n")
        .filter((line) => line.startsWith(name)),
    ).toEqual([
      `${name}{group="",resource="pods"} 3`,
      `${name}{group="internal.apiserver.k8s.io",resource="storageversions"} 1`,
    ]);
  });
});
