import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  existingKeyPair,
  listenOptionsOf,
  withSecureServingFlags,
  type SecureServingFlags,
} from "./secure-serving-flags.ts";

function parsed(...args: readonly string[]): SecureServingFlags {
  const command = withSecureServingFlags(new Command().exitOverride().configureOutput({ writeErr: () => undefined }));
  return command.parse(args, { from: "user" }).opts<SecureServingFlags>();
}

test("without flags, the listener keeps its defaults", () => {
  expect(listenOptionsOf(parsed())).toEqual({
    tlsSettings: {},
    isHttp2Disabled: false,
    isPortShared: false,
    limits: {},
  });
});

test("the flags of TLS and HTTP/2 become options of the listener", () => {
  const flags = parsed(
    ...["--tls-min-version=VersionTLS13", "--tls-curve-preferences=29,23", "--disable-http2-serving"],
    ...["--tls-cipher-suites=TLS_RSA_WITH_AES_128_CBC_SHA", "--http2-max-streams-per-connection=7"],
    "--permit-port-sharing=true",
  );
  expect(listenOptionsOf(flags)).toEqual({
    tlsSettings: { minVersion: "TLSv1.3", ciphers: expect.stringMatching(/:AES128-SHA$/), curves: "X25519:P-256" },
    isHttp2Disabled: true,
    isPortShared: true,
    limits: { streamsMax: 7 },
  });
});

test("--tls-sni-cert-key is repeatable, and may end with names", () => {
  const { tlsSniCertKey } = parsed("--tls-sni-cert-key", "a.crt,a.key", "--tls-sni-cert-key=b.crt, b.key:*.b, c");
  expect(tlsSniCertKey).toEqual([
    { certFile: "a.crt", keyFile: "a.key", names: [] },
    { certFile: "b.crt", keyFile: "b.key", names: ["*.b", "c"] },
  ]);
});

test.each([
  ["a.crt", "expected comma separated certificate and key file paths"],
  ["a.crt,", "expected comma separated certificate and key file paths"],
  ["a.crt,a.key,b", "expected comma separated certificate and key file paths"],
  ["a.crt,a.key:", "an empty name is not allowed"],
])("--tls-sni-cert-key=%s is rejected", (text, message) => {
  expect(() => parsed(`--tls-sni-cert-key=${text}`)).toThrow(message);
});

describe("the serving certificate in --cert-dir", () => {
  let directory: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "cert-dir-"));
  });
  afterEach(() => rmSync(directory, { recursive: true, force: true }));
  const existing = (...flags: readonly string[]): unknown => existingKeyPair(parsed("--cert-dir", directory, ...flags));
  const [cert, key] = ["apiserver.crt", "apiserver.key"] as const;

  test("is used if both files exist", () => {
    for (const name of [cert, key]) writeFileSync(join(directory, name), "");
    expect(existing()).toEqual({ cert: join(directory, cert), key: join(directory, key) });
    expect(existing("--tls-cert-file=a", "--tls-private-key-file=b")).toEqual({ cert: "a", key: "b" });
  });

  test("is generated if both files are missing", () => {
    expect(existing()).toBeUndefined();
  });

  test.each([cert, key])("is an error if only %s exists", (name) => {
    writeFileSync(join(directory, name), "");
    expect(() => existing()).toThrow(/apiserver\.\w+ exists without .*apiserver\.\w+: add the missing file/);
  });
});
