import { describe, expect, test } from "vitest";
import { formatAddress, formatCidr, parseLooseAddress, parseLooseCidr } from "./ip-address.ts";

describe("a loosely written address", () => {
  test.each([
    ["10.0.0.1", "10.0.0.1", false, false],
    ["010.000.0.1", "10.0.0.1", true, false],
    ["2001:DB8::00001", "2001:db8::1", true, false],
    ["2001:db8:0:0::1", "2001:db8::1", false, false],
    ["::ffff:1.2.3.4", "1.2.3.4", false, true],
    ["::ffff:01.2.3.4", "1.2.3.4", true, true],
    ["::", "::", false, false],
  ])("%s is parsed as %s", (text, canonical, hasLeadingZeros, isMapped) => {
    const parsed = parseLooseAddress(text)!;
    expect([formatAddress(parsed.address), parsed.hasLeadingZeros, parsed.isMapped]).toEqual([
      canonical,
      hasLeadingZeros,
      isMapped,
    ]);
  });

  test.each(["", "x", "1.2.3", "1.2.3.256", "1.2.3.4.5", ":::", "1::2::3", "fe80::1%eth0", "0".repeat(1000)])(
    "%s is not an address",
    (text) => {
      expect(parseLooseAddress(text)).toBeUndefined();
    },
  );
});

describe("a loosely written network", () => {
  test.each([
    ["10.1.2.3/8", "10.0.0.0/8", false],
    ["10.1.2.0/024", "10.1.2.0/24", true],
    ["010.0.0.0/8", "10.0.0.0/8", true],
    ["2001:DB8:0::/32", "2001:db8::/32", false],
    ["::ffff:1.2.3.4/120", "1.2.3.0/24", false],
    ["0.0.0.0/0", "0.0.0.0/0", false],
  ])("%s is parsed as %s", (text, canonical, hasLeadingZeros) => {
    const parsed = parseLooseCidr(text)!;
    expect([formatCidr(parsed), parsed.hasLeadingZeros]).toEqual([canonical, hasLeadingZeros]);
  });

  test.each(["", "10.0.0.0", "10.0.0.0/", "10.0.0.0/33", "10.0.0.0/-1", "::/129", "x/8", "10.0.0.0/8/8"])(
    "%s is not a network",
    (text) => {
      expect(parseLooseCidr(text)).toBeUndefined();
    },
  );
});
