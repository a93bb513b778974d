import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { prepared, createErrorsOf, updateErrorsOf } from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { IP_ADDRESS, SERVICE_CIDR } from "./service-ranges.ts";

describe("an IPAddress", () => {
  const owned = (parentRef: JsonObject): JsonObject => ({ spec: { parentRef } });

  test("needs a valid parentRef", () => {
    expect(createErrorsOf(IP_ADDRESS, {})).toEqual(["spec.parentRef: Required value"]);
    expect(createErrorsOf(IP_ADDRESS, owned({ resource: "services", name: "a", namespace: "n" }))).toEqual([]);
    expect(createErrorsOf(IP_ADDRESS, owned({ group: "A", name: "a/b", namespace: "%" }))).toEqual([
      expect.stringContaining('spec.parentRef.group: Invalid value: "A": a lowercase RFC 1123 subdomain'),
      "spec.parentRef.resource: Required value",
      "spec.parentRef.name: Invalid value: \"a/b\": may not contain '/'",
      "spec.parentRef.namespace: Invalid value: \"%\": may not contain '%'",
    ]);
  });

  test("cannot change its parentRef", () => {
    expect(
      updateErrorsOf(IP_ADDRESS, owned({ resource: "s", name: "a" }), owned({ resource: "s", name: "b" })),
    ).toEqual([
      'spec.parentRef: Invalid value: {"Group":"","Resource":"s","Namespace":"","Name":"b"}: field is immutable',
    ]);
  });
});

describe("a ServiceCIDR", () => {
  const range = (...cidrs: string[]): JsonObject => ({ spec: { cidrs } });

  test("is stored without a status on create", () => {
    expect(prepared(SERVICE_CIDR, { ...range("10.0.0.0/8"), status: { conditions: [] } })).toEqual({
      ...range("10.0.0.0/8"),
      status: {},
    });
  });

  test.each<[string[], string[]]>([
    [[], ["spec.cidrs: Required value: at least one CIDR required"]],
    [["10.0.0.0/8", "fd00::/64"], []],
    [["a", "b", "c"], ['spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values']],
    [
      ["10.0.0.0/8", "11.0.0.0/8"],
      [
        'spec.cidrs: Invalid value: ["10.0.0.0/8","11.0.0.0/8"]: may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64',
      ],
    ],
    [["FD00::/64"], ['spec.cidrs[0]: Invalid value: "FD00::/64": must be in canonical form ("fd00::/64")']],
  ])("with the CIDRs %j has the expected errors", (cidrs, expected) => {
    expect(createErrorsOf(SERVICE_CIDR, range(...cidrs))).toEqual(expected);
  });

  test("cannot change its CIDR, but can add a CIDR of the other IP family", () => {
    const before = range("10.0.0.0/8");
    expect(updateErrorsOf(SERVICE_CIDR, before, range("10.0.0.0/8", "fd00::/64"))).toEqual([]);
    expect(updateErrorsOf(SERVICE_CIDR, before, range("11.0.0.0/8"))).toEqual([
      'spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable',
    ]);
    expect(updateErrorsOf(SERVICE_CIDR, before, range("11.0.0.0/8", "fd00::/64"))).toEqual([
      'spec.cidrs[0]: Invalid value: "11.0.0.0/8": field is immutable',
    ]);
    expect(updateErrorsOf(SERVICE_CIDR, before, range())).toEqual([
      "spec.cidrs: Invalid value: null: field is immutable",
    ]);
  });
});
