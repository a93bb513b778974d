/** Finds an address at which other machines reach this one. */
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/**
 * Returns the bind address if other machines can reach it; for an unspecified bind address, the first external IPv4
 * address of this machine. Undefined if other machines cannot reach the server.
 */
export function reachableAddress(
  bindAddress: string,
  interfaces: typeof networkInterfaces = networkInterfaces,
): string | undefined {
  if (isLoopback(bindAddress)) return undefined;
  if (!isUnspecified(bindAddress)) return bindAddress;
  const addresses = Object.values(interfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

export function isUnspecified(address: string): boolean {
  return isIPv6(address) ? /^[0:]+$/.test(address) : address === "0.0.0.0";
}
