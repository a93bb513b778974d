import { describe, expect, test } from "vitest";

import type { JsonObject } from "../../meta/json.ts";
import { resolveService, type ResolveParts, type ServiceOverrides } from "./service-resolver.ts";
import { parseServiceOverrides } from "./service-overrides.ts";

const REFERENCE = { namespace: "kube-system", name: "metrics", port: 443 };
const PORTS = [{ name: "https", port: 443, targetPort: "web" }];
const NO_OVERRIDES: ServiceOverrides = new Map();

describe("a Service is resolved to", () => {
  test("its ready endpoints, with the port number of the EndpointSlice", () => {
    const slice = sliceOf(["10.0.0.1", "10.0.0.2", "10.0.0.3"], { notReady: "10.0.0.2" });
    const addresses = resolved(service({ ports: PORTS }), [slice]);
    expect(addresses.toSorted()).toEqual(["10.0.0.1:8443", "10.0.0.3:8443"]);
  });

  test("endpoints of its first address family before endpoints of its second", () => {
    const spec = { ports: PORTS, ipFamilies: ["IPv6", "IPv4"] };
    const slices = [sliceOf(["10.0.0.1"]), sliceOf(["fd00::1"], { addressType: "IPv6" })];
    expect(resolved(service(spec), slices)).toEqual(["fd00::1:8443", "10.0.0.1:8443"]);
  });

  test("at most five endpoints in random order", () => {
    const hosts = Array.from({ length: 20 }, (_unused, index) => `10.0.0.${index + 1}`);
    const first = resolved(service({ ports: PORTS }), [sliceOf(hosts)], 0);
    const other = resolved(service({ ports: PORTS }), [sliceOf(hosts)], 0.99);
    expect(first).toHaveLength(5);
    expect(new Set(first).size).toBe(5);
    expect(other).not.toEqual(first);
  });

  test("its external name with the port of the reference", () => {
    const external = service({ type: "ExternalName", externalName: "api.example.com" });
    expect(resolved(external, [])).toEqual(["api.example.com:443"]);
  });

  test("the address of an override, even if the Service does not exist", () => {
    const overrides = new Map([["metrics.kube-system", { host: "127.0.0.1", port: 7443 }]]);
    expect(resolveService(REFERENCE, parts(undefined, [], 0, overrides))).toEqual({
      kind: "resolved",
      addresses: [{ host: "127.0.0.1", port: 7443 }],
    });
  });
});

test.each<[rule: string, found: JsonObject | undefined, slices: JsonObject[], message: string]>([
  ["no service", undefined, [], 'service "metrics" not found'],
  ["another port", service({ ports: [{ port: 80 }] }), [], 'no service port 443 found for service "metrics"'],
  ["an unsupported type", service({ type: "Other" }), [], 'unsupported service type "Other"'],
  ["no slices", service({ ports: PORTS }), [], 'no endpoints available for service "metrics"'],
  [
    "a slice without the port",
    service({ ports: PORTS }),
    [{ ...sliceOf(["10.0.0.1"]), ports: [{ name: "other", port: 1 }] }],
    'no endpoints available for service "metrics"',
  ],
  [
    "a slice with invalid values",
    service({ ports: PORTS }),
    [{ ports: [null, { name: "https", port: 8443 }], endpoints: [1, {}, { addresses: [7] }] }],
    'no endpoints available for service "metrics"',
  ],
])("with %s, the Service is not resolved", (_rule, found, slices, message) => {
  expect(resolveService(REFERENCE, parts(found, slices))).toEqual({ kind: "unresolved", message });
});

describe("an override", () => {
  test("has the form NAME.NAMESPACE=HOST:PORT, with IPv6 in brackets", () => {
    const parsed = parseServiceOverrides(["a.default=127.0.0.1:1", "b.default=[::1]:2", "c.x=api.example.com:65535"]);
    expect(parsed).toEqual({
      isValid: true,
      overrides: new Map([
        ["a.default", { host: "127.0.0.1", port: 1 }],
        ["b.default", { host: "::1", port: 2 }],
        ["c.x", { host: "api.example.com", port: 65_535 }],
      ]),
    });
  });

  test.each([
    "a=127.0.0.1:1",
    "a.b.c=127.0.0.1:1",
    "A.default=127.0.0.1:1",
    "a.default",
    "a.default=:1",
    "a.default=127.0.0.1",
    "a.default=127.0.0.1:0",
    "a.default=127.0.0.1:65536",
    "a.default=::1:1",
    "a.default=[127.0.0.1]:1",
    "a.default=https://x:1",
  ])("of the form %s is rejected", (text) => {
    expect(parseServiceOverrides([text])).toMatchObject({ isValid: false, problems: [expect.stringContaining(text)] });
  });

  test("may be specified only once for each Service", () => {
    expect(parseServiceOverrides(["a.x=h:1", "a.x=h:2"])).toMatchObject({ isValid: false });
  });
});

function service(spec: JsonObject): JsonObject {
  return { metadata: { name: "metrics", namespace: "kube-system" }, spec };
}

function sliceOf(hosts: string[], more: { notReady?: string; addressType?: string } = {}): JsonObject {
  return {
    addressType: more.addressType ?? "IPv4",
    ports: [{ name: "https", port: 8443 }],
    endpoints: hosts.map((host) => ({
      addresses: [host],
      ...(host === more.notReady ? { conditions: { ready: false } } : {}),
    })),
  };
}

function parts(
  found: JsonObject | undefined,
  slices: readonly JsonObject[],
  chance = 0,
  overrides = NO_OVERRIDES,
): ResolveParts {
  const random = { float: () => chance, bytes: (length: number) => Buffer.alloc(length) };
  return { state: { service: () => found, endpointSlices: () => slices }, overrides, random };
}

function resolved(found: JsonObject, slices: readonly JsonObject[], chance = 0): string[] {
  const resolution = resolveService(REFERENCE, parts(found, slices, chance));
  if (resolution.kind === "unresolved") throw new Error(resolution.message);
  return resolution.addresses.map(({ host, port }) => `${host}:${port}`);
}
