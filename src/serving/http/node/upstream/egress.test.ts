import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect as connectTcp, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";

import { describe, expect, test } from "vitest";

import type { UpstreamAddress } from "../../upstream.ts";
import { createServingCertificate } from "../serving-certificate.ts";
import { connectProxyOverTcp, connectProxyOverUnixSocket } from "./egress.ts";
import {
  addressOf,
  respondingWith,
  closing,
  getRequest,
  leafOf,
  ok,
  outcomeOf,
  rawServer,
  shut,
  testCertificates,
  testUpstream,
  track,
} from "../../../../../test/testing/serving/http/node/test-upstream.ts";

const CERTIFICATES = testCertificates();
const GRANTED = "HTTP/1.1 200 Connection established\r\n\r\n";

describe("through an egress proxy,", () => {
  test("requests reach their server if the proxy listens on TCP", async () => {
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("x".repeat(100_000))));
    await using proxy = await startProxy({ how: "tunnel" });
    await using upstream = testUpstream(CERTIFICATES.tls, { dial: connectProxyOverTcp(proxy.address) });
    for (let round = 0; round < 2; round++) {
      const outcome = await outcomeOf(await upstream.send(getRequest(server.address)));
      expect(outcome).toMatchObject({ kind: "complete", body: "x".repeat(100_000) });
    }
    const { host, port } = server.address;
    expect(proxy.asked).toEqual([`CONNECT ${host}:${port} HTTP/1.1\r\nHost: ${host}:${port}`]);
  });

  test("requests reach their server if the proxy requires TLS", async () => {
    const nowMs = Date.now();
    const own = createServingCertificate({ hosts: ["127.0.0.1"], commonName: "proxy", nowMs });
    const { client } = CERTIFICATES;
    await using server = await rawServer(CERTIFICATES, respondingWith(ok("x".repeat(100_000))));
    const options = { cert: own.certPem, key: own.keyPem, ca: client.caPem };
    await using proxy = await startProxy({ how: "tunnel", tls: options });
    const tls = { ca: own.caPem, cert: client.certPem, key: client.keyPem };
    await using upstream = testUpstream(CERTIFICATES.tls, { dial: connectProxyOverTcp({ ...proxy.address, tls }) });
    const outcome = await outcomeOf(await upstream.send(getRequest(server.address)));
    expect(outcome).toMatchObject({ kind: "complete", body: "x".repeat(100_000) });
    const leaf = { ...tls, ca: leafOf(own) };
    await using pinned = testUpstream(CERTIFICATES.tls, { dial: connectProxyOverTcp({ ...proxy.address, tls: leaf }) });
    expect(await pinned.send(getRequest(server.address))).toMatchObject({ status: 200 });
    for (const ca of [client.caPem, leafOf(client)]) {
      const untrusted = connectProxyOverTcp({ ...proxy.address, tls: { ...tls, ca } });
      await using wrong = testUpstream(CERTIFICATES.tls, { dial: untrusted });
      await expect(wrong.send(getRequest(server.address))).rejects.toMatchObject({ failure: "connect", isSent: false });
    }
  });

  test("requests reach their server if the proxy listens on a unix socket", async () => {
    const folder = await mkdtemp(join(tmpdir(), "egress-"));
    try {
      const path = join(folder, "proxy.sock");
      await using server = await rawServer(CERTIFICATES, respondingWith(ok("x")));
      await using proxy = await startProxy({ how: "tunnel", path });
      await using upstream = testUpstream(CERTIFICATES.tls, { dial: connectProxyOverUnixSocket({ path }) });
      expect(await upstream.send(getRequest(server.address))).toMatchObject({ status: 200 });
      expect(proxy.asked).toHaveLength(1);
      const none = connectProxyOverUnixSocket({ path: join(folder, "none.sock") });
      await using lost = testUpstream(CERTIFICATES.tls, { dial: none });
      await expect(lost.send(getRequest(server.address))).rejects.toMatchObject({ failure: "connect", isSent: false });
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  test("requests fail with the cause if the proxy rejects, misbehaves, closes or stalls", async () => {
    const responses: [string, string, RegExp][] = [
      ["HTTP/1.1 403 Forbidden\r\n\r\n", "connect", /did not connect to 127.0.0.1:1: it returned 403/],
      [`${GRANTED}\x15`, "connect", /sent unexpected bytes/],
      ["SSH-2.0\r\n\r\n", "connect", /does not speak HTTP/],
      ["x".repeat(40_000), "connect", /did not end the head/],
      ["end", "connect", /closed the connection instead of connecting/],
      ["HTTP/1.1 200", "timeout", /did not connect within 30 ms/],
    ];
    for (const [response, failure, message] of responses) {
      await using proxy = await startProxy({ how: response });
      const dial = connectProxyOverTcp({ ...proxy.address, timeoutMs: 30 });
      await using upstream = testUpstream(CERTIFICATES.tls, { dial });
      const sent = upstream.send(getRequest({ host: "127.0.0.1", port: 1 }));
      await expect(sent).rejects.toMatchObject({ failure, isSent: false, message: expect.stringMatching(message) });
      for (const socket of proxy.sockets) await closing(socket);
    }
  });

  test("a request that is aborted closes the connection to the proxy", async () => {
    await using proxy = await startProxy({ how: "HTTP/1.1 200" });
    await using upstream = testUpstream(CERTIFICATES.tls, { dial: connectProxyOverTcp(proxy.address) });
    const controller = new AbortController();
    const sent = upstream.send(getRequest({ host: "127.0.0.1", port: 1 }, { signal: controller.signal }));
    const rejected = expect(sent).rejects.toMatchObject({ failure: "aborted", isSent: false });
    await proxy.firstAsked;
    controller.abort();
    await rejected;
    for (const socket of proxy.sockets) await closing(socket);
  });
});

interface Proxy extends AsyncDisposable {
  readonly address: UpstreamAddress;
  readonly asked: string[];
  readonly firstAsked: Promise<void>;
  readonly sockets: ReadonlySet<Socket>;
}

interface ProxyOptions {
  /** The reaction of the proxy: "tunnel", "end", or the text of its response. */
  readonly how: string;
  readonly path?: string;
  readonly tls?: { readonly cert: string; readonly key: string; readonly ca: string };
}

async function startProxy({ how, path, tls }: ProxyOptions): Promise<Proxy> {
  const requests: string[] = [];
  const sockets = new Set<Socket>();
  const first = Promise.withResolvers<void>();
  const onConnection = (client: Socket): void => {
    track(sockets, client);
    client.once("data", (bytes: Buffer) => {
      const head = bytes.toString("latin1").trimEnd();
      requests.push(head);
      first.resolve();
      if (how === "end") client.end();
      else if (how === "tunnel") tunnel(client, head, sockets);
      else client.write(how, "latin1");
      client.resume();
    });
  };
  const server =
    tls === undefined
      ? createServer(onConnection)
      : createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: true }, onConnection);
  if (path === undefined) server.listen(0, "127.0.0.1");
  else server.listen(path);
  await once(server, "listening");
  const address = path === undefined ? addressOf(server.address()) : { host: "", port: 0 };
  return {
    address,
    asked: requests,
    firstAsked: first.promise,
    sockets,
    [Symbol.asyncDispose]: () => shut(server, sockets),
  };
}

function tunnel(client: Socket, head: string, sockets: Set<Socket>): void {
  const port = Number(/:(\d+) HTTP/.exec(head)![1]);
  const target = connectTcp({ host: "127.0.0.1", port }, () => {
    client.write(GRANTED);
    client.pipe(target);
    target.pipe(client);
  });
  track(sockets, target);
}
