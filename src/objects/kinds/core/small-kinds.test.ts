import { describe, expect, test } from "vitest";
import { ENDPOINTS } from "./endpoints.ts";
import { NAMESPACE } from "./namespace.ts";
import { SERVICE_ACCOUNT } from "./service-account.ts";
import { gatesOf } from "../../catalog/release-gates.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";

describe("a Namespace", () => {
  test("is created Active, with a label of its name and the finalizer kubernetes", () => {
    expect(prepared(NAMESPACE, { metadata: { name: "a" } })).toEqual({
      metadata: { name: "a", labels: { "kubernetes.io/metadata.name": "a" } },
      spec: { finalizers: ["kubernetes"] },
      status: { phase: "Active" },
    });
  });

  test("rejects finalizers without a qualified name", () => {
    expect(createErrorsOf(NAMESPACE, { metadata: { name: "a" }, spec: { finalizers: ["x", "a.io/x"] } })).toEqual([
      'spec.finalizers: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });

  test("must be in phase Active before its deletion and Terminating after it", () => {
    const gone = { metadata: { name: "a", deletionTimestamp: "2026-01-01T00:00:00Z" } };
    expect(statusUpdateErrorsOf(NAMESPACE, {}, { status: { phase: "Terminating" } })).toEqual([
      "status.Phase: Invalid value: \"Terminating\": may only be 'Active' if `deletionTimestamp` is empty",
    ]);
    expect(statusUpdateErrorsOf(NAMESPACE, gone, { ...gone, status: { phase: "Active" } })).toEqual([
      "status.Phase: Invalid value: \"Active\": may only be 'Terminating' if `deletionTimestamp` is not empty",
    ]);
  });
});

describe("a ServiceAccount", () => {
  test("keeps only the names of its secrets", () => {
    expect(prepared(SERVICE_ACCOUNT, { secrets: [{ name: "a", namespace: "b" }, { kind: "Secret" }] })).toEqual({
      secrets: [{ name: "a" }, {}],
    });
  });

  test("causes a warning about the enforce-mountable-secrets annotation from 1.32 on, on create only", () => {
    const account = { metadata: { annotations: { "kubernetes.io/enforce-mountable-secrets": "true" } } };
    expect(warningsOf(SERVICE_ACCOUNT, account)).toEqual([
      "metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets",
    ]);
    expect(warningsOf(SERVICE_ACCOUNT, account, { ...CONTEXT, gates: gatesOf("1.31") })).toEqual([]);
    expect([...SERVICE_ACCOUNT.warnings!(account, account, CONTEXT)]).toEqual([]);
  });
});

describe("an Endpoints object", () => {
  test("defaults the protocol of its ports to TCP", () => {
    const subsets = [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }, { port: 53, protocol: "UDP" }] }];
    expect(defaulted(ENDPOINTS, { subsets })["subsets"]).toMatchObject([
      { ports: [{ protocol: "TCP" }, { protocol: "UDP" }] },
    ]);
  });

  const bad = {
    subsets: [
      {},
      {
        notReadyAddresses: [{ ip: "x", hostname: "a.b", nodeName: "-" }],
        ports: [
          { port: 0, protocol: "X" },
          { port: 1, name: "a", appProtocol: "!" },
        ],
      },
    ],
  };

  test("rejects invalid addresses and ports", () => {
    const at = "subsets[1]";
    expect(createErrorsOf(ENDPOINTS, bad)).toEqual([
      "subsets[0]: Required value: must specify `addresses` or `notReadyAddresses`",
      `${at}.notReadyAddresses[0].ip: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)`,
      `${at}.notReadyAddresses[0].hostname: Invalid value: "a.b": must not contain dots`,
      expect.stringContaining(
        `${at}.notReadyAddresses[0].nodeName: Invalid value: "-": a lowercase RFC 1123 subdomain`,
      ),
      `${at}.notReadyAddresses[0].ip: Invalid value: "x": must be a valid IP address`,
      `${at}.ports[0].name: Required value`,
      `${at}.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`,
      `${at}.ports[0].protocol: Unsupported value: "X": supported values: "SCTP", "TCP", "UDP"`,
      expect.stringContaining(`${at}.ports[1].appProtocol: Invalid value: "!": name part must consist of`),
    ]);
  });

  test("keeps unchanged subsets that a create would reject", () => {
    expect(updateErrorsOf(ENDPOINTS, bad, bad)).toEqual([]);
  });

  test("causes warnings about non-standard addresses, unless a Kubernetes controller manages the object", () => {
    const subsets = [{ addresses: [{ ip: "2001:DB8::1" }] }];
    expect(warningsOf(ENDPOINTS, { subsets })).toEqual([
      'subsets[0].addresses[0].ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ]);
    const labels = { "endpoints.kubernetes.io/managed-by": "endpoint-controller" };
    expect(warningsOf(ENDPOINTS, { metadata: { labels }, subsets })).toEqual([]);
  });
});
