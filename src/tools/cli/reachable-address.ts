/** An address of this machine that other machines may know it by. */
import { isIPv6 } from "node:net";
import { networkInterfaces } from "node:os";

/**
 * The address listened on, if it means this machine to others; or else the first of the machine that does.
 * Undefined when it has none: nothing may stand behind a Service then.
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
