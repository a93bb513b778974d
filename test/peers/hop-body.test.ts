/**
 * Tests of the bodies and streams of proxied requests: no byte is lost, no body is buffered without limit, and the peer
 * notices when the client disconnects.
 */
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Json } from "./client.ts";
import { startCluster, type Member, type TestCluster } from "./cluster.ts";
import { sendJson, startStub, WIDGETS, type StubPeer } from "./stub-peer.ts";
import { eventually } from "./wait.ts";

let cluster: TestCluster;
let member: Member;
let stub: StubPeer;

beforeAll(async () => {
  cluster = await startCluster([{ options: { maxRequestsInflight: 2, maxMutatingRequestsInflight: 1 } }]);
  ({ member, stub } = await startStub(cluster));
});
afterAll(() => cluster[Symbol.asyncDispose]());
beforeEach(() => void stub.arrivals.splice(0));

const sha = (bytes: Buffer): string => createHash("sha256").update(bytes).digest("hex");

async function readAll(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks);
}

async function echo(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await readAll(request);
  sendJson(response, request.method === "POST" ? 201 : 200, { length: body.length, sha: sha(body) });
}

describe("the request body of a proxied request", () => {
  const sizes = { empty: 0, small: 1_000, "as long as the retry buffer": 64 * 1024, large: 3_000_000 };
  for (const [name, length] of Object.entries(sizes)) {
    test.each(["POST", "PUT", "PATCH"])(
      `§8-bodies that is ${name} and sent by %s arrives completely`,
      async (method) => {
        stub.respond = echo;
        const body = Buffer.alloc(length, "abcdefg");
        const headers = { "content-type": "application/merge-patch+json", "content-length": String(length) };
        const target = method === "POST" ? WIDGETS : `${WIDGETS}/one`;
        const response = await member.call(target, { method, body, headers });
        expect([response.status, response.body]).toEqual([method === "POST" ? 201 : 200, { length, sha: sha(body) }]);
        expect(stub.arrivals[0]!.all("content-length")).toEqual(length === 0 ? expect.anything() : [String(length)]);
        expect(stub.arrivals[0]!.all("content-type")).toEqual(["application/merge-patch+json"]);
      },
    );
  }

  test("§8-bodies that is chunked arrives completely", async () => {
    stub.respond = echo;
    const body = Buffer.alloc(200_000, "xyz");
    const headers = { "content-type": "application/json", "transfer-encoding": "chunked" };
    const response = await member.call(WIDGETS, { method: "POST", body, headers });
    expect([response.status, response.body]).toEqual([201, { length: body.length, sha: sha(body) }]);
  });

  test("§8-bodies with Expect: 100-continue gets 100 Continue from the local server, and the peer does not receive the Expect header", async () => {
    stub.respond = echo;
    const socket = await member.connect();
    socket.write(
      `POST ${WIDGETS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer admin-token\r\nContent-Length: 4\r\n` +
        "Content-Type: application/json\r\nExpect: 100-continue\r\nConnection: close\r\n\r\n",
    );
    const [first] = (await once(socket, "data")) as [Buffer];
    expect(first.toString("latin1")).toMatch(/^HTTP\/1.1 100 /);
    socket.write("true");
    const [second] = (await once(socket, "data")) as [Buffer];
    expect(second.toString("latin1")).toMatch(/^HTTP\/1.1 201 /);
    expect(stub.arrivals[0]!.all("expect")).toEqual([]);
    socket.destroy();
  });
});

