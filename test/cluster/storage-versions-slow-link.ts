/** A TCP proxy to etcd that delays responses, so that a test can act in the middle of an operation. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

export interface SlowLink extends AsyncDisposable {
  readonly endpoint: string;
  /** The delay of each response of etcd, in milliseconds. */
  lagMs: number;
}

export async function startSlowLink(endpoint: string): Promise<SlowLink> {
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const etcd = connect({ host: "127.0.0.1", port: Number(new URL(endpoint).port), noDelay: true });
    client.setNoDelay();
    for (const socket of [client, etcd]) {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        sockets.delete(socket);
        client.destroy();
        etcd.destroy();
      });
    }
    client.pipe(etcd);
    // Chunks are sent one after the other, so that no chunk overtakes an earlier one when the delay is shortened.
    let sent: Promise<unknown> = Promise.resolve();
    etcd.on("data", (bytes) => {
      const late = delay(link.lagMs);
      sent = Promise.all([sent, late]).then(() => client.write(bytes));
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const link: SlowLink = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lagMs: 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
  return link;
}
