import { describe, expect, test } from "vitest";
import { canonicalIp, familyOf } from "../../meta/ip-address.ts";
import { parseIpRange } from "./ip-range.ts";
import { parsePortRange } from "./port-range.ts";

describe("a range of addresses", () => {
  test("excludes the network address and the last address of an IPv4 network", () => {
    const range = parseIpRange("10.0.0.77/24");
    expect([range.text, range.size, range.nameAt(0), range.nameAt(range.size - 1)]).toEqual([
      "10.0.0.0/24",
      254,
      "10.0.0.1",
      "10.0.0.254",
    ]);
    expect([range.indexOf("10.0.0.1"), range.indexOf("10.0.0.254")]).toEqual([0, 253]);
    for (const other of ["10.0.0.0", "10.0.0.255", "10.0.1.1", "::1", "web", ""])
      expect(range.indexOf(other)).toBeUndefined();
  });

  test("reserves its lower part for explicit requests, unless it is small", () => {
    expect([
      parseIpRange("10.0.0.0/24").unaskedFrom,
      parseIpRange("10.0.0.0/16").unaskedFrom,
      parseIpRange("10.0.0.0/28").unaskedFrom,
    ]).toEqual([16, 256, 0]);
    expect(["fd00::/124", "fd00::/120", "fd00::/64"].map((text) => parseIpRange(text).unaskedFrom)).toEqual([
      0, 16, 256,
    ]);
    expect([parsePortRange("30000-32767").unaskedFrom, parsePortRange("30000-30010").unaskedFrom]).toEqual([86, 0]);
  });

  test("may be IPv6; of a large subnet only the first 2^52 addresses are used", () => {
    const range = parseIpRange("fd00:10::/64");
    expect([range.family, range.nameAt(0), range.nameAt(0xffff), range.size]).toEqual([
      "IPv6",
      "fd00:10::1",
      "fd00:10::1:0",
      2 ** 52,
    ]);
    expect(range.indexOf("FD00:0010:0::0:1")).toBe(0);
  });

  test.each([
    "10.0.0.0",
    "10.0.0.0/33",
    "10.0.0.0/31",
    "10.0.0/24",
    "10.0.0.0/24/1",
    "fd00::/129",
    "fd00::1::/64",
    "010.0.0.0/24",
    "",
    "10.0.0.0/24,fd00::/64",
  ])("cannot be parsed from %j", (text) => {
    expect(() => parseIpRange(text)).toThrow(/service cluster IP range/);
  });

  test("has one canonical spelling for each address", () => {
    expect([
      canonicalIp("FD00:0:0:0:1:0:0:1"),
      canonicalIp("::ffff:10.0.0.1"),
      canonicalIp("1:0:0:2::"),
      canonicalIp("10.0.0.1"),
    ]).toEqual(["fd00::1:0:0:1", "::ffff:a00:1", "1:0:0:2::", "10.0.0.1"]);
    expect([familyOf("::"), familyOf("1.2.3.4"), familyOf("1.2.3.256"), familyOf("1:2:3:4:5:6:7")]).toEqual([
      "IPv6",
      "IPv4",
      undefined,
      undefined,
    ]);
  });
});

describe("a range of ports", () => {
  test("includes its first and its last port", () => {
    const range = parsePortRange("30000-32767");
    expect([
      range.size,
      range.nameAt(0),
      range.indexOf("32767"),
      range.indexOf("32768"),
      range.indexOf("29999"),
    ]).toEqual([2768, "30000", 2767, undefined, undefined]);
    expect(parsePortRange("30000+10").text).toBe("30000-30009");
  });

  test.each(["30000", "30000-", "30001-30000", "0-10", "1-65536", "a-b", ""])("cannot be parsed from %j", (text) => {
    expect(() => parsePortRange(text)).toThrow(/service node port range/);
  });
});
