/**
 * The floor for a proxied request: a plain pass-through server in front of a plain server, with mutual TLS between
 * them.
 */
import type { FloorResponse, FloorMessage } from "./floor-server.ts";
import { SERVER_NAME, type HopCertificates } from "./hop-certificates.ts";
import type { PassThroughMessage } from "./pass-through-server.ts";
import { freePort, startPlain } from "./servers.ts";
import { untilReady } from "./until-ready.ts";

export interface FloorHop {
  readonly pids: readonly number[];
  /** Port of the pass-through server. */
  readonly port: number;
  setResponse(path: string, answer: FloorResponse): Promise<void>;
  stop(): Promise<void>;
}

export async function startFloorHop(certificates: HopCertificates, core: number | undefined): Promise<FloorHop> {
  const { serving, servingCaPem, client, clientCaPem } = certificates;
  await using stack = new AsyncDisposableStack();
  const destination = startPlain("floor-server.ts", core);
  stack.defer(() => destination.stop());
  const source = startPlain("pass-through-server.ts", core);
  stack.defer(() => source.stop());
  const port = await freePort();
  const destinationPort = await freePort();
  const common = { cert: serving.certPem, key: serving.keyPem };
  const tell = (message: FloorMessage): Promise<unknown> => destination.child.ask(message);
  await tell({ kind: "start", ...common, port: destinationPort, clientCa: clientCaPem });
  await source.child.ask({
    ...common,
    port,
    destination: {
      port: destinationPort,
      ca: servingCaPem,
      serverName: SERVER_NAME,
      clientCert: client.certPem,
      clientKey: client.keyPem,
    },
  } satisfies PassThroughMessage);
  await untilReady(port, source.child);
  const owned = stack.move();
  return {
    pids: [source.child.pid, destination.child.pid],
    port,
    setResponse: async (path, response) => void (await tell({ kind: "answer", path, answer: response })),
    stop: () => owned.disposeAsync(),
  };
}
