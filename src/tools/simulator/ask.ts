/** One request of a client to one server, with time moving as far as it must. */
import { SERVED_BY_HEADER } from "../../cluster/peers/hop.ts";
import type { SimulatedCluster } from "./cluster.ts";
import type { SimulatedServer } from "./server.ts";

export interface Told {
  readonly status: number;
  readonly text: string;
  readonly servedBy: string | undefined;
}

/** Longer than any server takes to answer. */
const PATIENCE_MS = 120_000;

export async function ask(
  cluster: SimulatedCluster,
  server: SimulatedServer,
  target: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Told> {
  const asking = server.request({ method: "GET", target, headers }).then(async (response): Promise<Told> => {
    const servedBy = response.headers[SERVED_BY_HEADER];
    return { status: response.status, text: await response.text(), servedBy: servedBy?.toString() };
  });
  return cluster.world.run(asking, PATIENCE_MS);
}
