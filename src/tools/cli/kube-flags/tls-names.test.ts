import { createSecureContext } from "node:tls";
import { expect, test } from "vitest";
import { cipherSuites, curves, opensslCiphers, opensslCurves, tlsVersion } from "./tls-names.ts";

/** The names in the help of kube-apiserver, without RC4 and 3DES. */
const SUITES: readonly string[] = [
  ...["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"],
  ...["RSA", "ECDSA"].flatMap((key) =>
    ["AES_128_CBC_SHA", "AES_128_CBC_SHA256", "AES_128_GCM_SHA256", "AES_256_CBC_SHA", "AES_256_GCM_SHA384"]
      .concat("CHACHA20_POLY1305", "CHACHA20_POLY1305_SHA256")
      .map((cipher) => `TLS_ECDHE_${key}_WITH_${cipher}`),
  ),
  ...["AES_128_CBC_SHA", "AES_128_CBC_SHA256", "AES_128_GCM_SHA256", "AES_256_CBC_SHA", "AES_256_GCM_SHA384"].map(
    (cipher) => `TLS_RSA_WITH_${cipher}`,
  ),
];

test.each(SUITES)("the cipher suite %s is one of OpenSSL", (name) => {
  const ciphers = opensslCiphers(cipherSuites(name, undefined));
  expect(() => createSecureContext({ ciphers })).not.toThrow();
  expect(ciphers.split(":")).toHaveLength(name.includes("_WITH_") ? 4 : 3);
});

test.each(["TLS_RSA_WITH_RC4_128_SHA", "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA", "AES128-SHA"])(
  "the cipher suite %s is rejected",
  (name) => {
    expect(() => cipherSuites(`TLS_AES_128_GCM_SHA256,${name}`, undefined)).toThrow(
      `Cipher suite ${name} not supported or doesn't exist`,
    );
  },
);

test("every supported curve is one of OpenSSL, and others are rejected", () => {
  const all = ["23", "24", "25", "29", "4587", "4588", "4589"];
  const names = opensslCurves(curves(all.join(","), undefined));
  expect(names.split(":")).toHaveLength(all.length);
  expect(() => createSecureContext({ ecdhCurve: names })).not.toThrow();
  expect(() => curves("29,22", undefined)).toThrow("Curve 22 is not supported");
});

test("the minimum TLS version is at least 1.2", () => {
  expect(["VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13", ""].map(tlsVersion)).toEqual([
    ...["TLSv1.2", "TLSv1.2", "TLSv1.2", "TLSv1.3", "TLSv1.2"],
  ]);
  expect(() => tlsVersion("TLSv1.3")).toThrow('"TLSv1.3" is not one of the TLS versions VersionTLS10');
});
