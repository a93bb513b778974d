import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../meta/json.ts";
import { cellOf, rowOf } from "../../../test/testing/objects/table/rows.ts";

describe("a service", () => {
  test("shows its addresses and ports", () => {
    const object = {
      spec: {
        type: "NodePort",
        clusterIPs: ["10.0.0.1", "fd00::1"],
        ports: [
          { port: 80, nodePort: 30_080, protocol: "TCP" },
          { port: 53, protocol: "UDP" },
        ],
        selector: { app: "web" },
      },
    };
    expect(rowOf("/Service", object)).toEqual([
      ...["x", "NodePort", "10.0.0.1", "<none>", "80:30080/TCP,53/UDP", "60m"],
      "app=web",
    ]);
    expect(rowOf("/Service", {})).toEqual(["x", "", "<none>", "<unknown>", "<none>", "60m", "<none>"]);
  });

  const ingress = [{ ip: "9.9.9.9" }, { hostname: "lb.example" }, { ip: "1.1.1.1" }, { ip: "9.9.9.9", hostname: "z" }];
  test.each<[string, JsonObject]>([
    ["<none>", { spec: { type: "ClusterIP" } }],
    ["1.2.3.4,5.6.7.8", { spec: { type: "ClusterIP", externalIPs: ["1.2.3.4", "5.6.7.8"] } }],
    ["<pending>", { spec: { type: "LoadBalancer" } }],
    ["1.1.1.1,9.9.9.9,lb.example", { spec: { type: "LoadBalancer" }, status: { loadBalancer: { ingress } } }],
    [
      "1.1.1.1,9.9.9.9,lb.example,1.2.3.4",
      { spec: { type: "LoadBalancer", externalIPs: ["1.2.3.4"] }, status: { loadBalancer: { ingress } } },
    ],
    ["1.2.3.4", { spec: { type: "LoadBalancer", externalIPs: ["1.2.3.4"] } }],
    ["db.example", { spec: { type: "ExternalName", externalName: "db.example" } }],
    ["<unknown>", { spec: { type: "Other" } }],
  ])("has the external address %s", (addresses, object) => {
    expect(cellOf("/Service", "External-IP", object)).toBe(addresses);
  });

  test("stored before dual-stack, without clusterIPs, shows its only address", () => {
    expect(cellOf("/Service", "Cluster-IP", { spec: { clusterIP: "10.0.0.9" } })).toBe("10.0.0.9");
    expect(cellOf("/Service", "Cluster-IP", { spec: { clusterIP: "None", clusterIPs: ["None"] } })).toBe("None");
  });
});

describe("endpoints", () => {
  const addresses = (...ips: string[]): JsonObject[] => ips.map((ip) => ({ ip }));

  test.each<[string, unknown]>([
    ["<none>", []],
    ["", [{ notReadyAddresses: addresses("1.1.1.1") }]],
    ["1.1.1.1,2.2.2.2", [{ addresses: addresses("1.1.1.1", "2.2.2.2") }]],
    ["1.1.1.1:80,[fd00::1]:80", [{ addresses: addresses("1.1.1.1", "fd00::1"), ports: [{ port: 80 }] }]],
    [
      "1.1.1.1:80,2.2.2.2:80,1.1.1.1:443 + 1 more...",
      [{ addresses: addresses("1.1.1.1", "2.2.2.2"), ports: [{ port: 80 }, { port: 443 }] }],
    ],
    [
      "1.1.1.1,2.2.2.2,3.3.3.3 + 2 more...",
      [{ addresses: addresses("1.1.1.1", "2.2.2.2", "3.3.3.3", "4.4.4.4") }, { addresses: addresses("5.5.5.5") }],
    ],
  ])("are shown as %s", (text, subsets) => {
    expect(rowOf("/Endpoints", { subsets })).toEqual(["x", text, "60m"]);
  });

  test("of a slice show its first addresses and ports", () => {
    const endpoints = [{ addresses: ["1.1.1.1", "2.2.2.2"] }, { addresses: ["3.3.3.3"] }, { addresses: ["4.4.4.4"] }];
    const ports = [{ name: "http", port: 80 }, { name: "any" }, {}];
    expect(rowOf("discovery.k8s.io/EndpointSlice", { addressType: "IPv4", endpoints, ports })).toEqual([
      ...["x", "IPv4", "80,any,*"],
      ...["1.1.1.1,2.2.2.2,3.3.3.3 + 1 more...", "60m"],
    ]);
    expect(rowOf("discovery.k8s.io/EndpointSlice", { addressType: "FQDN" })).toEqual([
      "x",
      "FQDN",
      "<unset>",
      "<unset>",
      "60m",
    ]);
  });
});

