/** Tests of clients that pretend to be peers, and of peers that misbehave. Neither gains any permission. */
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { issueClient } from "../testing/access/auth/certificates.ts";
import { AGGREGATED, groupNames, type Json } from "../peers/client.ts";
import { startStub, WIDGETS, type StubPeer } from "../peers/stub-peer.ts";
import {
  asTenant,
  OWN,
  presented,
  openTls,
  RBAC,
  sendHttp2,
  sendLines,
  startSite,
  TENANT_TOKEN,
  tenantCertificate,
  VALID_NOW,
  type Presented,
  type Site,
} from "./start.ts";

const JOBS = `/apis/batch/v1/namespaces/${OWN}/jobs`;
const BEARER = `Authorization: Bearer ${TENANT_TOKEN}`;
const GUARDS = ["X-Kubernetes-Peer-Proxied: true", "X-Kubernetes-APIServer-Rerouted: true", "X-Evenkeel-Proxied-By: b"];

let site: Site;
let stub: StubPeer;
beforeAll(async () => {
  site = await startSite();
  ({ stub } = await startStub(site.cluster));
});
beforeEach(() => {
  stub.arrivals.length = 0;
});
afterAll(() => site[Symbol.asyncDispose]());

/** The peers as the first server sees them. */
const viewed = (): Json =>
  site.first.view.peers.map(({ id, address, isDraining, isReachable, isDescribed }) => ({
    ...{ id, address, isDraining, isReachable, isDescribed },
  }));

describe("forged identity headers on a proxied request", () => {
  test.each([
    [
      "once",
      ["X-Remote-User: admin", "X-Remote-Group: system:masters", "X-Remote-Uid: 0", "X-Remote-Extra-Scopes: all"],
    ],
    ["in other casings, twice", ["x-remote-USER: admin", "X-REMOTE-user: root", "x-Remote-gROUP: system:masters"]],
    ["named in Connection", ["X-Remote-User: admin", "Connection: close, X-Remote-User, X-Remote-Group, X-Remote-Uid"]],
    ["with guards", [...GUARDS, "X-Remote-Group: system:masters", "x-remote-extra-a%2fb: c"]],
  ])("(%s) are replaced, so that the peer receives only the tenant's identity", async (_attack, lines) => {
    const { status } = await sendLines(site.first, [`GET ${WIDGETS} HTTP/1.1`, ...lines, BEARER]);
    expect(status).toBe(200);
    const [seen, ...others] = stub.arrivals;
    expect(others).toEqual([]);
    expect(seen!.all("x-remote-user")).toEqual(["tenant"]);
    expect(seen!.all("x-remote-uid")).toEqual(["tenant-uid"]);
    expect(seen!.all("x-remote-group")).toEqual(["tenants", "system:authenticated"]);
    expect(seen!.rawHeaders.filter((name) => /^x-remote-extra-/i.test(name))).toEqual([]);
    expect(seen!.all("x-evenkeel-proxied-by")).toEqual(["a"]);
    expect(seen!.all("authorization")).toEqual([]);
  });
});

describe("a client that is not a peer", () => {
  const callers: readonly (readonly [
    who: string,
    lines: readonly string[],
    certificate: () => Presented | undefined,
  ])[] = [
    ["tenant with a token", [BEARER], () => undefined],
    ["tenant with a certificate", [], () => tenantCertificate(site.authorities)],
    [
      "front proxy whose name is not allowed",
      [BEARER],
      () => presented(issueClient(site.authorities.frontProxies, { subject: [["CN", "mallory"]], ...VALID_NOW })),
    ],
  ];
  test.each(callers)(
    "(%s) cannot change the route of its request by sending peer headers",
    async (_who, lines, certificate) => {
      const presenting = certificate();
      const { status, head } = await sendLines(site.first, [`GET ${JOBS} HTTP/1.1`, ...GUARDS, ...lines], {
        ...(presenting === undefined ? {} : { certificate: presenting }),
      });
      expect([status, /^x-evenkeel-served-by: (.*)$/im.exec(head)?.[1]]).toEqual([
        200,
        "b (1.36); reason=served-by-peer",
      ]);
    },
  );

  test.each(["", ";profile=nopeer"])(
    "cannot change the discovery document%s by sending peer headers over HTTP/2",
    async (profile) => {
      const guards = { "x-kubernetes-peer-proxied": "true", "x-evenkeel-proxied-by": "b", "x-remote-user": "b" };
      const asked = { ":path": "/apis", authorization: `Bearer ${TENANT_TOKEN}`, accept: AGGREGATED + profile };
      const plain = await sendHttp2(site.first, asked);
      const guarded = await sendHttp2(site.first, { ...asked, ...guards });
      expect(guarded.text).toBe(plain.text);
      expect(groupNames(guarded.body).includes("batch")).toBe(profile === "");
      expect(guarded.body.metadata).toEqual({});
    },
  );

  test("cannot redirect requests by records and headers that mark a server as draining", async () => {
    const before = viewed();
    const annotations = { "evenkeel.io/state": "draining", "evenkeel.io/release": "1.36" };
    const metadata = { name: "b", labels: { apiserverIdentity: "b" }, annotations };
    const forged = { metadata, subsets: [{ addresses: [{ ip: "192.0.2.1" }], ports: [{ name: "https", port: 1 }] }] };
    const created = await asTenant(site.first, `/api/v1/namespaces/${OWN}/configmaps`, {
      method: "POST",
      body: { metadata },
    });
    expect(created.status).toBe(201);
    for (const namespace of ["kube-system", "default"])
      expect(
        (await asTenant(site.first, `/api/v1/namespaces/${namespace}/endpoints`, { method: "POST", body: forged }))
          .status,
      ).toBe(403);
    const headers = { "x-evenkeel-state": "draining", state: "draining" };
    const response = await asTenant(site.first, JOBS, { headers });
    expect([response.status, response.headers["x-evenkeel-served-by"]]).toEqual([
      200,
      "b (1.36); reason=served-by-peer",
    ]);
    expect(viewed()).toEqual(before);
  });

  test("cannot reach the records that servers exchange through any API path", async () => {
    for (const path of [
      "/apis/coordination.k8s.io/v1/peerserverleases",
      "/api/v1/peerserverleases",
      "/registry/peerserverleases/b",
    ])
      expect((await site.second.get(path)).status).toBe(404);
    expect((await site.first.get(`${RBAC}/peerserverleases`)).status).toBe(404);
  });
});

