import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { CONTEXT, createErrorsOf, updateErrorsOf } from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { SERVICE } from "./service.ts";
import { gatesOf } from "../../../catalog/release-gates.ts";

const service = (spec: JsonObject, metadata: JsonObject = {}): JsonObject => ({
  metadata: { name: "web", ...metadata },
  spec: { ports: [{ port: 80 }], ...spec },
});
const PORT_RANGE = "must be between 1 and 65535, inclusive";
const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

describe("a Service", () => {
  test.each<[string, JsonObject]>([
    ["with a cluster IP", {}],
    ["headless without ports", { clusterIP: "None", ports: [] }],
    ["with an external name that ends in a dot", { type: "ExternalName", externalName: "example.com." }],
    [
      "with a load balancer class and source ranges",
      { type: "LoadBalancer", loadBalancerClass: "a.io/b", loadBalancerSourceRanges: [" 10.0.0.0/8 "] },
    ],
  ])("is accepted: %s", (_what, spec) => {
    expect(createErrorsOf(SERVICE, service(spec))).toEqual([]);
  });

  test.each<[JsonObject, string[]]>([
    [{ ports: [] }, ["spec.ports: Required value"]],
    [
      { type: "Foo" },
      [
        'spec.type: Unsupported value: "Foo": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
      ],
    ],
    [{ type: "ExternalName", ports: [] }, ["spec.externalName: Required value"]],
    [
      { type: "ExternalName", externalName: "a", clusterIP: "None", ipFamilyPolicy: "SingleStack" },
      [
        "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
        "spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services",
      ],
    ],
    [
      { type: "NodePort", clusterIP: "None" },
      [`spec.clusterIPs[0]: Invalid value: "None": may not be set to 'None' for NodePort services`],
    ],
    [{ sessionAffinity: "X" }, ['spec.sessionAffinity: Unsupported value: "X": supported values: "ClientIP", "None"']],
    [
      { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 86_401 } } },
      [
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 86401: must be greater than 0 and less than 86400",
      ],
    ],
    [
      { loadBalancerClass: "x", allocateLoadBalancerNodePorts: true },
      [
        "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      ],
    ],
    [
      { externalTrafficPolicy: "Local", healthCheckNodePort: 30_000, internalTrafficPolicy: "X" },
      [
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
        "spec.healthCheckNodePort: Invalid value: 30000: may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'",
        'spec.internalTrafficPolicy: Unsupported value: "X": supported values: "Cluster", "Local"',
      ],
    ],
    [
      { externalIPs: ["127.0.0.1", "x"] },
      [
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        'spec.externalIPs[1]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
    ],
    [
      { loadBalancerSourceRanges: ["x"] },
      [
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
      ],
    ],
  ])("with %j is rejected", (spec, expected) => {
    expect(createErrorsOf(SERVICE, service(spec))).toEqual(expected);
  });

  test("validates its annotations", () => {
    const annotations = {
      "service.kubernetes.io/topology-mode": "a",
      "service.kubernetes.io/topology-aware-hints": "b",
      "service.beta.kubernetes.io/load-balancer-source-ranges": "10.0.0.0/8, y",
    };
    const ranges = "metadata.annotations[service.beta.kubernetes.io/load-balancer-source-ranges]";
    expect(createErrorsOf(SERVICE, service({}, { annotations }))).toEqual([
      'metadata.annotations[service.kubernetes.io/topology-mode]: Invalid value: "a": must match annotations[service.kubernetes.io/topology-aware-hints] when both are specified',
      `${ranges}: Forbidden: may only be used when \`type\` is 'LoadBalancer'`,
      `${ranges}: Invalid value: "y": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
    ]);
  });

  test("may have a name that begins with a digit from 1.36 on", () => {
    expect(createErrorsOf(SERVICE, service({}, { name: "1a" }))).toEqual([]);
    expect(createErrorsOf(SERVICE, service({}, { name: "1a" }), { ...CONTEXT, gates: gatesOf("1.35") })).toEqual([
      expect.stringMatching(/^metadata\.name: Invalid value: "1a": a DNS-1035 label must consist of/),
    ]);
    expect(createErrorsOf(SERVICE, service({}, { name: "A-x", generateName: "A-" }))).toEqual([
      `metadata.generateName: Invalid value: "A-": ${LABEL}`,
      `metadata.name: Invalid value: "A-x": ${LABEL}`,
    ]);
  });

  test("supports more traffic distributions from 1.34 on", () => {
    const spread = service({ trafficDistribution: "PreferSameZone" });
    expect(createErrorsOf(SERVICE, spread)).toEqual([]);
    expect(createErrorsOf(SERVICE, spread, { ...CONTEXT, gates: gatesOf("1.33") })).toEqual([
      'spec.trafficDistribution: Unsupported value: "PreferSameZone": supported values: "PreferClose"',
    ]);
  });
});

describe("the ports of a Service", () => {
  test("need valid numbers, and names if there are several", () => {
    const ports = [{ port: 0 }, { port: 80, name: "A", targetPort: "x_", protocol: "X", appProtocol: "a.io/x" }];
    expect(createErrorsOf(SERVICE, service({ ports }))).toEqual([
      "spec.ports[0].name: Required value",
      `spec.ports[0].port: Invalid value: 0: ${PORT_RANGE}`,
      `spec.ports[0].targetPort: Invalid value: 0: ${PORT_RANGE}`,
      `spec.ports[1].name: Invalid value: "A": ${LABEL}`,
      'spec.ports[1].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"',
      'spec.ports[1].targetPort: Invalid value: "x_": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
    ]);
  });

  test("are unique in name, number and node port", () => {
    const ports = [
      { port: 80, name: "a", nodePort: 30_000 },
      { port: 80, name: "a", nodePort: 30_000 },
    ];
    expect(createErrorsOf(SERVICE, service({ ports }))).toEqual([
      'spec.ports[1].name: Duplicate value: "a"',
      "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
      "spec.ports[1].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
      "spec.ports[1].nodePort: Duplicate value: 30000",
      'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":80,"TargetPort":0,"NodePort":0}',
    ]);
  });
});

describe("the addresses of a Service", () => {
  test.each<[JsonObject, string[]]>([
    [
      { clusterIPs: ["10.0.0.1"] },
      ['spec.clusterIPs: Invalid value: ["10.0.0.1"]: must be empty when `clusterIP` is not specified'],
    ],
    [
      { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.2"] },
      ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'],
    ],
    [
      { ipFamilies: ["IPv5", "IPv4", "IPv4"], ipFamilyPolicy: "X" },
      [
        'spec.ipFamilies[0]: Unsupported value: "IPv5": supported values: "IPv4", "IPv6"',
        'spec.ipFamilies[2]: Duplicate value: "IPv4"',
        'spec.ipFamilyPolicy: Unsupported value: "X": supported values: "PreferDualStack", "RequireDualStack", "SingleStack"',
      ],
    ],
    [
      { clusterIP: "None", clusterIPs: ["None", "10.0.0.1"] },
      [`spec.clusterIPs: Invalid value: ["None","10.0.0.1"]: 'None' must be the first and only value`],
    ],
    [
      { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.1", "10.0.0.2"] },
      ['spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family'],
    ],
    [
      { clusterIP: "10.0.0.1", ipFamilies: ["IPv6"] },
      ['spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`'],
    ],
  ])("are rejected with %j", (spec, expected) => {
    expect(createErrorsOf(SERVICE, service(spec))).toEqual(expected);
  });

  test("suppress all other errors if they are invalid", () => {
    expect(createErrorsOf(SERVICE, service({ clusterIP: "x", type: "Foo" }))).toEqual([
      'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
    ]);
  });

  test("cause at most 100 errors", () => {
    const clusterIPs = Array.from({ length: 100_000 }, () => "x");
    expect(createErrorsOf(SERVICE, service({ clusterIP: "x", clusterIPs }))).toHaveLength(100);
  });
});

describe("an update of a Service", () => {
  const given = { clusterIP: "10.0.0.1", ipFamilies: ["IPv4"], ipFamilyPolicy: "SingleStack" };

  test("cannot change the cluster IP; the format of the error depends on the release", () => {
    const change = service({ ...given, clusterIP: "10.0.0.2", clusterIPs: ["10.0.0.2"] });
    expect(updateErrorsOf(SERVICE, service(given), change)).toEqual([
      'spec.clusterIPs[0]: Invalid value: ["10.0.0.2"]: may not change once set',
    ]);
    expect(updateErrorsOf(SERVICE, service(given), change, { ...CONTEXT, gates: gatesOf("1.33") })).toEqual([
      'spec.clusterIPs[0]: Invalid value: []string{"10.0.0.2"}: may not change once set',
    ]);
  });

  test("cannot change the IP family", () => {
    const before = service({ ...given, clusterIP: "" });
    const change = service({ ipFamilies: ["IPv6"], ipFamilyPolicy: "SingleStack" });
    expect(updateErrorsOf(SERVICE, before, change)).toEqual([
      'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
    ]);
    expect(updateErrorsOf(SERVICE, before, change, { ...CONTEXT, ipFamilies: ["IPv4", "IPv6"] })).toEqual([
      'spec.ipFamilies[0]: Invalid value: ["IPv6"]: may not change once set',
    ]);
  });

  test("cannot change the load balancer class and the health check node port", () => {
    const balanced = { type: "LoadBalancer", externalTrafficPolicy: "Local" };
    const before = service({ ...balanced, loadBalancerClass: "a", healthCheckNodePort: 30_000 });
    expect(updateErrorsOf(SERVICE, before, service({ ...balanced, healthCheckNodePort: 30_001 }))).toEqual([
      "spec.loadBalancerClass: Invalid value: null: may not change once set",
      "spec.healthCheckNodePort: Forbidden: field is immutable",
    ]);
  });

  test("keeps stored non-standard addresses", () => {
    const odd = service({ externalIPs: ["010.2.3.4"] });
    expect(createErrorsOf(SERVICE, odd)).toEqual([
      'spec.externalIPs[0]: Invalid value: "010.2.3.4": must not have leading 0s',
    ]);
    expect(updateErrorsOf(SERVICE, odd, odd)).toEqual([]);
  });
});
