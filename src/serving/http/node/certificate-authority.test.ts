import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { connect, createServer, type TLSSocket } from "node:tls";
import { expect, test } from "vitest";
import { createAuthority, issueCertificate } from "./certificate-authority.ts";

const NOW_MS = Date.UTC(2026, 0, 1);

test("a CA is self-signed and can sign only leaf certificates", () => {
  const { certPem } = createAuthority({ commonName: "evenkeel-ca", nowMs: NOW_MS });
  const ca = new X509Certificate(certPem);
  expect(ca.ca).toBe(true);
  expect(ca.verify(ca.publicKey)).toBe(true);
  expect(ca.subject).toBe("CN=evenkeel-ca");
});

test("a serving certificate is valid for exactly the names and addresses for which it was issued", () => {
  const ca = createAuthority({ commonName: "evenkeel-ca", nowMs: NOW_MS });
  const hosts = ["kubernetes.default.svc", "localhost", "127.0.0.1", "::1"];
  const leaf = new X509Certificate(
    issueCertificate({ ca, commonName: "kube-apiserver", hosts, usage: "serverAuth", nowMs: NOW_MS }).certPem,
  );
  expect(leaf.checkIssued(new X509Certificate(ca.certPem))).toBe(true);
  expect(leaf.verify(new X509Certificate(ca.certPem).publicKey)).toBe(true);
  expect(leaf.checkHost("kubernetes.default.svc")).toBe("kubernetes.default.svc");
  expect([leaf.checkIP("127.0.0.1"), leaf.checkIP("::1")]).toEqual(["127.0.0.1", "::1"]);
  expect(leaf.checkIP("192.0.2.1")).toBeUndefined();
});

test("a client certificate contains its user and groups", () => {
  const ca = createAuthority({ commonName: "evenkeel-ca", nowMs: NOW_MS });
  const { certPem } = issueCertificate({
    ca,
    commonName: "admin",
    organizations: ["system:masters", "others"],
    usage: "clientAuth",
    nowMs: NOW_MS,
  });
  const leaf = new X509Certificate(certPem);
  expect(leaf.subject).toBe("O=system:masters\nO=others\nCN=admin");
  expect(leaf.keyUsage).toEqual(["1.3.6.1.5.5.7.3.2"]);
});

test("a CA reloaded from its PEM issues certificates that both ends of a TLS connection accept", async () => {
  const nowMs = Date.now();
  const ca = createAuthority({ commonName: "evenkeel-ca", nowMs });
  const serving = issueCertificate({
    ca,
    commonName: "kube-apiserver",
    hosts: ["127.0.0.1"],
    usage: "serverAuth",
    nowMs,
  });
  const admin = issueCertificate({ ca, commonName: "admin", usage: "clientAuth", nowMs });
  const server = createServer({ cert: serving.certPem, key: serving.keyPem, ca: ca.certPem, requestCert: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  try {
    const { port } = server.address() as AddressInfo;
    const accepted = once(server, "secureConnection") as Promise<[TLSSocket]>;
    const client = connect({ host: "127.0.0.1", port, ca: ca.certPem, cert: admin.certPem, key: admin.keyPem });
    await once(client, "secureConnect");
    const [socket] = await accepted;
    expect([client.authorized, socket.authorized]).toEqual([true, true]);
    client.destroy();
    socket.destroy();
  } finally {
    server.close();
  }
});
