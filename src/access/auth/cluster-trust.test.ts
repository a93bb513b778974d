import { expect, test } from "vitest";
import { clusterTrust, type TrustParts } from "./cluster-trust.ts";
import { requestHeaderOptions } from "./request-header-options.ts";
import { issueCa, NOW } from "../../../test/testing/access/auth/certificates.ts";

const [users, otherUsers, proxies] = [issueCa("users"), issueCa("other users"), issueCa("proxies")];
const YEARS_MS = 100 * 365 * 86_400_000;
const requestHeader = requestHeaderOptions({ clientCa: proxies.pem, allowedNames: ["front"] });
const parts: TrustParts = { clientCa: users.pem, frontProxyCa: proxies.pem, requestHeader };

test("the cluster trust of a server without a CA is undefined", () => {
  expect(
    clusterTrust({}, { clientCa: undefined, frontProxyCa: undefined, requestHeader: undefined }, NOW),
  ).toBeUndefined();
});

test("the cluster trust contains the CAs and the headers of front proxies", () => {
  expect(clusterTrust({}, parts, NOW)).toEqual({
    "client-ca-file": users.pem,
    "requestheader-allowed-names": '["front"]',
    "requestheader-client-ca-file": proxies.pem,
    "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    "requestheader-group-headers": '["X-Remote-Group"]',
    "requestheader-uid-headers": '["X-Remote-Uid"]',
    "requestheader-username-headers": '["X-Remote-User"]',
  });
});

test("the cluster trust keeps the CAs of other servers until they expire, without duplicates", () => {
  const before = { "client-ca-file": otherUsers.pem, "requestheader-allowed-names": '["back","front"]' };
  const after = clusterTrust(before, parts, NOW)!;
  expect(after["client-ca-file"]).toBe(otherUsers.pem + users.pem);
  expect(after["requestheader-allowed-names"]).toBe('["back","front"]');
  expect(clusterTrust(after, parts, NOW)).toEqual(after);
  expect(clusterTrust(before, { ...parts, clientCa: undefined }, NOW + YEARS_MS)?.["client-ca-file"]).toBeUndefined();
});

test("the cluster trust overwrites data that is not valid", () => {
  const broken = {
    "client-ca-file": "nonsense",
    "requestheader-allowed-names": "{",
    "requestheader-uid-headers": "[1]",
  };
  expect(clusterTrust(broken, parts, NOW)).toEqual(clusterTrust({}, parts, NOW));
});
