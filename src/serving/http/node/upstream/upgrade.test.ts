import { once } from "node:events";
import { type AddressInfo, connect as connectTcp, createServer, type Socket } from "node:net";
import type { TLSSocket } from "node:tls";

import { describe, expect, test } from "vitest";

import type { UpstreamAddress, UpstreamResponse } from "../../upstream.ts";
import {
  closing,
  getRequest,
  ok,
  onRequest,
  outcomeOf,
  rawServer,
  testCertificates,
  testUpstream,
} from "../../../../../test/testing/serving/http/node/test-upstream.ts";

const CERTIFICATES = testCertificates();
const SWITCHING = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade\r\n\r\n";

describe("an upgraded connection to a peer", () => {
  test("passes bytes in both directions, including those that arrive with the 101 response, and closes when both ends have ended", async () => {
    await using server = await upgrading((socket) => {
      socket.allowHalfOpen = true;
      socket.on("data", (bytes: Buffer) => socket.write(bytes.toString().toUpperCase()));
      socket.on("end", () => socket.end("the last"));
    }, "early ");
    await using upstream = testUpstream(CERTIFICATES.tls);
    await using pair = await socketPair();
    const response = await upstream.send(upgradeRequest(server.address));
    expect(response).toMatchObject({ status: 101, headers: ["upgrade", "SPDY/3.1"] });
    expect(server.heads[0]).toContain("\r\nUpgrade: SPDY/3.1\r\nConnection: Upgrade");
    openUpgrade(response, pair.near);
    pair.far.allowHalfOpen = true;
    pair.far.end("hello ");
    expect(await allText(pair.far)).toBe("early HELLO the last");
    await closing(server.connections[0]!);
    await closing(pair.near);
  });

  test("delivers all bytes to a client that has stopped sending and reads slowly", async () => {
    const size = 4 * 1024 * 1024;
    await using server = await upgrading((socket) => socket.end(Buffer.alloc(size, "x")));
    await using upstream = testUpstream(CERTIFICATES.tls);
    await using pair = await socketPair();
    openUpgrade(await upstream.send(upgradeRequest(server.address)), pair.near);
    pair.far.allowHalfOpen = true;
    pair.far.end();
    for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect((await allText(pair.far)).length).toBe(size);
  });

  test("breaks at both ends if one end breaks or the request is aborted", async () => {
    const breaks: ((parts: { server: TLSSocket; far: Socket; abort: () => void }) => void)[] = [
      ({ server }) => server.destroy(),
      ({ far }) => far.resetAndDestroy(),
      ({ abort }) => abort(),
    ];
    for (const act of breaks) {
      await using server = await upgrading(() => undefined);
      await using upstream = testUpstream(CERTIFICATES.tls);
      await using pair = await socketPair();
      const controller = new AbortController();
      const response = await upstream.send({ ...upgradeRequest(server.address), signal: controller.signal });
      openUpgrade(response, pair.near);
      const [socket] = server.connections;
      const closed = [socket!, pair.near, pair.far].map(closing);
      pair.far.resume();
      act({ server: socket!, far: pair.far, abort: () => controller.abort() });
      await Promise.all(closed);
    }
  });

  test("is closed if its client has disconnected, or when its address is disconnected", async () => {
    await using server = await upgrading(() => undefined);
    await using upstream = testUpstream(CERTIFICATES.tls);
    openUpgrade(await upstream.send(upgradeRequest(server.address)), undefined);
    await closing(server.connections[0]!);
    await using pair = await socketPair();
    openUpgrade(await upstream.send(upgradeRequest(server.address)), pair.near);
    upstream.disconnect(server.address);
    pair.far.resume();
    await closing(pair.far);
  });

  test("is made only after status 101; any other response is returned as it is", async () => {
    await using server = await rawServer(
      CERTIFICATES,
      onRequest((socket) => socket.write(ok("no"))),
    );
    await using upstream = testUpstream(CERTIFICATES.tls);
    await upstream.send(getRequest(server.address));
    const response = await upstream.send(upgradeRequest(server.address));
    expect(await outcomeOf(response)).toMatchObject({ kind: "complete", body: "no" });
    expect(server.connections).toHaveLength(2);
  });
});

function upgradeRequest(address: UpstreamAddress): ReturnType<typeof getRequest> {
  return getRequest(address, { isUpgrade: true, headers: ["Upgrade", "SPDY/3.1"] });
}

function openUpgrade({ body }: UpstreamResponse, client: Socket | undefined): void {
  if (body.kind !== "upgrade") throw new Error("not an upgrade");
  body.open(client);
}

async function upgrading(
  onUpgraded: (socket: TLSSocket) => void,
  early = "",
): Promise<Awaited<ReturnType<typeof rawServer>> & { readonly heads: string[] }> {
  const heads: string[] = [];
  const server = await rawServer(CERTIFICATES, (socket) => {
    socket.once("data", (bytes: Buffer) => {
      heads.push(bytes.toString("latin1").trimEnd());
      socket.write(SWITCHING + early);
      socket.resume();
      onUpgraded(socket);
    });
  });
  return Object.assign(server, { heads });
}

/** The two ends of one TCP connection. `near` is the end that a listener would have. */
async function socketPair(): Promise<AsyncDisposable & { readonly near: Socket; readonly far: Socket }> {
  const server = createServer({ allowHalfOpen: true });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const far = connectTcp({ port: (server.address() as AddressInfo).port, host: "127.0.0.1" });
  far.on("error", () => undefined);
  const [near] = (await once(server, "connection")) as [Socket];
  near.on("error", () => undefined);
  return {
    near,
    far,
    async [Symbol.asyncDispose]() {
      near.destroy();
      far.destroy();
      server.close();
    },
  };
}

async function allText(socket: Socket): Promise<string> {
  let text = "";
  socket.on("data", (bytes: Buffer) => (text += bytes.toString("latin1")));
  await once(socket, "end");
  return text;
}
