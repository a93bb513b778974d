import { expect, test } from "vitest";
import { sourceIps } from "./source-ips.ts";

test.each<[forwarded: string | undefined, real: string | undefined, remote: string, ips: readonly string[]]>([
  [undefined, undefined, "127.0.0.1", ["127.0.0.1"]],
  ["1.2.3.4, bogus, 10.0.0.9", "5.6.7.8", "127.0.0.1", ["1.2.3.4", "10.0.0.9", "5.6.7.8", "127.0.0.1"]],
  ["1.2.3.4", "1.2.3.4", "1.2.3.4", ["1.2.3.4"]],
  ["1.2.3.4,127.0.0.1", undefined, "::ffff:127.0.0.1", ["1.2.3.4", "127.0.0.1"]],
  ["010.01.0.000", undefined, "2001:DB8:0::1", ["10.1.0.0", "2001:db8::1"]],
  ["", "nothing", "", []],
])(
  "a request with X-Forwarded-For %j and X-Real-Ip %j from the address %j has the source IPs %j",
  (forwarded, real, remoteAddress, ips) => {
    const headers = { "x-forwarded-for": forwarded, "x-real-ip": real };
    expect(sourceIps({ headers, connection: { protocol: "h2", remoteAddress, clientChain: [] } })).toEqual(ips);
  },
);
