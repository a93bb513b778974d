/** Connects `evenkeel inspect --kubeconfig` to the API of a cluster. */
import { createClient } from "../../client/client.ts";
import { createNodeTransport } from "../../client/node-transport.ts";
import { TransportError } from "../../client/transport.ts";
import type { Env } from "../../server/env.ts";
import { ApiRequests } from "../upgrade/api/api-requests.ts";
import { inspectApi } from "../upgrade/api/inspect-api.ts";
import type { Inspection } from "../upgrade/inspect/inspection.ts";
import type { ReadProgress } from "../upgrade/stored-data.ts";
import { CommandFailure } from "./failure.ts";
import type { InspectFlags } from "./inspect-flags.ts";
import { asUsable } from "./read-file.ts";
import { connectionOf, unreachableMessage } from "./request-server.ts";

const TIMEOUT_MS = 60_000;
const RETRIES_MAX = 3;

interface Watched {
  readonly signal: AbortSignal;
  readonly onProgress: (progress: ReadProgress, what: string) => void;
}

export async function inspectApiOf(
  flags: InspectFlags,
  { signal, onProgress }: Watched,
  { clock, random }: Env,
): Promise<Inspection> {
  const { kubeconfig, context, token, caFile, from, to } = flags;
  const connection = connectionOf({
    output: "json",
    ...(kubeconfig !== undefined && { kubeconfig }),
    ...(context !== undefined && { context }),
    ...(token !== undefined && { token }),
    ...(caFile !== undefined && { caFile }),
  });
  const { url } = connection;
  if (!URL.canParse(url) || !/^https?:/.test(url))
    throw new CommandFailure(`${JSON.stringify(url)} is not a server URL such as https://127.0.0.1:6443`, 2);
  using transports = new DisposableStack();
  const connect = (): ApiRequests => {
    const transport = asUsable(() => createNodeTransport(connection), `the certificates for ${url} cannot be used`);
    transports.use(transport);
    const defaults = { timeoutMs: TIMEOUT_MS, retriesMax: RETRIES_MAX };
    const client = createClient({ transport, clock, random, userAgent: "evenkeel-inspect", defaults });
    return new ApiRequests(client, url, signal);
  };
  try {
    return await inspectApi({
      requests: connect(),
      reconnect: connect,
      signal,
      onProgress: (progress) => onProgress(progress, "of the resources read"),
      ...(from && { from }),
      ...(to && { to }),
    });
  } catch (thrown) {
    if (thrown instanceof TransportError) throw new CommandFailure(unreachableMessage(url, thrown, TIMEOUT_MS), 2);
    throw thrown;
  }
}
