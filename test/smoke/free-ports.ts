import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";

/** Finds ports for servers whose addresses must be known before they start. */
export async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer());
  for (const server of servers) await once(server.listen(0, "127.0.0.1"), "listening");
  const ports = servers.map((server) => (server.address() as AddressInfo).port);
  for (const server of servers) await once(server.close(), "close");
  return ports;
}