describe("the response to a proxied request", () => {
  test("§9-11 has the peer's headers instead of local headers, and repeats only headers that the peer repeated", async () => {
    stub.respond = (_request, response) =>
      sendJson(
        response,
        200,
        {},
        {
          "Audit-Id": "of-the-peer",
          "Cache-Control": "of-the-peer",
          "X-Kubernetes-Pf-Flowschema-Uid": "flow",
          Warning: ['299 - "one"', '299 - "two"'],
          "Access-Control-Allow-Origin": "*",
          "Keep-Alive": "timeout=5",
        },
      );
    const { rawHeaders, headers } = await member.get(WIDGETS);
    const names = rawHeaders.filter((_value, at) => at % 2 === 0).map((name) => name.toLowerCase());
    const twice = names.filter((name, at) => names.indexOf(name) !== at);
    expect(twice).toEqual(["warning"]);
    expect(headers["cache-control"]).toBe("of-the-peer");
    expect(headers["x-kubernetes-pf-flowschema-uid"]).toBe("flow");
    // The audit ID that the local server sent to the peer, so that both servers log the same ID.
    expect(headers["audit-id"]).toBe(stub.arrivals[0]!.all("audit-id").join());
    expect(headers["access-control-allow-origin"]).toBeUndefined();
    expect(headers["keep-alive"]).not.toBe("timeout=5");
  });

  test("loses its trailers, which are connection-specific, and keeps its body", async () => {
    stub.respond = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json", trailer: "X-Sum" });
      response.write("[1,");
      response.addTrailers({ "X-Sum": "1" });
      response.end("2]");
    };
    const answer = await member.get(WIDGETS);
    expect(answer.body).toEqual([1, 2]);
    expect(answer.headers["trailer"]).toBeUndefined();
  });

  test("to HEAD has the headers of the peer and no body", async () => {
    stub.respond = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-length": "1234" });
      response.end();
    };
    const answer = await member.call(WIDGETS, { method: "HEAD" });
    expect([answer.status, answer.headers["content-length"], answer.bytes.length]).toEqual([200, "1234", 0]);
    expect(stub.arrivals[0]!.method).toBe("HEAD");
  });

  test("arrives after informational responses of the peer", async () => {
    stub.respond = (_request, response) => {
      response.writeEarlyHints({ link: "</x>; rel=preload" });
      response.writeProcessing();
      sendJson(response, 200, { is: "the answer" });
    };
    expect((await member.get(WIDGETS)).body).toEqual({ is: "the answer" });
  });

  test.each([400, 403, 409, 410, 422, 429, 500, 504])("has the status and body of the peer's %i", async (status) => {
    stub.respond = (_request, response) => sendJson(response, status, { kind: "Status", code: status, message: "m" });
    const answer = await member.get(`${WIDGETS}/one`);
    expect([answer.status, answer.body]).toEqual([status, { kind: "Status", code: status, message: "m" }]);
  });

  test("of 25 MB is sent only as fast as a slow client reads, and is not buffered", async () => {
    const piece = Buffer.alloc(64 * 1024, "x");
    const pieces = 400;
    let written = 0;
    stub.respond = async (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      for (; written < pieces; written++) if (!response.write(piece)) await once(response, "drain");
      response.end();
    };
    const message = await member.open(WIDGETS);
    message.pause();
    let before = -1;
    // The peer stops writing when the connection buffers are full, because the client does not read.
    await eventually(
      () => {
        const isStill = written === before;
        before = written;
        return new Promise<boolean>((resolve) => setTimeout(resolve, 100, isStill && written > 0));
      },
      (isStill) => isStill,
    );
    expect(written).toBeLessThan(pieces);
    let length = 0;
    for await (const chunk of message) length += (chunk as Buffer).length;
    expect(length).toBe(pieces * piece.length);
  });

  test("that the peer aborts is aborted for the client too", async () => {
    stub.respond = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.write('{"items":[', () => response.destroy());
    };
    await expect(member.get(WIDGETS)).rejects.toThrow(/aborted|hang up|ECONNRESET/);
  });
});

describe("a proxied watch", () => {
  test("§8-watch sends events as the peer sends them, and ends when the peer ends the watch", async () => {
    const sent = Promise.withResolvers<ServerResponse>();
    stub.respond = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      sent.resolve(response);
    };
    const message = await member.open(`${WIDGETS}?watch=true`);
    const peer = await sent.promise;
    for (const name of ["one", "two", "three"]) {
      const event = `${JSON.stringify({ type: "ADDED", object: { metadata: { name } } })}\n`;
      peer.write(event);
      const [chunk] = (await once(message, "data")) as [Buffer];
      expect(chunk.toString("utf8")).toBe(event);
    }
    peer.end();
    await once(message, "end");
    expect(message.complete).toBe(true);
  });

  test("§8-watch ends at the peer when the client disconnects", async () => {
    const closed = Promise.withResolvers<void>();
    stub.respond = (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.flushHeaders();
      response.on("close", () => closed.resolve());
    };
    const message = await member.open(`${WIDGETS}?watch=true`);
    message.on("error", () => {});
    message.destroy();
    await closed.promise;
  });

  test("or any other request ends at the peer when the client disconnects before the response", async () => {
    const arrived = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    stub.respond = (_request, response) => {
      arrived.resolve();
      response.on("close", () => closed.resolve());
    };
    const giveUp = new AbortController();
    const asked = member.call(WIDGETS, { signal: giveUp.signal });
    await arrived.promise;
    giveUp.abort();
    await expect(asked).rejects.toThrow(/abort/i);
    await closed.promise;
  });

  test("§9-10 does not count toward the limit of requests in flight", async () => {
    stub.respond = (request, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      if (request.url!.includes("watch=true")) response.flushHeaders();
      else response.end("{}");
    };
    // The user is not an administrator, because administrators are exempt from the limit.
    const token = "jane-token";
    const open = await Promise.all([1, 2, 3].map(() => member.open(`${WIDGETS}?watch=true`, { token })));
    open.forEach((message) => message.on("error", () => {}));
    expect((await member.call(WIDGETS, { token })).status).toBe(200);
    expect((await member.call("/api/v1/namespaces", { token })).status).toBe(200);
    open.forEach((message) => message.destroy());
  });
});

