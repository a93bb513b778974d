import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { expect, test } from "vitest";
import { openLoadBalancer, type Backend, type LoadBalancer } from "./load-balancer.ts";

class Bench implements AsyncDisposable {
  readonly ready = new Set<string>();
  readonly #closing: (() => Promise<unknown>)[] = [];
  balancer!: LoadBalancer;

  static async open(): Promise<Bench> {
    const bench = new Bench();
    bench.balancer = await openLoadBalancer({
      host: "127.0.0.1",
      port: 0,
      isReady: ({ id }) => Promise.resolve(bench.ready.has(id)),
      onChange: () => {},
    });
    bench.#closing.push(() => bench.balancer.close());
    return bench;
  }

  /** A backend that sends its name and, once the client has ended its side, everything that it has received. */
  async backend(id: string): Promise<Backend & { stop(): Promise<void> }> {
    const sockets = new Set<Socket>();
    const server = createServer({ allowHalfOpen: true }, (socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.write(`${id}:`);
      socket.pipe(socket);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const stop = async (): Promise<void> => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => {
        server.close(resolve);
      });
    };
    this.#closing.push(stop);
    this.ready.add(id);
    return { id, host: "127.0.0.1", port: (server.address() as AddressInfo).port, stop };
  }

  async send(text: string | Buffer): Promise<string> {
    const socket = connect({ host: "127.0.0.1", port: this.balancer.port, allowHalfOpen: true });
    socket.end(text);
    let response = "";
    for await (const chunk of socket.setEncoding("latin1")) response += chunk;
    return response;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.#closing) await close();
  }
}

test("connections go to the ready servers in turn, and a client can end its side and still receive data", async () => {
  await using bench = await Bench.open();
  const [a, b, c] = [await bench.backend("a"), await bench.backend("b"), await bench.backend("c")];
  bench.ready.delete("b");
  await bench.balancer.setBackends([a, b, c]);
  const responses = [await bench.send("1"), await bench.send("2"), await bench.send("3")];
  expect(responses).toEqual(["a:1", "c:2", "a:3"]);
  expect(bench.balancer.counts).toMatchObject({ accepted: 3, rejected: 0 });
});

test("a server that rejects a connection is skipped at once, and not used again until it is ready", async () => {
  await using bench = await Bench.open();
  const [a, b] = [await bench.backend("a"), await bench.backend("b")];
  await bench.balancer.setBackends([a, b]);
  await a.stop();
  bench.ready.delete("a");
  expect([await bench.send("1"), await bench.send("2")]).toEqual(["b:1", "b:2"]);
  expect(bench.balancer.isReady("a")).toBe(false);
});

test("a connection remains open when its server is no longer ready", async () => {
  await using bench = await Bench.open();
  const a = await bench.backend("a");
  await bench.balancer.setBackends([a]);
  const socket = connect({ host: "127.0.0.1", port: bench.balancer.port, allowHalfOpen: true });
  const [greeting] = (await once(socket, "data")) as [Buffer];
  bench.ready.delete("a");
  await bench.balancer.checkAll();
  socket.end("still here");
  let response = String(greeting);
  for await (const chunk of socket) response += String(chunk);
  expect(response).toBe("a:still here");
});

test("without a ready server a connection is closed at once", async () => {
  await using bench = await Bench.open();
  await expect(bench.send("1")).rejects.toThrow("ECONNRESET");
  expect(bench.balancer.counts.rejected).toBe(1);
});

test("a connection forwards megabytes unchanged", async () => {
  await using bench = await Bench.open();
  await bench.balancer.setBackends([await bench.backend("a")]);
  const bytes = Buffer.alloc(8 * 1024 * 1024, "0123456789");
  expect(await bench.send(bytes)).toBe(`a:${bytes.toString("latin1")}`);
});
