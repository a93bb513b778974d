import { execFile } from "node:child_process";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connect as connectTls } from "node:tls";
import { promisify } from "node:util";

import { describe, expect, test } from "vitest";

import type { ConnectionInfo, StreamSink } from "../message.ts";
import { createServingCertificate } from "./serving-certificate.ts";
import {
  collect,
  deferred,
  http1Client,
  http2Response,
  http2Session,
  ok,
  rawConnection,
  startServer,
  streaming,
  testCertificate,
  untilClosed,
} from "../../../../test/testing/serving/http/node/test-server.ts";

const HELLO = async () => ok(Buffer.from("hello"));

describe("the listener:", () => {
  test("a port in use is reported with the code EADDRINUSE", async () => {
    await using server = await startServer(HELLO);
    await expect(startServer(HELLO, { port: server.listener.port })).rejects.toMatchObject({ code: "EADDRINUSE" });
  });

  test("a failed handshake affects only its own connection", async () => {
    await using server = await startServer(HELLO, { limits: { handshakeTimeoutMs: 50 } });
    const garbage = connectTcp(server.listener.port, "127.0.0.1").on("error", () => undefined);
    garbage.write("GET / HTTP/1.1\r\n\r\n");
    const silent = connectTcp(server.listener.port, "127.0.0.1").on("error", () => undefined);
    const reset = connectTcp(server.listener.port, "127.0.0.1").on("error", () => undefined);
    await once(reset, "connect");
    reset.resetAndDestroy();
    const unknownProtocol = connectTls({
      host: "127.0.0.1",
      port: server.listener.port,
      ALPNProtocols: ["spdy/3"],
      rejectUnauthorized: false,
    });
    unknownProtocol.on("error", () => undefined);
    for (const socket of [garbage, silent, unknownProtocol]) {
      socket.resume();
      if (!socket.closed) await new Promise((resolve) => socket.on("close", resolve));
    }
    await using client = http1Client(server);
    expect((await client.ask({ path: "/" })).status).toBe(200);
    expect(server.logged).toEqual([]);
  });

  test("a connection above the limit is closed without a response", async () => {
    await using server = await startServer(HELLO, { limits: { connectionsMax: 1 } });
    await rawConnection(server, "http/1.1");
    const rejected = connectTcp(server.listener.port, "127.0.0.1").on("error", () => undefined);
    rejected.resume();
    await new Promise((resolve) => rejected.on("close", resolve));
    expect(server.listener.openConnections()).toBe(1);
  });

  test("client certificates are passed on as presented, whether or not a trusted CA signed them", async () => {
    const [trusted, other] = [clientCertificate(), clientCertificate()];
    const serving = testCertificate();
    const seen: ConnectionInfo[] = [];
    await using server = await startServer(async (request) => (seen.push(request.connection), ok()), {
      tls: { cert: serving.certPem, key: serving.keyPem, clientCa: trusted.caPem },
    });
    for (const identity of [trusted, other, undefined]) {
      const socket = connectTls({
        host: "127.0.0.1",
        port: server.listener.port,
        ca: serving.caPem,
        ...(identity && { cert: identity.certPem, key: identity.keyPem }),
      });
      socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 200 /);
    }
    expect(seen.map(presented)).toEqual([chainOf(trusted), chainOf(other), []]);
  });

  test("a client that reconnects presents its whole chain, because sessions are not resumed", async () => {
    const trusted = clientCertificate();
    const serving = testCertificate();
    const seen: ConnectionInfo[] = [];
    await using server = await startServer(async (request) => (seen.push(request.connection), ok()), {
      tls: { cert: serving.certPem, key: serving.keyPem, clientCa: trusted.caPem },
    });
    let session: Buffer | undefined;
    const resumed: boolean[] = [];
    for (const _ of [1, 2]) {
      const socket = connectTls({
        host: "127.0.0.1",
        port: server.listener.port,
        ca: serving.caPem,
        cert: trusted.certPem,
        key: trusted.keyPem,
        session,
      });
      socket.on("session", (given: Buffer) => (session = given));
      // A resumed session would contain only the leaf, and would ignore client CAs that were replaced meanwhile.
      socket.on("secureConnect", () => resumed.push(socket.isSessionReused()));
      socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      expect(await untilClosed(socket)).toMatch(/^HTTP\/1.1 200 /);
    }
    expect([resumed, session]).toEqual([[false, false], expect.any(Buffer)]);
    expect(seen.map(presented)).toEqual([chainOf(trusted), chainOf(trusted)]);
  });

  test("certificate, key and client CA can be replaced while open connections continue", async () => {
    const seen: ConnectionInfo[] = [];
    await using server = await startServer(async (request) => (seen.push(request.connection), ok()));
    await using before = http1Client(server);
    await before.ask({ path: "/" });
    const [next, alice] = [testCertificate(), clientCertificate()];
    server.listener.setTls({ cert: next.certPem, key: next.keyPem, clientCa: alice.caPem });
    const ask = (ca: string): Promise<string> => {
      const identity = { cert: alice.certPem, key: alice.keyPem };
      const socket = connectTls({ host: "127.0.0.1", port: server.listener.port, ca, ...identity });
      socket.on("error", () => undefined);
      socket.write("GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
      return untilClosed(socket);
    };
    expect(await ask(next.caPem)).toMatch(/^HTTP\/1.1 200 /);
    await expect(ask(server.certificate.caPem)).rejects.toThrow("self-signed");
    expect((await before.ask({ path: "/" })).status).toBe(200);
    expect(seen.map(presented)).toEqual([[], chainOf(alice), []]);

    expect(() => server.listener.setTls({ cert: next.certPem, key: alice.keyPem })).toThrow();
    expect(await ask(next.caPem)).toMatch(/^HTTP\/1.1 200 /);
    expect(presented(seen.at(-1)!)).toEqual(chainOf(alice));
    server.listener.setTls({ cert: next.certPem, key: next.keyPem });
    expect(await ask(next.caPem)).toMatch(/^HTTP\/1.1 200 /);
    expect(presented(seen.at(-1)!)).toEqual([]);
  });
});

