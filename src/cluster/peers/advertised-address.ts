/** Determines the address at which peers reach this server, from flags or the listening address. */
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { isPort, isReachableIp } from "./endpoint-record.ts";

interface AdvertisedAddressFlags {
  /** Both peer flags must be set, or neither; an empty text means not set. */
  readonly peerAdvertiseIp?: string | undefined;
  readonly peerAdvertisePort?: string | undefined;
  readonly advertiseAddress?: string | undefined;
  readonly bindAddress: string;
  /** The port on which the server listens. */
  readonly port: number;
}

/**
 * The address at which peers reach this server: that of --peer-advertise-ip and --peer-advertise-port, otherwise
 * --advertise-address or the bind address with the port on which the server listens. Throws an Error whose message
 * names the invalid flag.
 *
 * DIFFERS: a peer flag without the other, or with an invalid value, is an error at startup. kube-apiserver ignores a
 * single peer flag, and notices invalid values only when it writes the endpoint record.
 */
export function advertisedPeerAddress(flags: AdvertisedAddressFlags): UpstreamAddress {
  const { peerAdvertiseIp: ip = "", peerAdvertisePort: port = "", advertiseAddress = "", bindAddress } = flags;
  if ((ip === "") !== (port === "")) {
    const [given, missing] = ip === "" ? ["port", "ip"] : ["ip", "port"];
    throw new Error(`--peer-advertise-${given} requires --peer-advertise-${missing}: set both or neither`);
  }
  if (ip !== "") {
    if (!isReachableIp(ip))
      throw new Error(`--peer-advertise-ip must be an IP address that peers can reach, not ${quote(ip)}`);
    if (!/^[1-9]\d{0,4}$/.test(port) || !isPort(Number(port)))
      throw new Error(`--peer-advertise-port must be a number from 1 to 65535, not ${quote(port)}`);
    return { host: ip, port: Number(port) };
  }
  const host = advertiseAddress === "" ? bindAddress : advertiseAddress;
  if (!isReachableIp(host)) {
    const flag = advertiseAddress === "" ? "--bind-address" : "--advertise-address";
    const advice = "set --peer-advertise-ip and --peer-advertise-port, or --advertise-address";
    throw new Error(`peers cannot reach ${flag} ${quote(host)}: ${advice}`);
  }
  return { host, port: flags.port };
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/**
 * The address of a server that is listening: `advertise` if set, otherwise `address` or the listening host, with the
 * listening port. Undefined if peers cannot connect to that host.
 */
export function peerAddressOf(
  { advertise, address }: { readonly advertise: UpstreamAddress | undefined; readonly address: string | undefined },
  listening: string,
): UpstreamAddress | undefined {
  if (advertise !== undefined) return advertise;
  const colon = listening.lastIndexOf(":");
  const host = address ?? listening.slice(0, colon);
  return isReachableIp(host) ? { host, port: Number(listening.slice(colon + 1)) } : undefined;
}
