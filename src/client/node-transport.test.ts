/** Tests of the transport over real sockets on 127.0.0.1. No other test of the client uses sockets. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer as createTcpServer, type AddressInfo, type Socket } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  startServer as startHandler,
  ok,
  streaming,
  testCertificate,
} from "../../test/testing/serving/http/node/test-server.ts";
import { leafOf } from "../../test/testing/serving/http/node/test-upstream.ts";
import type { ApiRequest, StreamSink } from "../serving/http/message.ts";
import { createNodeEnv } from "../server/env-node.ts";
import { resolveOptions } from "../server/config.ts";
import { startListening, type ListeningServer } from "../server/listener.ts";
import { createClient, type Client } from "./client.ts";
import { createFetchTransport } from "./fetch-transport.ts";
import { createNodeTransport, type NodeTransport } from "./node-transport.ts";
import type { KubernetesObject } from "./objects.ts";
import { collect, CONFIG_MAPS, configMap } from "../../test/testing/client/scripted-transport.ts";
import { readBody, type Transport } from "./transport.ts";

const env = createNodeEnv({ logLevel: "error", write: () => {} });

function clientOver(transport: Transport): Client {
  return createClient({ transport, clock: env.clock, random: env.random, userAgent: "tests" });
}

const text = async (transport: Transport, target: string, signal?: AbortSignal): Promise<string> => {
  const response = await transport.send({
    method: "GET",
    target,
    headers: {},
    ...(signal === undefined ? {} : { signal }),
  });
  return new TextDecoder().decode(await readBody(response.body, 1_000_000));
};

/** An Evenkeel server behind TLS, whose store survives restarts of the server. */
class Restartable {
  readonly directory = mkdtempSync(join(tmpdir(), "evenkeel-client-"));
  #certificate: Awaited<ReturnType<typeof testCertificate>> | undefined;
  #server: ListeningServer | undefined;
  #port = 0;

  async start(): Promise<void> {
    this.#certificate ??= testCertificate();
    const { certPem: cert, keyPem: key } = this.#certificate;
    const storage = { kind: "embedded", directory: this.directory } as const;
    const config = resolveOptions({ storage, tokenFile: 'secret,tester,1,"system:masters"\n' });
    this.#server = await startListening(env, config, { host: "127.0.0.1", port: this.#port, cert, key });
    this.#port = this.#server.port;
    await this.#server.server.ready;
  }

  async stop(): Promise<void> {
    await this.#server?.stop();
    this.#server = undefined;
  }

