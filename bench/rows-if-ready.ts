/**
 * Compares the same GET with and without X-Kubernetes-If-Ready over TLS, on a server that supports the header and one
 * that does not.
 */
import type { BenchContext } from "./bench-context.ts";
import type { RequestShape } from "./client/protocol.ts";
import { measureRounds } from "./rounds.ts";
import type { Row } from "./row.ts";
import { startServer, temporaryDirectory } from "./servers.ts";

const REQUEST: RequestShape = { method: "GET", path: "/api/v1/namespaces/default", expectStatus: 200 };

export async function ifReadyTlsRows(context: BenchContext): Promise<Row[]> {
  return [
    await measured(context, "on", ["--startup-send-retry-after-if-not-initialized"]),
    await measured(context, "off", []),
  ];
}

async function measured(context: BenchContext, option: "on" | "off", flags: readonly string[]): Promise<Row> {
  const { client, cores, options } = context;
  const directory = temporaryDirectory();
  const server = await startServer({ core: cores?.server, dataDirectory: directory.path, flags });
  const side = { pids: [server.pid], port: server.port };
  try {
    const { floor, ours, ratio, wall } = await measureRounds({
      ...{ client, protocol: "http/1.1", connections: 32, concurrency: 32, rounds: options.rounds },
      count: Math.max(1, Math.round(20_000 * options.scale)),
      warmUp: Math.max(1, Math.round(10_000 * options.scale)),
      floor: { ...side, request: REQUEST },
      ours: { ...side, request: { ...REQUEST, asksIfReady: true } },
    });
    const title = `GET with If-Ready over TLS, ${option}`;
    return { id: `if-ready-tls/${option}`, title, unit: "CPU µs/request", floor, ours, ratio, wall };
  } finally {
    await server.stop();
    directory.remove();
  }
}
