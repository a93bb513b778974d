/** An HTTP proxy for tests that supports only CONNECT and records the requested addresses. */
import { once } from "node:events";
import { createServer } from "node:http";
import { connect, type AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import type { TestCluster } from "./cluster.ts";

export interface ConnectProxy {
  readonly port: number;
  readonly path: string;
  readonly targets: readonly string[];
}

export async function startConnectProxy(cluster: TestCluster, at: number | string): Promise<ConnectProxy> {
  const server = createServer((_request, response) => response.writeHead(405).end());
  const sockets = new Set<Duplex>();
  const targets: string[] = [];
  server.on("connect", (request, socket) => {
    targets.push(request.url!);
    const [host, port] = request.url!.split(":");
    const other = connect({ host: host!, port: Number(port) });
    for (const end of [socket, other]) {
      sockets.add(end);
      end.on("error", () => {});
      end.on("close", () => {
        socket.destroy();
        other.destroy();
      });
    }
    other.on("connect", () => {
      socket.write("HTTP/1.1 200 Connection established\r\n\r\n");
      socket.pipe(other);
      other.pipe(socket);
    });
  });
  if (typeof at === "number") server.listen(at, "127.0.0.1");
  else server.listen(at);
  await once(server, "listening");
  cluster.defer(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, "close");
  });
  const address = server.address() as AddressInfo | string;
  return typeof address === "string" ? { port: 0, path: address, targets } : { port: address.port, path: "", targets };
}
