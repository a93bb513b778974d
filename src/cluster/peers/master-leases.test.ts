import { describe, expect, test } from "vitest";
import { encodeMasterLease, masterLeaseKey, masterLeaseKind } from "./master-leases.ts";

const { idOf, decode } = masterLeaseKind("/registry/");

function endpoints(subsets: unknown): unknown {
  return { kind: "Endpoints", apiVersion: "v1", metadata: { generation: 3 }, subsets };
}

describe("a masterlease", () => {
  test.each(["192.0.2.1", "2001:db8::1"])("of %s is stored under its IP address and decodes to it", (ip) => {
    const key = masterLeaseKey("/registry/", ip);
    expect(key).toBe(`/registry/masterleases/${ip}`);
    expect(idOf(key)).toBe(ip);
    expect(decode(ip, encodeMasterLease({ ip, generation: 7 }))).toEqual({ ip, generation: 7 });
  });

  test.each<[string, unknown]>([
    ["is not an object", null],
    ["is of another kind", { kind: "Pod", subsets: [{ addresses: [{ ip: "192.0.2.1" }] }] }],
    ["has no address", endpoints([])],
    ["has the address of another key", endpoints([{ addresses: [{ ip: "192.0.2.2" }] }])],
  ])("that %s is invalid", (_name, stored) => {
    expect(decode("192.0.2.1", stored)).toBeUndefined();
  });

  test("with an address to which no client can connect is invalid", () => {
    expect(decode("0.0.0.0", endpoints([{ addresses: [{ ip: "0.0.0.0" }] }]))).toBeUndefined();
  });

  test.each(["masterleases/", "masterleases/host", "masterleases/192.0.2.1/more", "pods/192.0.2.1"])(
    "is not stored under %s",
    (rest) => {
      expect(idOf(`/registry/${rest}`)).toBeUndefined();
    },
  );
});
