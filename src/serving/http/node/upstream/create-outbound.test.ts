import { describe, expect, test } from "vitest";

import { createSystemClock } from "../../../../client/system.ts";
import { requestOutbound, type Outbound, type OutboundRequest, type OutboundTarget } from "../../outbound.ts";
import type { UpstreamAddress } from "../../upstream.ts";
import { createServingCertificate } from "../serving-certificate.ts";
import {
  respondingWith,
  closing,
  leafOf,
  ok,
  onRequest,
  outcomeOf,
  rawServer,
  SERVER_NAME,
  testCertificates,
} from "../../../../../test/testing/serving/http/node/test-upstream.ts";
import { createOutbound, type OutboundOptions } from "./create-outbound.ts";

const CERTIFICATES = testCertificates();
const OWN = { cert: CERTIFICATES.client.certPem, key: CERTIFICATES.client.keyPem };
const CLOCK = createSystemClock();
/** Options of a server that requests no client certificate. */
const OPEN = { requestCert: false } as const;

describe("an outbound target", () => {
  test("is accepted only if its certificate has the server name and is signed by the CA bundle", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("{}")), OPEN);
    await using outbound = testOutbound();
    expect(await outcomeOf(await outbound.send(get(server.address)))).toMatchObject({ status: 200, body: "{}" });
    const otherServer = createServingCertificate({ hosts: ["x"], commonName: "other", nowMs: Date.now() });
    const others: Partial<OutboundTarget>[] = [
      { serverName: "other.default.svc" },
      { caBundle: otherServer.caPem },
      { caBundle: undefined },
      { caBundle: "nothing" },
      { caBundle: "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----" },
    ];
    for (const other of others)
      await expect(outbound.send(get(server.address, other))).rejects.toMatchObject({
        failure: "tls",
        isSent: false,
      });
  });

  test("is accepted if the CA bundle is its own certificate, for the names in this certificate only", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("{}")), OPEN);
    await using outbound = testOutbound();
    const other = createServingCertificate({ hosts: [SERVER_NAME], commonName: "peer", nowMs: Date.now() });
    const own = { caBundle: leafOf(CERTIFICATES.server) };
    expect(await outcomeOf(await outbound.send(get(server.address, own)))).toMatchObject({ status: 200, body: "{}" });
    for (const wrong of [{ caBundle: leafOf(other) }, { ...own, serverName: "other.default.svc" }])
      await expect(outbound.send(get(server.address, wrong))).rejects.toMatchObject({ failure: "tls", isSent: false });
  });

  test("is rejected if the CA bundle is its own certificate, which has expired", async () => {
    const nowMs = Date.now() - 20 * 365 * 86_400_000;
    const expired = createServingCertificate({ hosts: [SERVER_NAME], commonName: "peer", nowMs });
    await using server = await rawServer({ ...CERTIFICATES, server: expired }, respondingWith(ok("{}")), OPEN);
    await using outbound = testOutbound();
    await expect(outbound.send(get(server.address, { caBundle: leafOf(expired) }))).rejects.toMatchObject({
      failure: "tls",
      cause: { code: "CERT_HAS_EXPIRED" },
    });
  });

  test("with an unverifiable certificate is accepted only with insecureSkipTlsVerify", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("{}")), OPEN);
    await using outbound = testOutbound();
    const trusting = { serverName: "127.0.0.1", caBundle: undefined, insecureSkipTlsVerify: true };
    expect(await outcomeOf(await outbound.send(get(server.address, trusting)))).toMatchObject({ status: 200 });
    await expect(outbound.send(get(server.address, { ...trusting, insecureSkipTlsVerify: false }))).rejects.toThrow();
  });

  test("receives this server's certificate only if presentsClientCertificate is set", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("{}")));
    await using outbound = testOutbound({ clientCertificate: () => OWN });
    const shown = { presentsClientCertificate: true };
    expect(await outcomeOf(await outbound.send(get(server.address, shown)))).toMatchObject({ status: 200 });
    expect(server.connections[0]!.getPeerCertificate().subject.CN).toBe("front-proxy");
    await expect(outbound.send(get(server.address))).rejects.toMatchObject({ failure: "tls", isSent: false });
    await using bare = testOutbound();
    await expect(bare.send(get(server.address, shown))).rejects.toMatchObject({ failure: "tls" });
  });

  test("that does not listen fails with a refused connection", async () => {
    const server = await rawServer(CERTIFICATES, () => undefined, OPEN);
    const { address } = server;
    await server[Symbol.asyncDispose]();
    await using outbound = testOutbound();
    await expect(outbound.send(get(address))).rejects.toMatchObject({ failure: "connect", isRefused: true });
  });
});

