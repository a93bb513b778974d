/** Tests of the options that correspond to single flags of kube-apiserver and change what clients see. */
import { describe, expect, test } from "vitest";
import { resolveOptions, type ServerOptions } from "../../src/server/config.ts";
import { World } from "../../src/tools/simulator/world.ts";
import { header, startServer, type ApiTestResponse, type StartOptions, type TestServer } from "./start.ts";

const PODS = "/api/v1/namespaces/default/pods";

function pod(securityContext: object, spec: object = {}): object {
  const containers = [{ name: "a", image: "a", securityContext }];
  return { apiVersion: "v1", kind: "Pod", metadata: { name: "a" }, spec: { containers, ...spec } };
}

function withOptions(options: StartOptions = {}): Promise<TestServer> {
  const access = { disableAdmissionPlugins: ["ServiceAccount"], ...options.access };
  return startServer({ ...options, access });
}

test("Strict-Transport-Security is set on every response, also on errors, and only if it has directives", async () => {
  await using api = await withOptions({ strictTransportSecurity: ["max-age=60", "includeSubDomains"] });
  const headerOf = (response: ApiTestResponse): unknown => header(response, "strict-transport-security");
  for (const path of ["/livez", "/api/v1/namespaces/absent", "/absent"])
    expect(headerOf(await api.get(path))).toBe("max-age=60; includeSubDomains");
  await using plain = await withOptions();
  expect(headerOf(await plain.get("/livez"))).toBeUndefined();
  expect(() => resolveOptions({ storage: { kind: "memory" }, strictTransportSecurity: ["max-age=a"] })).toThrow(
    "--strict-transport-security-directives invalid",
  );
});

test.each([
  ["api.example", "api.example:6443"],
  ["api.example:443", "api.example:443"],
  ["fd00::1", "[fd00::1]:6443"],
  ["[fd00::1]:443", "[fd00::1]:443"],
])("the external host name %s is shown in discovery", async (externalHostname, shown) => {
  await using api = await withOptions({ externalHostname });
  api.server.announce("10.0.0.1:6443");
  const { serverAddressByClientCIDRs } = (await api.get("/api")).body;
  expect(serverAddressByClientCIDRs).toEqual([{ clientCIDR: "0.0.0.0/0", serverAddress: shown }]);
});

describe("privileged containers", () => {
  const NOT_ALLOWED = "disallowed by cluster policy";

  test("are admitted by default", async () => {
    await using api = await withOptions();
    expect((await api.call("POST", PODS, pod({ privileged: true }))).status).toBe(201);
  });

  test("are rejected if the option forbids them, as host process containers are", async () => {
    await using api = await withOptions({ allowPrivileged: false });
    const { status, body } = await api.call("POST", PODS, pod({ privileged: true }));
    expect([status, body.details.causes]).toEqual([
      422,
      [
        {
          reason: "FieldValueForbidden",
          message: `Forbidden: ${NOT_ALLOWED}`,
          field: "spec.containers[0].securityContext.privileged",
        },
      ],
    ]);
    const host = pod({ windowsOptions: { hostProcess: true } }, { hostNetwork: true, os: { name: "windows" } });
    expect((await api.call("POST", PODS, host)).body.message).toContain(
      `spec: Forbidden: hostProcess containers are ${NOT_ALLOWED}`,
    );
    expect((await api.call("POST", PODS, pod({ privileged: false }))).status).toBe(201);
  });
});

describe("the in-flight limits", () => {
  const options = (access: NonNullable<ServerOptions["access"]>): ServerOptions => ({
    storage: { kind: "memory" },
    maxRequestsInflight: 0,
    maxMutatingRequestsInflight: 0,
    access,
  });

  test("of 0 are unlimited without priority and fairness", async () => {
    await using api = await withOptions(options({ priorityAndFairness: false }));
    const reads = Array.from({ length: 500 }, () => api.get("/api/v1/namespaces"));
    expect(new Set((await Promise.all(reads)).map(({ status }) => status))).toEqual(new Set([200]));
  });

  test("must not both be 0 with priority and fairness", () => {
    expect(() => resolveOptions(options({}))).toThrow("must add up to a positive number");
    expect(() => resolveOptions({ ...options({}), maxRequestsInflight: 1 })).not.toThrow();
  });
});

test("a watch without timeoutSeconds ends after one to two times the minimum request timeout", async () => {
  await using api = await withOptions({ minRequestTimeoutMs: 10_000 });
  const watched = api.call("GET", "/api/v1/namespaces?watch=1");
  let ended = false;
  void watched.then(() => (ended = true));
  await api.world.advance(9_999);
  expect(ended).toBe(false);
  await api.world.advance(10_001);
  expect(ended).toBe(true);
});

test("/version has the reported version", async () => {
  await using api = await withOptions({ reportedVersion: "v1.36.4-custom" });
  expect((await api.get("/version")).body.gitVersion).toBe("v1.36.4-custom");
});

test("pods get the configured tolerations", async () => {
  await using api = await withOptions({ access: { tolerations: { notReadySeconds: 7, unreachableSeconds: 0 } } });
  const { spec } = (await api.call("POST", PODS, pod({}))).body;
  expect(spec.tolerations.map((one: { tolerationSeconds: number }) => one.tolerationSeconds)).toEqual([7, 0]);
});

describe("a bootstrap token", () => {
  const REVIEWS = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
  const SECRETS = "/api/v1/namespaces/kube-system/secrets";
  const stringData = {
    "token-id": "abcdef",
    "token-secret": "0123456789abcdef",
    "usage-bootstrap-authentication": "true",
    expiration: "2100-01-01T00:00:00Z",
  };
  const secret = {
    ...{ apiVersion: "v1", kind: "Secret", type: "bootstrap.kubernetes.io/token" },
    ...{ metadata: { name: "bootstrap-token-abcdef" }, stringData },
  };
  const review = { apiVersion: "authentication.k8s.io/v1", kind: "SelfSubjectReview" };
  const headers = { authorization: "Bearer abcdef.0123456789abcdef" };
  const whoAmI = (api: TestServer): Promise<ApiTestResponse> =>
    api.call("POST", REVIEWS, review, { asClient: true, headers });

  test("authenticates as long as its Secret exists", async () => {
    await using api = await withOptions({ access: { bootstrapTokens: true } });
    expect((await whoAmI(api)).status).toBe(401);
    expect((await api.call("POST", SECRETS, secret)).status).toBe(201);
    expect((await whoAmI(api)).body.status.userInfo).toMatchObject({
      username: "system:bootstrap:abcdef",
      groups: ["system:bootstrappers", "system:authenticated"],
    });
    await api.call("DELETE", `${SECRETS}/bootstrap-token-abcdef`);
    expect((await whoAmI(api)).status).toBe(401);
  });

  test("does not authenticate by default", async () => {
    await using api = await withOptions();
    expect((await api.call("POST", SECRETS, secret)).status).toBe(201);
    expect((await whoAmI(api)).status).toBe(401);
  });
});

test("the authorization mode Node allows a kubelet nothing that RBAC does not allow", async () => {
  const world = new World({ seed: 1 });
  const tokenFile = 'kubelet,system:node:a,u-1,"system:nodes"';
  await using api = await withOptions({ world, tokenFile, access: { authorizationModes: ["Node", "RBAC"] } });
  await world.advance(5_000);
  const asKubelet = { asClient: true, headers: { authorization: "Bearer kubelet" } };
  expect((await api.call("GET", "/api/v1/nodes/a", undefined, asKubelet)).status).toBe(403);
  expect((await api.call("GET", "/api", undefined, asKubelet)).status).toBe(200);
});
