import { expect, test } from "vitest";
import { etcdServersInClear } from "./serve-config.ts";

test("etcd servers with http:// are reported if a certificate flag of etcd is set", () => {
  const etcdServers = ["http://a:2379", "https://b:2379"];
  expect(etcdServersInClear({ etcdServers, etcdCafile: "ca.crt" })).toEqual(["http://a:2379"]);
  expect(etcdServersInClear({ etcdServers, etcdCertfile: "client.crt" })).toEqual(["http://a:2379"]);
  expect(etcdServersInClear({ etcdServers })).toEqual([]);
  expect(etcdServersInClear({ etcdServers: ["https://b:2379"], etcdCafile: "ca.crt" })).toEqual([]);
});
