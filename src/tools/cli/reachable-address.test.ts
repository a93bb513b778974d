import type { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { reachableAddress } from "./reachable-address.ts";

function machineWith(...addresses: string[]): typeof networkInterfaces {
  const loopback = { address: "127.0.0.1", family: "IPv4" as const, internal: true };
  const all = [
    loopback,
    ...addresses.map((address) => ({
      address,
      family: address.includes(":") ? ("IPv6" as const) : ("IPv4" as const),
      internal: false,
    })),
  ];
  return () =>
    ({
      all: all.map((one) => ({
        ...one,
        netmask: "",
        mac: "",
        cidr: null,
        ...(one.family === "IPv6" ? { scopeid: 0 } : {}),
      })),
    }) as ReturnType<typeof networkInterfaces>;
}

test("the bind address is used if other machines can reach it", () => {
  expect(reachableAddress("192.0.2.10", machineWith("192.0.2.99"))).toBe("192.0.2.10");
  expect(reachableAddress("fd00::1", machineWith())).toBe("fd00::1");
});

test.each(["0.0.0.0", "::"])(
  "a server that listens on %s is reachable at the first external IPv4 address of its machine",
  (bindAddress) => {
    expect(reachableAddress(bindAddress, machineWith("fd00::9", "192.0.2.99", "192.0.2.100"))).toBe("192.0.2.99");
  },
);

test.each(["127.0.0.1", "127.1.2.3", "::1"])("a server that listens on %s has no reachable address", (bindAddress) => {
  expect(reachableAddress(bindAddress, machineWith("192.0.2.99"))).toBeUndefined();
});

test("a server on a machine without an external address has no reachable address", () => {
  expect(reachableAddress("0.0.0.0", machineWith())).toBeUndefined();
});
