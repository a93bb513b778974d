import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { INGRESS_CLASS } from "./ingress-class.ts";
import { INGRESS } from "./ingress.ts";
import { gatesOf } from "../../catalog/release-gates.ts";

const SERVICE = { service: { name: "web", port: { number: 80 } } };
const routing = (path: JsonObject, host?: string): JsonObject => ({
  spec: { rules: [{ ...(host === undefined ? {} : { host }), http: { paths: [{ backend: SERVICE, ...path }] } }] },
});
const PATH = "spec.rules[0].http.paths[0]";

describe("an Ingress", () => {
  test("is stored with a status on create", () => {
    expect(prepared(INGRESS, { spec: { defaultBackend: SERVICE } })["status"]).toEqual({ loadBalancer: {} });
  });

  test("needs a default backend or rules with paths", () => {
    expect(createErrorsOf(INGRESS, {})).toEqual([
      "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified",
    ]);
    expect(createErrorsOf(INGRESS, { spec: { rules: [] } })).toEqual([
      "spec: Invalid value: []: either `defaultBackend` or `rules` must be specified",
    ]);
    expect(createErrorsOf(INGRESS, { spec: { rules: [{ http: { paths: [] } }] } })).toEqual([
      "spec.rules[0].http.paths: Required value",
    ]);
  });

  test.each<[JsonObject, string[]]>([
    [{}, [`${PATH}.pathType: Required value: pathType must be specified`]],
    [{ pathType: "Exact" }, [`${PATH}.path: Invalid value: "": must be an absolute path`]],
    [{ pathType: "ImplementationSpecific" }, []],
    [{ pathType: "ImplementationSpecific", path: "a" }, [`${PATH}.path: Invalid value: "a": must be an absolute path`]],
    [
      { pathType: "Prefix", path: "/a//b/.." },
      [
        `${PATH}.path: Invalid value: "/a//b/..": must not contain '//'`,
        `${PATH}.path: Invalid value: "/a//b/..": cannot end with '/..'`,
      ],
    ],
    [
      { pathType: "X" },
      [`${PATH}.pathType: Unsupported value: "X": supported values: "Exact", "ImplementationSpecific", "Prefix"`],
    ],
  ])("validates the path %j", (path, expected) => {
    expect(createErrorsOf(INGRESS, routing(path))).toEqual(expected);
  });

  test.each<[JsonObject, string[]]>([
    [{}, ['spec.defaultBackend: Invalid value: "": resource or service backend is required']],
    [
      { ...SERVICE, resource: { kind: "A", name: "a" } },
      ['spec.defaultBackend: Invalid value: "": cannot set both resource and service backends'],
    ],
    [
      { resource: { apiGroup: "A", kind: "a/b" } },
      [
        expect.stringContaining('spec.defaultBackend.resource.apiGroup: Invalid value: "A": a lowercase RFC 1123'),
        "spec.defaultBackend.resource.kind: Invalid value: \"a/b\": may not contain '/'",
        "spec.defaultBackend.resource.name: Required value",
      ],
    ],
    [
      { service: {} },
      [
        "spec.defaultBackend.service.name: Required value",
        "spec.defaultBackend: Required value: port name or number is required",
      ],
    ],
    [
      { service: { name: "1", port: { name: "a", number: 1 } } },
      ['spec.defaultBackend: Invalid value: "": cannot set both port name & port number'],
    ],
    [
      { service: { name: "a", port: { name: "1" } } },
      ['spec.defaultBackend.service.port.name: Invalid value: "1": must contain at least one letter (a-z)'],
    ],
  ])("validates the backend %j", (defaultBackend, expected) => {
    expect(createErrorsOf(INGRESS, { spec: { defaultBackend } })).toEqual(expected);
  });

  test("rejects hosts that are not DNS names", () => {
    const ingress = routing({ pathType: "ImplementationSpecific" }, "10.0.0.1");
    expect(createErrorsOf(INGRESS, ingress)).toEqual([
      'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ]);
    expect(createErrorsOf(INGRESS, routing({ pathType: "ImplementationSpecific" }, "*.example.com"))).toEqual([]);
    const tls = [{ hosts: ["*"], secretName: "A" }];
    expect(createErrorsOf(INGRESS, { spec: { defaultBackend: SERVICE, tls, ingressClassName: "B" } })).toEqual([
      expect.stringContaining('spec.tls[0].hosts[0]: Invalid value: "*": a wildcard DNS-1123 subdomain must start'),
      expect.stringContaining('spec.tls[0].secretName: Invalid value: "A": a lowercase RFC 1123 subdomain'),
      expect.stringContaining('spec.ingressClassName: Invalid value: "B": a lowercase RFC 1123 subdomain'),
    ]);
  });

  test("keeps stored values that a create would reject", () => {
    const old = { spec: { defaultBackend: SERVICE, tls: [{ secretName: "A" }] } };
    expect(updateErrorsOf(INGRESS, old, old)).toEqual([]);
    const bad = { spec: { rules: [{ host: "*.a", http: {} }] } };
    expect(updateErrorsOf(INGRESS, bad, bad)).toEqual([]);
    expect(updateErrorsOf(INGRESS, routing({ pathType: "Exact", path: "/" }), bad)).toEqual([
      "spec.rules[0].http.paths: Required value",
    ]);
  });

  test("validates service names by the rule of its release", () => {
    const named = { spec: { defaultBackend: { service: { name: "1a", port: { number: 1 } } } } };
    const old = { ...CONTEXT, gates: gatesOf("1.35") };
    expect(createErrorsOf(INGRESS, named)).toEqual([]);
    expect(createErrorsOf(INGRESS, named, old)).toEqual([
      expect.stringContaining('spec.defaultBackend.service.name: Invalid value: "1a": a DNS-1035 label'),
    ]);
    expect(updateErrorsOf(INGRESS, named, named, old)).toEqual([]);
  });

  test("rejects a class annotation that contradicts ingressClassName, and warns about the annotation", () => {
    const metadata = { annotations: { "kubernetes.io/ingress.class": "a" } };
    const spec = { defaultBackend: SERVICE };
    expect(createErrorsOf(INGRESS, { metadata, spec: { ...spec, ingressClassName: "b" } })).toEqual([
      'annotations.kubernetes.io/ingress.class: Invalid value: "a": must match `ingressClassName` when both are specified',
    ]);
    expect(warningsOf(INGRESS, { metadata, spec })).toEqual([
      `annotation "kubernetes.io/ingress.class" is deprecated, please use 'spec.ingressClassName' instead`,
    ]);
  });

  test("validates the load balancer addresses of its status", () => {
    const status = { loadBalancer: { ingress: [{ ip: "x", hostname: "10.0.0.1" }] } };
    expect(statusUpdateErrorsOf(INGRESS, {}, { status })).toEqual([
      'status.loadBalancer.ingress[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      'status.loadBalancer.ingress[0].hostname: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
    ]);
  });
});

describe("an IngressClass", () => {
  const spec = { controller: "example.com/c" };

  test("defaults the scope of its parameters to Cluster", () => {
    const parameters = { kind: "A", name: "a" };
    expect(defaulted(INGRESS_CLASS, { spec: { ...spec, parameters } })["spec"]).toEqual({
      ...spec,
      parameters: { ...parameters, scope: "Cluster" },
    });
    expect(defaulted(INGRESS_CLASS, {})).toEqual({ spec: {} });
  });

  test.each<[JsonObject, string[]]>([
    [{ kind: "A" }, ["spec.parameters.name: Required value"]],
    [
      { kind: "A", name: "a", scope: "X" },
      ['spec.parameters.scope: Unsupported value: "X": supported values: "Cluster", "Namespace"'],
    ],
    [
      { kind: "A", name: "a", scope: "Namespace" },
      ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ],
    [
      { kind: "A", name: "a", namespace: "n" },
      ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ],
  ])("validates the parameters %j", (parameters, expected) => {
    expect(createErrorsOf(INGRESS_CLASS, { spec: { ...spec, parameters } })).toEqual(expected);
  });

  test("needs a controller, which is immutable", () => {
    expect(createErrorsOf(INGRESS_CLASS, {})).toEqual(["spec.controller: Required value"]);
    expect(createErrorsOf(INGRESS_CLASS, { spec: { controller: `a.io/${"c".repeat(250)}` } })).toEqual([
      "spec.controller: Too long: may not be more than 250 bytes",
    ]);
    expect(updateErrorsOf(INGRESS_CLASS, { spec }, { spec: { controller: "example.com/d" } })).toEqual([
      'spec.controller: Invalid value: "example.com/d": field is immutable',
    ]);
  });
});
