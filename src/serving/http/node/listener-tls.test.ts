import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { connect, type ConnectionOptions, type TLSSocket } from "node:tls";
import { describe, expect, test } from "vitest";
import { ok, startServer, testCertificate } from "../../../../test/testing/serving/http/node/test-server.ts";
import type { ListenTls, TlsSettings } from "./listener.ts";
import type { NamedKeyPair } from "./named-contexts.ts";
import { createServingCertificate } from "./serving-certificate.ts";

const HELLO = async () => ok(Buffer.from("hello"));

function keyPair(commonName: string): { readonly cert: string; readonly key: string } {
  const { certPem, keyPem } = createServingCertificate({ commonName, hosts: [commonName], nowMs: Date.now() });
  return { cert: certPem, key: keyPem };
}

function named(commonName: string, ...names: readonly string[]): NamedKeyPair {
  return { ...keyPair(commonName), names };
}

/** Connects, and returns what `read` reads of the connection. */
async function connected<T>(port: number, options: ConnectionOptions, read: (socket: TLSSocket) => T): Promise<T> {
  const socket = connect({ host: "127.0.0.1", port, rejectUnauthorized: false, ...options });
  try {
    await once(socket, "secureConnect");
    return read(socket);
  } finally {
    socket.destroy();
  }
}

function commonNameOf(socket: TLSSocket): string {
  return new X509Certificate(socket.getPeerCertificate().raw).subject.replace("CN=", "");
}

describe("a listener with certificates for server names", () => {
  const tls: ListenTls = {
    ...keyPair("default"),
    named: [named("one", "a.example", "*.b.example"), named("other", "a.example", "x.B.example")],
  };

  test.each([
    ["a.example", "one"],
    ["A.Example", "one"],
    ["x.b.example", "other"],
    ["y.b.example", "one"],
    ["b.example", "default"],
    ["x.y.b.example", "default"],
    ["other.example", "default"],
    [undefined, "default"],
  ])("presents, to a client that names %s, the certificate %s", async (servername, name) => {
    await using server = await startServer(HELLO, { tls });
    const options = servername === undefined ? {} : { servername };
    expect(await connected(server.listener.port, options, commonNameOf)).toBe(name);
  });

  test("replaces them, and keeps them if one of the new ones is invalid", async () => {
    await using server = await startServer(HELLO, { tls });
    const { port } = server.listener;
    const presented = (): Promise<string> => connected(port, { servername: "a.example" }, commonNameOf);
    const wrong = { ...named("wrong", "a.example"), key: keyPair("wrong").key };
    expect(() => server.listener.setTls({ ...tls, named: [wrong] })).toThrow("key values mismatch");
    expect(await presented()).toBe("one");
    server.listener.setTls({ ...tls, named: [named("new", "a.example")] });
    expect(await presented()).toBe("new");
  });

  test("requests client certificates under every name, and applies the restrictions of the handshake", async () => {
    const clientCa = testCertificate().caPem;
    await using server = await startServer(HELLO, { tls: { ...tls, clientCa, minVersion: "TLSv1.3" } });
    const { port } = server.listener;
    await expect(
      connected(port, { servername: "a.example", maxVersion: "TLSv1.2" }, commonNameOf),
    ).rejects.toMatchObject({ code: "ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION" });
    expect(await connected(port, { servername: "a.example" }, commonNameOf)).toBe("one");
  });
});

describe("the TLS settings of a listener restrict", () => {
  const handshake = async (settings: TlsSettings, client: ConnectionOptions): Promise<string> => {
    await using server = await startServer(HELLO, { tls: { ...keyPair("a"), ...settings } });
    const describeIt = (socket: TLSSocket): string => `${socket.getProtocol()} ${socket.getCipher().standardName}`;
    return await connected(server.listener.port, client, describeIt).catch(String);
  };
  const ciphers = "TLS_AES_128_GCM_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384";

  test.each<readonly [TlsSettings, ConnectionOptions, string]>([
    [{}, { maxVersion: "TLSv1.2" }, "TLSv1.2 "],
    [{ minVersion: "TLSv1.3" }, { maxVersion: "TLSv1.2" }, "alert protocol version"],
    [{ minVersion: "TLSv1.3" }, {}, "TLSv1.3 "],
    [{ ciphers }, { maxVersion: "TLSv1.2" }, "TLSv1.2 TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384"],
    [{ ciphers }, { maxVersion: "TLSv1.2", ciphers: "ECDHE-ECDSA-AES128-GCM-SHA256" }, "alert handshake failure"],
    [{ curves: "P-384" }, { ecdhCurve: "P-256" }, "alert handshake failure"],
    [{ curves: "P-384" }, { ecdhCurve: "P-256:P-384" }, "TLSv1.3 "],
  ])("the handshake: %j with a client of %j", async (settings, client, outcome) => {
    expect(await handshake(settings, client)).toContain(outcome);
  });
});

test("a listener without HTTP/2 does not offer it", async () => {
  await using server = await startServer(HELLO, { isHttp2Disabled: true });
  const ALPNProtocols = ["h2", "http/1.1"];
  expect(await connected(server.listener.port, { ALPNProtocols }, ({ alpnProtocol }) => alpnProtocol)).toBe("http/1.1");
});

test.runIf(process.platform === "linux")("several listeners can share a port", async () => {
  await using one = await startServer(HELLO, { isPortShared: true });
  const { port } = one.listener;
  await using other = await startServer(HELLO, { isPortShared: true, port });
  expect(other.listener.port).toBe(port);
  await expect(startServer(HELLO, { port })).rejects.toMatchObject({ code: "EADDRINUSE" });
});
