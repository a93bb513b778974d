import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  statusUpdateErrorsOf,
  warningsOf,
} from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { SERVICE } from "./service.ts";
import { gatesOf } from "../../../catalog/release-gates.ts";

const balanced = (...ingress: JsonObject[]): JsonObject => ({
  spec: { type: "LoadBalancer", ports: [{ port: 80 }] },
  status: { loadBalancer: { ingress } },
});

describe("the load balancer status of a Service", () => {
  test("defaults the ipMode of each IP address", () => {
    expect(defaulted(SERVICE, balanced({ ip: "10.0.0.1" }, { hostname: "a" }))["status"]).toEqual({
      loadBalancer: { ingress: [{ ip: "10.0.0.1", ipMode: "VIP" }, { hostname: "a" }] },
    });
    expect(defaulted(SERVICE, { spec: {} })["status"]).toEqual({ loadBalancer: {} });
  });

  test("is validated when it changes", () => {
    const field = "status.loadBalancer.ingress";
    const points = [{ ip: "x" }, { hostname: "10.0.0.1", ipMode: "VIP" }, { ip: "10.0.0.1", ipMode: "X" }];
    expect(statusUpdateErrorsOf(SERVICE, balanced(), balanced(...points))).toEqual([
      `${field}[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
      `${field}[1].ipMode: Forbidden: may not be specified when \`ip\` is not set`,
      `${field}[1].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`,
      `${field}[2].ipMode: Unsupported value: "X": supported values: "Proxy", "VIP"`,
    ]);
    expect(statusUpdateErrorsOf(SERVICE, balanced({ ip: "x" }), balanced({ ip: "x" }))).toEqual([]);
  });

  test("is rejected for Services of other types", () => {
    const plain = { ...balanced({ ip: "10.0.0.1" }), spec: { type: "ClusterIP" } };
    expect(statusUpdateErrorsOf(SERVICE, plain, plain)).toEqual([
      "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
    ]);
  });
});

describe("a Service", () => {
  const ports = [{ port: 80 }];

  test.each<[JsonObject, string[]]>([
    [{}, []],
    [
      { clusterIP: "None", externalIPs: ["10.0.0.1"], loadBalancerIP: "10.0.0.1", sessionAffinity: "ClientIP" },
      [
        "spec.loadBalancerIP is ignored for headless services",
        "spec.externalIPs is ignored for headless services",
        "spec.SessionAffinity is ignored for headless services",
      ],
    ],
    [
      { externalIPs: ["2001:DB8::1"], externalName: "a" },
      [
        'spec.externalIPs[0]: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
        "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
        'spec.externalName is ignored when spec.type is not "ExternalName"',
      ],
    ],
    [
      { type: "ExternalName", externalName: "a", externalIPs: ["10.0.0.1"] },
      ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
    ],
    [
      { trafficDistribution: "PreferClose" },
      ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
    ],
  ])("with the spec %j causes the expected warnings", (spec, expected) => {
    expect(warningsOf(SERVICE, { spec: { ports, ...spec } })).toEqual(expected);
  });

  test("causes only the warning about its topology annotation before 1.35", () => {
    const annotations = { "service.kubernetes.io/topology-aware-hints": "auto" };
    const spec = { ports, trafficDistribution: "PreferClose", externalIPs: ["10.0.0.1"] };
    expect(warningsOf(SERVICE, { metadata: { annotations }, spec }, { ...CONTEXT, gates: gatesOf("1.34") })).toEqual([
      "annotation service.kubernetes.io/topology-aware-hints is deprecated, please use service.kubernetes.io/topology-mode instead",
    ]);
  });
});