  transport(token: string): NodeTransport {
    return createNodeTransport({ url: `https://127.0.0.1:${this.#port}`, ca: this.#certificate!.caPem, token });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    rmSync(this.directory, { recursive: true, force: true });
  }
}

describe("with an Evenkeel server behind TLS", () => {
  test("an informer with a token resumes after a restart of the server", async () => {
    await using server = new Restartable();
    await server.start();
    using transport = server.transport("secret");
    const client = clientOver(transport);
    const configMaps = client.resource(CONFIG_MAPS);
    const bare = (name: string): KubernetesObject => ({ metadata: { name, namespace: "default" } });
    await configMaps.create(bare("before"));
    const informer = client.informer(CONFIG_MAPS, { namespace: "default" });
    const added = new Map<string, () => void>();
    const comes = (name: string): Promise<void> => new Promise((resolve) => added.set(name, resolve));
    informer.addHandler({ onAdd: ({ metadata }) => added.get(metadata?.name ?? "")?.() });
    const stop = new AbortController();
    const running = informer.run(stop.signal);
    try {
      expect(await informer.waitForSync()).toBe(true);
      const live = comes("live");
      await configMaps.create(bare("live"));
      await live;
      const later = comes("later");
      await server.stop();
      await server.start();
      await configMaps.create(bare("later"));
      await later;
      const { items } = await configMaps.list({ namespace: "default" });
      expect(new Set(informer.list().map(({ metadata }) => metadata?.name))).toEqual(
        new Set(["before", "later", "live"]),
      );
      expect(informer.list()).toEqual(expect.arrayContaining([...items]));
    } finally {
      stop.abort();
      await running;
    }
  });

  test("a wrong token fails with 401", async () => {
    await using server = new Restartable();
    await server.start();
    using wrong = server.transport("wrong");
    await expect(clientOver(wrong).resource(CONFIG_MAPS).list()).rejects.toMatchObject({ reason: "Unauthorized" });
  });
});

describe("requests", () => {
  const echo = async (request: ApiRequest): Promise<ReturnType<typeof ok>> => {
    const body = (await request.body.read(1_000)).toString();
    const { method, path, rawQuery, headers } = request;
    return ok(
      Buffer.from(
        JSON.stringify({
          method,
          path,
          rawQuery,
          body,
          authorization: headers["authorization"],
          userAgent: headers["user-agent"],
        }),
      ),
    );
  };

  test("arrive as they were sent, with the token that the token function returns for each request", async () => {
    await using server = await startHandler(echo);
    let turn = 0;
    using transport = createNodeTransport({
      url: `https://127.0.0.1:${server.listener.port}/`,
      ca: server.certificate.caPem,
      token: () => `t${++turn}`,
    });
    const spec = { method: "PUT", target: "/a/b?c=%20d", body: { ä: 1 } };
    await clientOver(transport).request(spec);
    const { text: response } = await clientOver(transport).request(spec);
    const expected = {
      method: "PUT",
      path: "/a/b",
      rawQuery: "c=%20d",
      body: '{"ä":1}',
      authorization: "Bearer t2",
      userAgent: "tests",
    };
    expect(JSON.parse(response)).toEqual(expected);
  });

  test("are not sent to a server whose certificate is not trusted", async () => {
    await using server = await startHandler(echo);
    using transport = createNodeTransport({
      url: `https://127.0.0.1:${server.listener.port}`,
      ca: testCertificate().caPem,
    });
    await expect(text(transport, "/")).rejects.toMatchObject({ name: "TransportError", failure: "other" });
  });

  test("are sent to a server whose own certificate is trusted, but only under the names in this certificate", async () => {
    await using server = await startHandler(echo);
    const options = { url: `https://127.0.0.1:${server.listener.port}`, ca: leafOf(server.certificate) };
    using transport = createNodeTransport(options);
    expect(await text(transport, "/")).toContain('"path":"/"');
    using misnamed = createNodeTransport({ ...options, serverName: "other.example" });
    await expect(text(misnamed, "/")).rejects.toMatchObject({ cause: { code: "ERR_TLS_CERT_ALTNAME_INVALID" } });
    using unrelated = createNodeTransport({ ...options, ca: leafOf(testCertificate()) });
    await expect(text(unrelated, "/")).rejects.toMatchObject({ name: "TransportError", failure: "other" });
  });

  test("for a stream report whether the stream ended or was interrupted", async () => {
    await using server = await startHandler(async ({ path }) =>
      streaming((sink) => {
        sink.write({ bytes: Buffer.from("begun") });
        if (path === "/cut") sink.abort();
        else sink.end();
      }),
    );
    using transport = createNodeTransport({
      url: `https://127.0.0.1:${server.listener.port}`,
      ca: server.certificate.caPem,
    });
    expect(await text(transport, "/end")).toBe("begun");
    await expect(text(transport, "/cut")).rejects.toMatchObject({ failure: "reset" });
  });

  test("end when the signal aborts, while they wait for a response or read a stream, and the server notices", async () => {
    const closed: string[] = [];
    const gone = Promise.withResolvers<void>();
    await using server = await startHandler(async (request) => {
      if (request.path === "/never") return new Promise(() => {});
      return streaming((sink: StreamSink) => {
        sink.onClose(() => {
          closed.push(request.path);
          gone.resolve();
        });
        sink.write({ bytes: Buffer.from("begun") });
      });
    });
    using transport = createNodeTransport({
      url: `https://127.0.0.1:${server.listener.port}`,
      ca: server.certificate.caPem,
    });
    const stop = new AbortController();
    const waiting = text(transport, "/never", stop.signal);
    const response = await transport.send({ method: "GET", target: "/stream", headers: {}, signal: stop.signal });
    const reading = (async (): Promise<void> => {
      for await (const chunk of response.body) if (chunk.length > 0) stop.abort();
    })();
    await expect(waiting).rejects.toMatchObject({ failure: "aborted" });
    await expect(reading).rejects.toMatchObject({ failure: "aborted" });
    await gone.promise;
    expect(closed).toEqual(["/stream"]);
    await expect(text(transport, "/stream", stop.signal)).rejects.toMatchObject({ failure: "aborted" });
  });

  test("close the connection when the caller stops reading the body", async () => {
    const gone = Promise.withResolvers<void>();
    await using server = await startHandler(async () =>
      streaming((sink) => {
        sink.onClose(() => gone.resolve());
        sink.write({ bytes: Buffer.from(`${JSON.stringify({ type: "ADDED", object: configMap("a", 1) })}\n`) });
      }),
    );
    using transport = createNodeTransport({
      url: `https://127.0.0.1:${server.listener.port}`,
      ca: server.certificate.caPem,
    });
    for await (const event of clientOver(transport).resource(CONFIG_MAPS).watch()) {
      expect(event.type).toBe("ADDED");
      break;
    }
    await gone.promise;
  });
});

describe("connections", () => {
  const PLAIN = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

  /** A plain TCP server that responds to each request with the next of `responses`. */
  async function tcpServer(
    ...responses: ((socket: Socket) => void)[]
  ): Promise<{ url: string; connections: () => number } & AsyncDisposable> {
    let connections = 0;
    const sockets = new Set<Socket>();
    const server = createTcpServer((socket) => {
      connections++;
      sockets.add(socket);
      socket.on("error", () => {}).on("data", () => responses.shift()?.(socket));
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    return {
      url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      connections: () => connections,
      async [Symbol.asyncDispose]() {
        for (const socket of sockets) socket.destroy();
        server.close();
        await once(server, "close");
      },
    };
  }

  test("a connection is reused for the next request", async () => {
    await using server = await tcpServer(
      (socket) => socket.write(PLAIN),
      (socket) => socket.write(PLAIN),
    );
    using transport = createNodeTransport({ url: server.url });
    await text(transport, "/");
    await text(transport, "/");
    expect(server.connections()).toBe(1);
  });

  test("a read on a reused connection that the server has closed is sent again on another connection", async () => {
    await using server = await tcpServer(
      (socket) => socket.write(PLAIN),
      (socket) => socket.destroy(),
      (socket) => socket.write(PLAIN),
    );
    using transport = createNodeTransport({ url: server.url });
    await text(transport, "/");
    expect(await text(transport, "/")).toBe("{}");
    expect(server.connections()).toBe(2);
  });

  test("a write on a reused connection that the server has closed fails, because it may have been executed", async () => {
    await using server = await tcpServer(
      (socket) => socket.write(PLAIN),
      (socket) => socket.destroy(),
    );
    using transport = createNodeTransport({ url: server.url });
    await text(transport, "/");
    await expect(
      transport.send({ method: "POST", target: "/", headers: {}, body: new Uint8Array(3) }),
    ).rejects.toMatchObject({ failure: "reset" });
  });

  test("a request fails if its new connection breaks before the response", async () => {
    await using server = await tcpServer((socket) => socket.destroy());
    using transport = createNodeTransport({ url: server.url });
    await expect(text(transport, "/")).rejects.toMatchObject({ failure: "reset" });
  });

  test("a request fails if the response is shorter than its content-length", async () => {
    await using server = await tcpServer((socket) => socket.end("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}"));
    using transport = createNodeTransport({ url: server.url });
    await expect(text(transport, "/")).rejects.toMatchObject({ failure: "reset" });
  });

  test("a request fails if the response is interrupted before the caller reads it", async () => {
    const closed = Promise.withResolvers<void>();
    await using server = await tcpServer((socket) => {
      socket.on("close", () => closed.resolve());
      socket.end("HTTP/1.1 200 OK\r\ncontent-length: 20\r\n\r\n{}");
    });
    using transport = createNodeTransport({ url: server.url });
    const response = await transport.send({ method: "GET", target: "/", headers: {} });
    await closed.promise;
    await expect(readBody(response.body, 100)).rejects.toMatchObject({ failure: "reset" });
  });

  test("a request fails if the response is not HTTP", async () => {
    await using server = await tcpServer((socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
    using transport = createNodeTransport({ url: server.url });
    await expect(text(transport, "/")).rejects.toMatchObject({ name: "TransportError" });
  });

  test('a request to a port on which no server listens fails as "refused"', async () => {
    const server = await tcpServer();
    const { url } = server;
    await server[Symbol.asyncDispose]();
    using transport = createNodeTransport({ url });
    await expect(text(transport, "/")).rejects.toMatchObject({ failure: "refused" });
  });

  test("the transport over fetch reports the same failures", async () => {
    const line = `${JSON.stringify({ type: "ADDED", object: configMap("a", 1) })}\n`;
    const watch = `HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n${line.length.toString(16)}\r\n${line}\r\n`;
    await using server = await tcpServer(
      (socket) => socket.end(PLAIN.replace("content-length", "connection: close\r\ncontent-length")),
      (socket) => socket.end(`${watch}0\r\n\r\n`),
      (socket) => socket.write(watch, () => socket.destroy()),
    );
    const transport = createFetchTransport({ fetch: globalThis.fetch, url: `${server.url}/`, token: "t" });
    const configMaps = clientOver(transport).resource(CONFIG_MAPS);
    expect(await text(transport, "/")).toBe("{}");
    expect(await collect(configMaps.watch())).toHaveLength(1);
    await expect(collect(configMaps.watch())).rejects.toMatchObject({ failure: "reset" });
    await expect(text(transport, "/", AbortSignal.abort())).rejects.toMatchObject({ failure: "aborted" });
    const nobody = createFetchTransport({ fetch: globalThis.fetch, url: "http://127.0.0.1:9" });
    await expect(text(nobody, "/")).rejects.toMatchObject({ name: "TransportError" });
  });
});
