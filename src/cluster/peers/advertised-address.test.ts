import { describe, expect, test } from "vitest";
import { advertisedPeerAddress } from "./advertised-address.ts";

const LISTENING = { bindAddress: "192.0.2.1", port: 6443 };

describe("the advertised address", () => {
  test.each([
    [{ peerAdvertiseIp: "192.0.2.9", peerAdvertisePort: "7443", advertiseAddress: "192.0.2.5" }, "192.0.2.9", 7443],
    [{ peerAdvertiseIp: "2001:db8::1", peerAdvertisePort: "7443" }, "2001:db8::1", 7443],
    [{ advertiseAddress: "192.0.2.5" }, "192.0.2.5", 6443],
    [{ peerAdvertiseIp: "", peerAdvertisePort: "", advertiseAddress: "" }, "192.0.2.1", 6443],
    [{}, "192.0.2.1", 6443],
  ])("for %o is %s, port %i", (flags, host, port) => {
    expect(advertisedPeerAddress({ ...LISTENING, ...flags })).toEqual({ host, port });
  });

  test.each([
    [{ peerAdvertiseIp: "192.0.2.9" }, "--peer-advertise-ip requires --peer-advertise-port: set both or neither"],
    [{ peerAdvertisePort: "1" }, "--peer-advertise-port requires --peer-advertise-ip: set both or neither"],
    [
      { peerAdvertiseIp: "host", peerAdvertisePort: "1" },
      '--peer-advertise-ip must be an IP address that peers can reach, not "host"',
    ],
    [
      { peerAdvertiseIp: "0.0.0.0", peerAdvertisePort: "1" },
      '--peer-advertise-ip must be an IP address that peers can reach, not "0.0.0.0"',
    ],
    ...["0", "65536", "https", "-1", "1.5", " 1"].map((port): [object, string] => [
      { peerAdvertiseIp: "192.0.2.9", peerAdvertisePort: port },
      `--peer-advertise-port must be a number from 1 to 65535, not "${port}"`,
    ]),
    [
      { bindAddress: "::" },
      'peers cannot reach --bind-address "::": set --peer-advertise-ip and --peer-advertise-port, or --advertise-address',
    ],
    [
      { advertiseAddress: "fe80::1%eth0" },
      'peers cannot reach --advertise-address "fe80::1%eth0": set --peer-advertise-ip and --peer-advertise-port, or --advertise-address',
    ],
  ])("is rejected for %o with a message that names the flag", (flags, sentence) => {
    expect(() => advertisedPeerAddress({ ...LISTENING, ...flags })).toThrow(new Error(sentence));
  });
});
