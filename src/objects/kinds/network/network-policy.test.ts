import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  defaulted,
  createErrorsOf,
  updateErrorsOf,
  warningsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { NETWORK_POLICY } from "./network-policy.ts";

const policy = (spec: JsonObject): JsonObject => ({ spec: { podSelector: {}, ...spec } });

describe("a NetworkPolicy", () => {
  test.each<[JsonObject, JsonObject]>([
    [{}, { podSelector: {}, policyTypes: ["Ingress"] }],
    [{ egress: [] }, { podSelector: {}, egress: [], policyTypes: ["Ingress"] }],
    [{ egress: [{}] }, { podSelector: {}, egress: [{}], policyTypes: ["Ingress", "Egress"] }],
    [
      { ingress: [{ ports: [{ port: 80 }] }] },
      { podSelector: {}, ingress: [{ ports: [{ port: 80, protocol: "TCP" }] }], policyTypes: ["Ingress"] },
    ],
  ])("with the spec %j gets default policy types and protocols", (spec, expected) => {
    expect(defaulted(NETWORK_POLICY, { spec })["spec"]).toEqual(expected);
  });

  test("validates ports and port ranges", () => {
    const ports = [{ port: 0 }, { port: 80, endPort: 70 }, { port: "a", endPort: 1 }, { endPort: 1, protocol: "X" }];
    const at = "spec.ingress[0].ports";
    expect(createErrorsOf(NETWORK_POLICY, policy({ ingress: [{ ports }] }))).toEqual([
      `${at}[0].port: Invalid value: 0: must be between 1 and 65535, inclusive`,
      `${at}[1].endPort: Invalid value: 80: must be greater than or equal to \`port\``,
      `${at}[2].endPort: Invalid value: 1: may not be specified when \`port\` is non-numeric`,
      `${at}[3].protocol: Unsupported value: "X": supported values: "TCP", "UDP", "SCTP"`,
      `${at}[3].endPort: Invalid value: 1: may not be specified when \`port\` is not specified`,
    ]);
  });

  test("rejects a peer without a selector, or with both an ipBlock and a selector", () => {
    const to = [{}, { podSelector: {}, ipBlock: { cidr: "10.0.0.0/8" } }, { podSelector: {}, namespaceSelector: {} }];
    expect(createErrorsOf(NETWORK_POLICY, policy({ egress: [{ to }] }))).toEqual([
      "spec.egress[0].to[0]: Required value: must specify a peer",
      "spec.egress[0].to[1]: Forbidden: may not specify both ipBlock and another peer",
    ]);
  });

  test("validates the exceptions of a CIDR", () => {
    const except = ["10.1.0.0/16", "10.0.0.0/8", "11.0.0.0/16", "fd00::/64", "x"];
    const from = [{ ipBlock: { cidr: "10.0.0.0/8", except } }, { ipBlock: {} }];
    const at = "spec.ingress[0].from[0].ipBlock.except";
    const why = "must be a strict subset of `cidr`";
    expect(createErrorsOf(NETWORK_POLICY, policy({ ingress: [{ from }] }))).toEqual([
      `${at}[1]: Invalid value: "10.0.0.0/8": ${why}`,
      `${at}[2]: Invalid value: "11.0.0.0/16": ${why}`,
      `${at}[3]: Invalid value: "fd00::/64": ${why}`,
      `${at}[4]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)`,
      "spec.ingress[0].from[1].ipBlock.cidr: Required value",
    ]);
  });

  test("keeps stored non-standard CIDRs, and warns about them", () => {
    const odd = policy({ ingress: [{ from: [{ ipBlock: { cidr: "10.0.0.1/8" } }] }] });
    expect(updateErrorsOf(NETWORK_POLICY, odd, odd)).toEqual([]);
    expect(warningsOf(NETWORK_POLICY, odd)).toEqual([
      'spec.ingress[0].from[0].ipBlock.cidr: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)',
    ]);
  });

  test("has at most two policy types", () => {
    expect(createErrorsOf(NETWORK_POLICY, policy({ policyTypes: ["X"] }))).toEqual([
      'spec.policyTypes[0]: Unsupported value: "X": supported values: "Ingress", "Egress"',
    ]);
    expect(createErrorsOf(NETWORK_POLICY, policy({ policyTypes: ["X", "Y", "Z"] }))).toEqual([
      'spec.policyTypes: Invalid value: ["X","Y","Z"]: may not specify more than two policyTypes',
    ]);
  });
});