describe("outbound connections", () => {
  test("are reused only for equal targets", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("{}")), OPEN);
    await using outbound = testOutbound();
    const send = async (changes: Partial<OutboundTarget> = {}): Promise<void> => {
      await outbound.send(get(server.address, changes));
    };
    await send();
    await send();
    expect(server.connections).toHaveLength(1);
    await send({ insecureSkipTlsVerify: true });
    await send({ caBundle: `${CERTIFICATES.server.caPem}\n` });
    expect(server.connections).toHaveLength(3);
  });

  test("for upgrades carry no second request", async () => {
    const switching = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n";
    await using server = await rawServer(CERTIFICATES, respondingWith(switching), OPEN);
    await using outbound = testOutbound();
    const { status, body } = await outbound.send({
      ...get(server.address),
      isUpgrade: true,
      headers: ["Upgrade", "x"],
    });
    expect([status, body.kind]).toEqual([101, "upgrade"]);
    if (body.kind === "upgrade") body.open(undefined);
    await closing(server.connections[0]!);
  });

  test("with an old client certificate are not reused", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("{}")));
    let certificate = OWN;
    await using outbound = testOutbound({ clientCertificate: () => certificate });
    await outbound.send(get(server.address, { presentsClientCertificate: true }));
    certificate = { ...OWN };
    await outbound.send(get(server.address, { presentsClientCertificate: true }));
    expect(server.connections).toHaveLength(2);
  });

  test("above the limit are rejected, unless an idle connection can be closed", async () => {
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket, head) => void (head.startsWith("GET /hang") ? undefined : socket.write(ok("{}")))),
      OPEN,
    );
    await using outbound = testOutbound({ limits: { connectionsMax: 1 } });
    await outbound.send(get(server.address));
    const hanging = outbound.send({ ...get(server.address, { insecureSkipTlsVerify: true }), target: "/hang" });
    hanging.catch(() => undefined);
    await expect(outbound.send(get(server.address))).rejects.toMatchObject({ failure: "exhausted" });
  });

  test("are all closed by close, which breaks off open requests", async () => {
    await using server = await rawServer(
      CERTIFICATES,
      onRequest(() => undefined),
      OPEN,
    );
    const outbound = testOutbound();
    const pending = outbound.send(get(server.address));
    const failed = expect(pending).rejects.toMatchObject({ failure: "reset" });
    await expect.poll(() => server.connections.length).toBe(1);
    await outbound.close();
    await failed;
    await closing(server.connections[0]!);
    await expect(outbound.send(get(server.address))).rejects.toMatchObject({ failure: "connect" });
  });
});

describe("requestOutbound", () => {
  test("sends a JSON body with its length and reads the whole response", async () => {
    const heads: string[] = [];
    const bodies: string[] = [];
    await using server = await rawServer(
      CERTIFICATES,
      (socket) =>
        socket.once("data", (bytes: Buffer) => {
          const [head = "", body = ""] = bytes.toString("utf8").split("\r\n\r\n");
          heads.push(head);
          bodies.push(body);
          socket.write(`HTTP/1.1 201 Created\r\nX-A: b\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"a":1}\r\n0\r\n\r\n`);
        }),
      OPEN,
    );
    await using outbound = testOutbound();
    const response = await requestOutbound(
      { outbound, clock: CLOCK },
      {
        ...{ to: target(server.address), method: "POST", target: "/hook?x=1", ...BOUNDS },
        ...{ headers: ["Content-Type", "application/json"], body: Buffer.from(JSON.stringify({ b: 2 })) },
      },
    );
    expect([response.status, response.json(), response.header("x-a"), response.header("x-c")]).toEqual([
      201,
      { a: 1 },
      "b",
      undefined,
    ]);
    expect(heads[0]).toContain("POST /hook?x=1 HTTP/1.1");
    expect(heads[0]).toContain("Content-Length: 7");
    expect(heads[0]).toContain("Content-Type: application/json");
    expect(bodies[0]).toBe('{"b":2}');
  });

  test.each<[rule: string, answer: string, failure: string]>([
    ["is too long", ok("x".repeat(200_000)), "malformed"],
    ["announces too much", `HTTP/1.1 200 OK\r\nContent-Length: 60000\r\n\r\n${"x".repeat(60_000)}`, "malformed"],
    ["never ends", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n", "timeout"],
    ["never begins", "", "timeout"],
  ])("fails if the response %s", async (_rule, text, failure) => {
    await using server = await rawServer(CERTIFICATES, respondingWith(text), OPEN);
    await using outbound = testOutbound();
    const asked = {
      to: target(server.address),
      method: "GET",
      target: "/",
      headers: [],
      timeoutMs: 300,
      bytesMax: 1_000,
    };
    await expect(requestOutbound({ outbound, clock: CLOCK }, asked)).rejects.toMatchObject({ failure, isSent: true });
  });

  test("fails with `aborted` if its signal is aborted", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(""), OPEN);
    await using outbound = testOutbound();
    const asked = { to: target(server.address), method: "GET", target: "/", headers: [], ...BOUNDS };
    const signal = AbortSignal.abort();
    await expect(requestOutbound({ outbound, clock: CLOCK }, { ...asked, signal })).rejects.toMatchObject({
      failure: "aborted",
    });
  });

  test("returns a redirect without following it", async () => {
    const redirect = "HTTP/1.1 302 Found\r\nLocation: https://elsewhere/\r\nContent-Length: 0\r\n\r\n";
    await using server = await rawServer(CERTIFICATES, respondingWith(redirect), OPEN);
    await using outbound = testOutbound();
    const asked = { to: target(server.address), method: "GET", target: "/", headers: [], ...BOUNDS };
    expect((await requestOutbound({ outbound, clock: CLOCK }, asked)).status).toBe(302);
    expect(server.connections).toHaveLength(1);
  });
});

const BOUNDS = { timeoutMs: 5_000, bytesMax: 10_000 } as const;

function testOutbound(options: Partial<OutboundOptions> = {}): Outbound & AsyncDisposable {
  const outbound = createOutbound({ log: () => undefined, ...options });
  return { ...outbound, [Symbol.asyncDispose]: () => outbound.close() };
}

function target(address: UpstreamAddress, changes: Partial<OutboundTarget> = {}): OutboundTarget {
  const { caPem: caBundle } = CERTIFICATES.server;
  const plain = { insecureSkipTlsVerify: false, presentsClientCertificate: false };
  return { address, serverName: SERVER_NAME, caBundle, ...plain, ...changes };
}

function get(address: UpstreamAddress, changes: Partial<OutboundTarget> = {}): OutboundRequest {
  return {
    to: target(address, changes),
    method: "GET",
    target: "/",
    headers: [],
    body: undefined,
    contentLength: undefined,
    isUpgrade: false,
    signal: new AbortController().signal,
  };
}
