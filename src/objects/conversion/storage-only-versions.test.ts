/**
 * Tests of versions with an older shape, which no supported release serves, but which every supported release can still
 * decode from the store.
 */
import { describe, expect, test } from "vitest";
import { parseGroupVersion } from "../../meta/group-version.ts";
import type { JsonObject } from "../../meta/json.ts";
import { convertObject } from "./convert.ts";

function convert(object: JsonObject, to: string): JsonObject {
  return convertObject(object, parseGroupVersion(object["apiVersion"] as string), parseGroupVersion(to));
}

function bothWays(first: JsonObject, second: JsonObject): void {
  expect(convert(first, second["apiVersion"] as string)).toEqual(second);
  expect(convert(second, first["apiVersion"] as string)).toEqual(first);
}

const metadata = { name: "thing", namespace: "default" };

describe("EndpointSlice v1beta1", () => {
  function slice(version: string, endpoint: JsonObject): JsonObject {
    const endpoints = [{ addresses: ["10.0.0.1"], ...endpoint }];
    return {
      kind: "EndpointSlice",
      apiVersion: `discovery.k8s.io/${version}`,
      metadata,
      addressType: "IPv4",
      endpoints,
    };
  }
  const hostname = { "kubernetes.io/hostname": "node-a" };
  const zone = { "topology.kubernetes.io/zone": "west" };

  test("has zone and node name in its topology", () => {
    bothWays(
      slice("v1beta1", { nodeName: "node-a", topology: { ...hostname, ...zone } }),
      slice("v1", { nodeName: "node-a", zone: "west" }),
    );
  });

  test("keeps other topology labels, and a hostname that differs from the node name", () => {
    bothWays(
      slice("v1beta1", { nodeName: "node-a", topology: { "kubernetes.io/hostname": "other", rack: "7" } }),
      slice("v1", { nodeName: "node-a", deprecatedTopology: { "kubernetes.io/hostname": "other", rack: "7" } }),
    );
  });

  test("has no topology for an endpoint without a node and zone", () => {
    bothWays(slice("v1beta1", {}), slice("v1", {}));
  });
});

describe("Ingress v1beta1", () => {
  test('has a flat service name and port, and calls the default backend "backend"', () => {
    const path = { path: "/", pathType: "Prefix" };
    const resource = { kind: "Bucket", name: "files" };
    const rules = (...backends: JsonObject[]) => [
      { host: "example.com", http: { paths: backends.map((backend) => ({ ...path, backend })) } },
    ];
    bothWays(
      {
        kind: "Ingress",
        apiVersion: "networking.k8s.io/v1beta1",
        metadata,
        spec: {
          ingressClassName: "main",
          backend: { serviceName: "fallback", servicePort: 80 },
          rules: rules({ serviceName: "web", servicePort: "http" }, { resource }),
        },
      },
      {
        kind: "Ingress",
        apiVersion: "networking.k8s.io/v1",
        metadata,
        spec: {
          ingressClassName: "main",
          defaultBackend: { service: { name: "fallback", port: { number: 80 } } },
          rules: rules({ service: { name: "web", port: { name: "http" } } }, { resource }),
        },
      },
    );
  });
});

test("RuntimeClass v1alpha1 has the fields of v1 in a spec", () => {
  const rest = { overhead: { podFixed: { cpu: "250m" } }, scheduling: { nodeSelector: { a: "b" } } };
  bothWays(
    { kind: "RuntimeClass", apiVersion: "node.k8s.io/v1alpha1", metadata, spec: { runtimeHandler: "gvisor", ...rest } },
    { kind: "RuntimeClass", apiVersion: "node.k8s.io/v1", metadata, handler: "gvisor", ...rest },
  );
});

describe("PodDisruptionBudget v1beta1", () => {
  const label = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
  const on = (operator: string) => ({ matchExpressions: [{ key: label, operator }] });

  function budget(version: string, selector: JsonObject | undefined): JsonObject {
    const spec = { minAvailable: 1, ...(selector && { selector }) };
    return { kind: "PodDisruptionBudget", apiVersion: `policy/${version}`, metadata, spec };
  }

  test.each([
    ["an empty selector matches nothing", {}, on("Exists")],
    ["a selector that matches everything needs a label", on("DoesNotExist"), {}],
    ["other selectors are unchanged", { matchLabels: { app: "web" } }, { matchLabels: { app: "web" } }],
    ["an absent selector stays absent", undefined, undefined],
  ])("converts to v1 and back: %s", (_rule, beta, stable) => {
    bothWays(budget("v1beta1", beta), budget("v1", stable));
  });

  test("converts to v1 without the reserved label if the selector has other requirements", () => {
    const mixed = { matchLabels: { app: "web" }, ...on("Exists") };
    expect(convert(budget("v1beta1", mixed), "policy/v1")).toEqual(
      budget("v1", { matchLabels: { app: "web" }, matchExpressions: [] }),
    );
  });
});

describe("bindings of rbac v1alpha1", () => {
  const group = "rbac.authorization.k8s.io";
  const roleRef = { apiGroup: group, kind: "Role", name: "reader" };

  function binding(version: string, subjects: JsonObject[]): JsonObject {
    return { kind: "RoleBinding", apiVersion: `${group}/${version}`, metadata, roleRef, subjects };
  }

  test("have subjects with an apiVersion instead of an apiGroup", () => {
    bothWays(
      binding("v1alpha1", [
        { kind: "User", name: "ada", apiVersion: `${group}/v1alpha1` },
        { kind: "Group", name: "admins", apiVersion: `${group}/v1alpha1` },
        { kind: "ServiceAccount", name: "default", namespace: "default", apiVersion: "v1" },
        { kind: "Robot", name: "r2", apiVersion: "example.com/" },
      ]),
      binding("v1", [
        { kind: "User", name: "ada", apiGroup: group },
        { kind: "Group", name: "admins", apiGroup: group },
        { kind: "ServiceAccount", name: "default", namespace: "default" },
        { kind: "Robot", name: "r2", apiGroup: "example.com" },
      ]),
    );
  });

  test("are converted from the user * to the group of all authenticated users", () => {
    const alpha = binding("v1alpha1", [{ kind: "User", name: "*", apiVersion: `${group}/v1alpha1` }]);
    expect(convert(alpha, `${group}/v1`)).toEqual(
      binding("v1", [{ kind: "Group", name: "system:authenticated", apiGroup: group }]),
    );
  });
});

describe("Deployment v1beta1", () => {
  const annotation = "deprecated.deployment.rollback.to";

  function deployment(version: string, spec: JsonObject, annotations?: JsonObject): JsonObject {
    const annotated = { ...metadata, ...(annotations && { annotations }) };
    return { kind: "Deployment", apiVersion: `apps/${version}`, metadata: annotated, spec: { replicas: 1, ...spec } };
  }

  test("has spec.rollbackTo instead of an annotation", () => {
    bothWays(deployment("v1beta1", { rollbackTo: { revision: 7 } }), deployment("v1", {}, { [annotation]: "7" }));
    bothWays(deployment("v1beta1", { rollbackTo: {} }), deployment("v1beta2", {}, { [annotation]: "0" }));
    bothWays(deployment("v1beta1", {}), deployment("v1", {}));
  });

  test("keeps an annotation that is not a revision", () => {
    bothWays(deployment("v1beta1", {}, { [annotation]: "soon" }), deployment("v1", {}, { [annotation]: "soon" }));
  });
});