function presented({ clientChain }: ConnectionInfo): string[] {
  return clientChain.map(({ fingerprint256 }) => fingerprint256);
}

function chainOf({ certPem, caPem }: { certPem: string; caPem: string }): string[] {
  return [certPem, caPem].map((pem) => new X509Certificate(pem).fingerprint256);
}

/** A client certificate and the CA that signed it. */
function clientCertificate(): { certPem: string; keyPem: string; caPem: string } {
  return createServingCertificate({ hosts: [], commonName: "alice", nowMs: Date.now(), usage: "clientAuth" });
}

describe("on shutdown,", () => {
  test("HTTP/2 sessions receive GOAWAY, and their open streams continue until they end", async () => {
    const opened = deferred<StreamSink>();
    await using server = await startServer(async () => streaming((sink) => opened.resolve(sink)));
    await using session = http2Session(server);
    const stream = session.request({ ":path": "/" });
    const sink = await opened.promise;
    await http2Response(stream);
    const goaway = once(session, "goaway");
    server.listener.stopAccepting();
    await goaway;
    await expect(rawConnection(server, "h2")).rejects.toThrow();
    const body = collect(stream);
    const closed = server.listener.close(60_000);
    sink.write({ bytes: Buffer.from("still here") });
    sink.end();
    expect((await body).toString()).toBe("still here");
    await closed;
    expect([server.listener.openRequests(), server.listener.openConnections()]).toEqual([0, 0]);
  });

  test("HTTP/1.1 responses have Connection: close, and open streams continue until they end", async () => {
    const opened = deferred<StreamSink>();
    await using server = await startServer(async (request) =>
      request.path === "/stream" ? streaming((sink) => (opened.resolve(sink), undefined)) : ok(),
    );
    await using watcher = http1Client(server);
    await using other = http1Client(server);
    expect((await other.ask({ path: "/" })).headers["connection"]).toBe("keep-alive");
    const stream = watcher.ask({ path: "/stream" });
    const sink = await opened.promise;
    server.listener.stopAccepting();
    expect((await other.ask({ path: "/" })).headers["connection"]).toBe("close");
    const closed = server.listener.close(60_000);
    sink.write({ bytes: Buffer.from("still here") });
    sink.end();
    expect((await stream).body.toString()).toBe("still here");
    await closed;
    expect([server.listener.openRequests(), server.listener.openConnections()]).toEqual([0, 0]);
  });

  test("streams that are still open at the deadline are broken off", async () => {
    let closings = 0;
    await using server = await startServer(async () => streaming((sink) => sink.onClose(() => closings++)));
    await using session = http2Session(server);
    const stream = session.request({ ":path": "/" });
    stream.on("error", () => undefined);
    await using client = http1Client(server);
    const broken = expect(client.ask({ path: "/" })).rejects.toThrow();
    await http2Response(stream);
    while (server.listener.openRequests() < 2) await new Promise(setImmediate);
    await server.listener.close(10);
    await broken;
    expect([closings, server.listener.openRequests(), server.listener.openConnections()]).toEqual([2, 0, 0]);
  });
});

describe("the serving certificate", () => {
  test("names its hosts, is signed by its own CA and is not a CA itself", async () => {
    const nowMs = Date.UTC(2026, 0, 1);
    const { certPem, caPem } = createServingCertificate({
      hosts: ["kubernetes.default.svc", "10.0.0.1", "::1"],
      commonName: "apiserver",
      nowMs,
    });
    const leaf = new X509Certificate(certPem);
    const ca = new X509Certificate(caPem);
    expect(certPem.endsWith(caPem)).toBe(true);
    expect([leaf.ca, ca.ca, leaf.checkIssued(ca), leaf.verify(ca.publicKey)]).toEqual([false, true, true, true]);
    expect([leaf.checkHost("kubernetes.default.svc"), leaf.checkIP("10.0.0.1"), leaf.checkIP("10.0.0.2")]).toEqual([
      "kubernetes.default.svc",
      "10.0.0.1",
      undefined,
    ]);
    expect(new Date(leaf.validFrom).getTime()).toBeLessThan(nowMs);
    expect(new Date(leaf.validTo).getTime()).toBe(nowMs + 365 * 86_400_000);
  });

  test("is accepted by kubectl with the CA in its kubeconfig (if kubectl is installed)", async ({ skip }) => {
    const run = promisify(execFile);
    const found = await run("kubectl", ["version", "--client"]).then(
      () => true,
      () => false,
    );
    if (!found) skip("there is no kubectl on this machine");
    await using server = await startServer(async () => ok(Buffer.from('{"major":"1"}')));
    const folder = await mkdtemp(join(tmpdir(), "edge-kubectl-"));
    try {
      const cluster = {
        server: `https://127.0.0.1:${server.listener.port}`,
        "certificate-authority-data": Buffer.from(server.certificate.caPem).toString("base64"),
      };
      const config = {
        apiVersion: "v1",
        kind: "Config",
        clusters: [{ name: "c", cluster }],
        contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
        users: [{ name: "u", user: { token: "t" } }],
        "current-context": "c",
      };
      await writeFile(join(folder, "config"), JSON.stringify(config));
      const { stdout } = await run("kubectl", ["--kubeconfig", join(folder, "config"), "get", "--raw", "/version"]);
      expect(stdout).toBe('{"major":"1"}');
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});
