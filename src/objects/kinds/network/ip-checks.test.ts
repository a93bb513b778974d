import { describe, expect, test } from "vitest";
import { CONTEXT } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import {
  canonicalCidrErrors,
  canonicalIpSentences,
  cidrWarnings,
  endpointIpErrors,
  ipWarnings,
  legacyCidrErrors,
  legacyIpErrors,
} from "./ip-checks.ts";
import { gatesOf } from "../../catalog/release-gates.ts";

const OLD = { ...CONTEXT, gates: gatesOf("1.35") };
const messages = (errors: Iterable<{ message: string }>): string[] => [...errors].map(({ message }) => message);

describe("an IP address in a legacy field", () => {
  test.each([
    ["10.0.0.1", []],
    ["FE80:0:0:0:0:0:0:0abc", []],
    ["x", ['Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
    ["010.0.0.1", ['Invalid value: "010.0.0.1": must not have leading 0s']],
    ["::ffff:1.2.3.4", ['Invalid value: "::ffff:1.2.3.4": must not be an IPv4-mapped IPv6 address']],
  ])("%s", (value, expected) => {
    expect(messages(legacyIpErrors(value, { field: "ip" }, CONTEXT))).toEqual(expected);
  });

  test("may be non-standard before 1.36, and may be invalid if it is already stored", () => {
    expect(messages(legacyIpErrors("010.0.0.1", { field: "ip" }, OLD))).toEqual([]);
    expect(messages(legacyIpErrors("x", { field: "ip" }, OLD))).toHaveLength(1);
    expect(messages(legacyIpErrors("x", { field: "ip", existing: new Set(["x"]) }, CONTEXT))).toEqual([]);
  });

  test("causes a warning if it is non-standard", () => {
    expect([...ipWarnings("010.0.0.1", "spec.ip")]).toEqual([
      'spec.ip: non-standard IP address "010.0.0.1" is invalid: use "10.0.0.1"',
    ]);
    expect([...ipWarnings("2001:DB8::1", "spec.ip")]).toEqual([
      'spec.ip: IPv6 address "2001:DB8::1" should be in RFC 5952 canonical format ("2001:db8::1")',
    ]);
    expect([...ipWarnings("10.0.0.1", "spec.ip"), ...ipWarnings("x", "spec.ip")]).toEqual([]);
  });
});

test("an IP address in a newer field must be in canonical form", () => {
  expect(canonicalIpSentences("2001:DB8::1")).toEqual(['must be in canonical form ("2001:db8::1")']);
  expect(canonicalIpSentences("2001:db8::1")).toEqual([]);
  expect(canonicalIpSentences("1.2.3")).toEqual(["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]);
});

describe("a CIDR", () => {
  test.each([
    ["10.0.0.0/8", []],
    ["10.0.0.0", ['Invalid value: "10.0.0.0": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']],
    ["010.0.0.0/8", ['Invalid value: "010.0.0.0/8": must not have leading 0s in IP or prefix length']],
    ["::ffff:1.2.3.0/120", ['Invalid value: "::ffff:1.2.3.0/120": must not have an IPv4-mapped IPv6 address']],
    ["10.0.0.1/8", ['Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length']],
  ])("%s", (value, expected) => {
    expect(messages(legacyCidrErrors(value, { field: "cidr" }, CONTEXT))).toEqual(expected);
  });

  test("in a newer field must be in canonical form", () => {
    expect(messages(canonicalCidrErrors("2001:DB8::/32", "cidr"))).toEqual([
      'Invalid value: "2001:DB8::/32": must be in canonical form ("2001:db8::/32")',
    ]);
    expect(messages(canonicalCidrErrors("2001:db8::/32", "cidr"))).toEqual([]);
  });

  test("causes a warning if it is non-standard", () => {
    expect([...cidrWarnings("10.1.2.3/8", "c")]).toEqual([
      'c: CIDR value "10.1.2.3/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.1.2.3/32"?)',
    ]);
    expect([...cidrWarnings("10.0.0.0/08", "c")]).toEqual([
      'c: non-standard CIDR value "10.0.0.0/08" is invalid: use "10.0.0.0/8"',
    ]);
    expect([...cidrWarnings("2001:DB8::/32", "c")]).toEqual([
      'c: IPv6 CIDR value "2001:DB8::/32" should be in RFC 5952 canonical format ("2001:db8::/32")',
    ]);
    expect([...cidrWarnings("10.0.0.0/8", "c")]).toEqual([]);
  });
});

test.each([
  ["0.0.0.0", "may not be unspecified (0.0.0.0)"],
  ["::", "may not be unspecified (::)"],
  ["127.1.2.3", "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  ["::1", "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
  ["169.254.1.1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
  ["fe80::1", "may not be in the link-local range (169.254.0.0/16, fe80::/10)"],
  ["224.0.0.9", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
  ["ff02::1", "may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)"],
])("the endpoint address %s is rejected: %s", (ip, why) => {
  expect(messages(endpointIpErrors(ip, "ip"))).toEqual([`Invalid value: ${JSON.stringify(ip)}: ${why}`]);
});

test("ordinary endpoint addresses are accepted", () => {
  for (const ip of ["10.0.0.1", "2001:db8::1", "239.0.0.1"]) expect(messages(endpointIpErrors(ip, "ip"))).toEqual([]);
});