describe("a proxied upgrade", () => {
  const attach = (more: Record<string, string> = {}): string =>
    [
      `POST ${WIDGETS}/one/attach?stdin=true HTTP/1.1`,
      "Host: example",
      "Authorization: Bearer jane-token",
      "Connection: Upgrade",
      "Upgrade: SPDY/3.1",
      "X-Stream-Protocol-Version: v4.channel.k8s.io",
      ...Object.entries(more).map(([name, value]) => `${name}: ${value}`),
      "",
      "",
    ].join("\r\n");

  test("§9-9 §8-upgrade sends the user's identity, switches protocols, and passes bytes in both directions", async () => {
    stub.onUpgrade = (_request, socket) => {
      socket.write(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n" +
          "X-Stream-Protocol-Version: v4.channel.k8s.io\r\n\r\nhello ",
      );
      socket.on("data", (bytes: Buffer) => socket.write(bytes.toString("latin1").toUpperCase()));
      socket.on("end", () => socket.end());
    };
    const socket = await member.connect();
    let received = "";
    socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
    socket.write(attach());
    await eventually(
      () => received,
      (text) => text.endsWith("hello "),
    );
    expect(received).toMatch(/^HTTP\/1.1 101 /);
    expect(received.toLowerCase()).toContain("\r\nupgrade: spdy/3.1\r\n");
    expect(received.toLowerCase()).toContain("\r\nx-stream-protocol-version: v4.channel.k8s.io\r\n");
    socket.write("abc");
    await eventually(
      () => received,
      (text) => text.endsWith("ABC"),
    );
    socket.end();
    await once(socket, "close");
    const [seen] = stub.arrivals;
    expect(seen!.url).toBe(`${WIDGETS}/one/attach?stdin=true`);
    expect(seen!.all("X-Remote-User").map((name) => Buffer.from(name, "latin1").toString("utf8"))).toEqual(["Jäne"]);
    expect(seen!.all("X-Remote-Group")).toEqual(["dev", "ops team", "system:authenticated"]);
    expect(seen!.all("x-kubernetes-peer-proxied")).toEqual(["true"]);
    expect(seen!.all("Upgrade")).toEqual(["SPDY/3.1"]);
    expect(seen!.all("Connection")).toEqual(["Upgrade"]);
    expect(seen!.all("Authorization")).toEqual([]);
  });

  test("§8-upgrade that the peer rejects returns the peer's response", async () => {
    stub.onUpgrade = (_request, socket) => {
      const body = JSON.stringify({ kind: "Status", code: 403, reason: "Forbidden" } satisfies Json);
      socket.end(
        `HTTP/1.1 403 Forbidden\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
      );
    };
    const socket = await member.connect();
    let received = "";
    socket.on("data", (bytes: Buffer) => (received += bytes.toString("latin1")));
    socket.write(attach());
    await eventually(
      () => received,
      (text) => text.endsWith('"Forbidden"}'),
    );
    expect(received).toMatch(/^HTTP\/1.1 403 /);
    socket.destroy();
  });

  test("§8-upgrade ends at the peer when the client disconnects", async () => {
    const ended = Promise.withResolvers<void>();
    stub.onUpgrade = (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
      socket.resume();
      socket.on("error", () => {});
      socket.on("close", () => ended.resolve());
      socket.on("end", () => socket.end());
    };
    const socket = await member.connect();
    socket.write(attach());
    await once(socket, "data");
    socket.destroy();
    await ended.promise;
  });

  test("§8-upgrade is ended by the shutdown of the local server, which does not wait until its deadline", async () => {
    // The deadline of the shutdown is longer than that of the test.
    await using other = await startCluster([{ options: { requestTimeoutMs: 600_000 } }]);
    const { member: local, stub: peer } = await startStub(other);
    const ended = Promise.withResolvers<void>();
    peer.onUpgrade = (_request, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: SPDY/3.1\r\n\r\n");
      socket.resume();
      socket.on("error", () => {});
      socket.on("close", () => ended.resolve());
    };
    const socket = await local.connect();
    socket.on("error", () => {});
    socket.write(attach());
    await once(socket, "data");
    const closed = once(socket, "close");
    await local.stop();
    await Promise.all([closed, ended.promise]);
  });
});