describe("a redirect of a peer", () => {
  test.each([301, 302, 303, 307, 308])(
    "with %i is not followed, and the user's identity is not sent to the redirect's location",
    async (status) => {
      await using trap = await openTrap(site);
      stub.respond = (_request, response) => void response.writeHead(status, { location: trap.url }).end();
      for (const method of ["GET", "POST"]) {
        const body = method === "POST" ? { kind: "Widget" } : undefined;
        const response = await asTenant(site.first, WIDGETS, { method, body });
        expect([response.status, response.body.reason]).toEqual([503, "ServiceUnavailable"]);
        expect(response.headers.location).toBeUndefined();
      }
      expect(trap.connections()).toBe(0);
    },
  );
});

/** A server with a valid serving certificate that counts connections. */
async function openTrap({ cluster }: Site): Promise<AsyncDisposable & { readonly url: string; connections(): number }> {
  const { certPem: cert, keyPem: key } = cluster.credentials.serving;
  let connections = 0;
  const server = createServer({ cert, key }, (_request, response) => void response.end("{}"));
  server.on("connection", () => connections++);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

/**
 * The vulnerability of CVE-2018-1002105: if the connection to the peer stayed open, the next request of the client
 * would be sent on it with the local server's certificate.
 */
describe("an upgrade to which a peer does not respond with 101", () => {
  const SMUGGLED = [
    "GET /api/v1/secrets HTTP/1.1",
    "Host: x",
    "X-Remote-User: admin",
    "X-Remote-Group: system:masters",
  ];

  test.each([
    ["a 200 without an end", "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n{}"],
    ["a 403", "HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}"],
    [
      "a 426 that keeps the connection",
      "HTTP/1.1 426 Upgrade Required\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\n{}",
    ],
    ["a redirect", "HTTP/1.1 307 Temporary Redirect\r\nLocation: https://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n"],
  ])("but with %s closes both connections, and later bytes of the client reach no server", async (_answer, bytes) => {
    const peerClosed = Promise.withResolvers<string>();
    stub.onUpgrade = (_request: IncomingMessage, socket: Duplex, head: Buffer): void => {
      let got = head.toString("latin1");
      socket.on("error", () => {});
      socket.on("data", (chunk: Buffer) => (got += chunk.toString("latin1")));
      socket.on("close", () => peerClosed.resolve(got));
      socket.write(bytes);
    };
    const socket = await openTls(site.first);
    let received = "";
    socket.on("data", (chunk: Buffer) => (received += chunk.toString("latin1")));
    const upgrade = [
      `POST ${WIDGETS}/one/attach HTTP/1.1`,
      "Host: x",
      BEARER,
      "Connection: Upgrade",
      "Upgrade: SPDY/3.1",
    ];
    socket.write([...upgrade, "", "", ...SMUGGLED, "", ""].join("\r\n"));
    await once(socket, "close");
    expect(await peerClosed.promise).toBe("");
    expect(received.match(/^HTTP\/1\.1 101/)).toBeNull();
    expect(received.match(/^HTTP\/1\.1 [0-9]{3}/gm)).toHaveLength(1);
    expect(stub.arrivals.map(({ url }) => url)).toEqual([`${WIDGETS}/one/attach`]);
  });
});
