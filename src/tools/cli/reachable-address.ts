/** Finds an address at which other machines reach this one. */
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/**
 * Returns the bind address if other machines can reach it, else the first external IPv4 address of this machine.
 * Undefined if there is none; the server publishes no endpoint of the kubernetes Service in this case.
 */
export function reachableAddress(
  bindAddress: string,
  interfaces: typeof networkInterfaces = networkInterfaces,
): string | undefined {
  if (!isLoopback(bindAddress) && !isUnspecified(bindAddress)) return bindAddress;
  const addresses = Object.values(interfaces()).flatMap((list) => list ?? []);
  return addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address;
}

function isLoopback(address: string): boolean {
  return address.startsWith("127.") || address === "::1";
}

function isUnspecified(address: string): boolean {
  return isIPv6(address) ? /^[0:]+$/.test(address) : address === "0.0.0.0";
}
