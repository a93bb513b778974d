/** Sends one GET to one server, and advances virtual time until the response arrives. */
import { SERVED_BY_HEADER } from "../../src/cluster/peers/hop.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";

export interface GetResponse {
  readonly status: number;
  readonly text: string;
  readonly servedBy: string | undefined;
}

/** Longer than any server takes to respond. */
const PATIENCE_MS = 120_000;

export async function get(
  cluster: SimulatedCluster,
  server: SimulatedServer,
  target: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<GetResponse> {
  const asking = server.request({ method: "GET", target, headers }).then(async (response): Promise<GetResponse> => {
    const servedBy = response.headers[SERVED_BY_HEADER];
    return { status: response.status, text: await response.text(), servedBy: servedBy?.toString() };
  });
  return cluster.world.run(asking, PATIENCE_MS);
}