test("an ingress shows class, hosts, addresses and ports", () => {
  const hosts = (...names: string[]): JsonObject[] => names.map((host) => (host === "" ? {} : { host }));
  const object = {
    spec: { ingressClassName: "nginx", rules: hosts("a", "b"), tls: [{}] },
    status: { loadBalancer: { ingress: [{ hostname: "lb" }, { ip: "1.1.1.1" }] } },
  };
  expect(rowOf("networking.k8s.io/Ingress", object)).toEqual(["x", "nginx", "a,b", "1.1.1.1,lb", "80, 443", "60m"]);
  expect(rowOf("networking.k8s.io/Ingress", {})).toEqual(["x", "<none>", "*", "", "80", "60m"]);
  const shown = (...names: string[]): unknown =>
    cellOf("networking.k8s.io/Ingress", "Hosts", { spec: { rules: hosts(...names) } });
  expect(shown("a", "b", "c")).toBe("a,b,c");
  expect(shown("a", "b", "c", "d", "")).toBe("a,b,c + 2 more...");
  expect(shown("", "")).toBe("*");
});

test("an ingress class shows its parameters, and from 1.36 on whether it is the default", () => {
  const annotations = { "ingressclass.kubernetes.io/is-default-class": "true" };
  const parameters = { apiGroup: "k8s.example.com", kind: "Params", name: "p" };
  const object = { metadata: { annotations }, spec: { controller: "example.com/c", parameters } };
  const rest = ["example.com/c", "Params.k8s.example.com/p", "60m"];
  expect(rowOf("networking.k8s.io/IngressClass", object)).toEqual(["x (default)", ...rest]);
  expect(rowOf("networking.k8s.io/IngressClass", object, "1.35")).toEqual(["x", ...rest]);
  expect(rowOf("networking.k8s.io/IngressClass", { spec: { parameters: { kind: "ConfigMap", name: "p" } } })).toEqual([
    ...["x", "", "ConfigMap/p", "60m"],
  ]);
  expect(cellOf("networking.k8s.io/IngressClass", "Parameters", {})).toBe("<none>");
});

test("a network policy shows its pod selector", () => {
  const key = "networking.k8s.io/NetworkPolicy";
  expect(rowOf(key, { spec: { podSelector: { matchLabels: { a: "b" } } } })).toEqual(["x", "a=b", "60m"]);
  expect(rowOf(key, { spec: { podSelector: {} } })).toEqual(["x", "<none>", "60m"]);
});

test("tables of CIDRs list all of them", () => {
  expect(rowOf("networking.k8s.io/ServiceCIDR", { spec: { cidrs: ["10.0.0.0/16", "fd00::/108"] } })).toEqual([
    ...["x", "10.0.0.0/16,fd00::/108", "60m"],
  ]);
  const nodeSelector = {
    nodeSelectorTerms: [{ matchExpressions: [{ key: "k", operator: "In", values: ["a", "b"] }] }],
  };
  expect(
    rowOf("networking.k8s.io/ClusterCIDR", { spec: { perNodeHostBits: 8, ipv4: "10.0.0.0/8", nodeSelector } }, "1.28"),
  ).toEqual([...["x", "8", "10.0.0.0/8", "<none>", "60m"], "MatchExpressions: [{k In [a b]}]"]);
});

test("the row of an IPAddress has a cell for its age, although the table has no such column", () => {
  const parentRef = { group: "", resource: "services", namespace: "ns", name: "web" };
  expect(rowOf("networking.k8s.io/IPAddress", { spec: { parentRef } })).toEqual(["x", "services/ns/web", "60m"]);
  expect(
    rowOf("networking.k8s.io/IPAddress", { spec: { parentRef: { group: "G", resource: "R", name: "n" } } }),
  ).toEqual([...["x", "r.g/n", "60m"]]);
  expect(rowOf("networking.k8s.io/IPAddress", {})).toEqual(["x", "<none>", "60m"]);
});
