import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { isPort, isReachableIp } from "./endpoint-record.ts";

interface AdvertisedAddressFlags {
  /** Both or neither; empty means not given. */
  readonly peerAdvertiseIp?: string | undefined;
  readonly peerAdvertisePort?: string | undefined;
  readonly advertiseAddress?: string | undefined;
  readonly bindAddress: string;
  /** On which the server listens. */
  readonly port: number;
}

/**
 * Where peers reach this server: what was said for peers, else what was said for everybody, else where it listens.
 * Throws an Error that says in a sentence which flag is wrong.
 *
 * DIFFERS: kube-apiserver ignores one of the peer flags without the other, and notices bad ones only when it writes them.
 */
export function advertisedPeerAddress(flags: AdvertisedAddressFlags): UpstreamAddress {
  const { peerAdvertiseIp: ip = "", peerAdvertisePort: port = "", advertiseAddress = "", bindAddress } = flags;
  if ((ip === "") !== (port === "")) {
    const [given, missing] = ip === "" ? ["port", "ip"] : ["ip", "port"];
    throw new Error(`--peer-advertise-${given} is of no use without --peer-advertise-${missing}: give both or neither`);
  }
  if (ip !== "") {
    if (!isReachableIp(ip))
      throw new Error(`--peer-advertise-ip must be an IP address peers can reach, not ${quote(ip)}`);
    if (!/^[1-9]\d{0,4}$/.test(port) || !isPort(Number(port)))
      throw new Error(`--peer-advertise-port must be a number from 1 to 65535, not ${quote(port)}`);
    return { host: ip, port: Number(port) };
  }
  const host = advertiseAddress === "" ? bindAddress : advertiseAddress;
  if (!isReachableIp(host)) {
    const flag = advertiseAddress === "" ? "--bind-address" : "--advertise-address";
    const advice = "give --peer-advertise-ip and --peer-advertise-port, or --advertise-address";
    throw new Error(`peers cannot reach ${flag} ${quote(host)}: ${advice}`);
  }
  return { host, port: flags.port };
}

function quote(text: string): string {
  return JSON.stringify(text.slice(0, 100));
}

/** The address of a server that listens: the peer flags, else the flag for all clients, else where it listens. Undefined when peers cannot connect there. */
export function peerAddressOf(
  { advertise, address }: { readonly advertise: UpstreamAddress | undefined; readonly address: string | undefined },
  listening: string,
): UpstreamAddress | undefined {
  if (advertise !== undefined) return advertise;
  const colon = listening.lastIndexOf(":");
  const host = address ?? listening.slice(0, colon);
  return isReachableIp(host) ? { host, port: Number(listening.slice(colon + 1)) } : undefined;
}
