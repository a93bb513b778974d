/** A client's transport to the cluster. It passes every response to the judge before the client receives it. */
import { randomUuid, type Random } from "../../base/random.ts";
import {
  readBody,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
} from "../../client/transport.ts";
import { SERVED_BY_HEADER } from "../../cluster/peers/hop.ts";
import { Query } from "../../serving/http/query.ts";
import { parseRequestInfo } from "../../serving/http/request-info.ts";
import type { ObservedResponse } from "./judge.ts";
import type { RehearsalStage } from "./stage.ts";

interface RehearsalTransportOptions {
  readonly stage: Pick<RehearsalStage, "connect" | "clock">;
  readonly random: Random;
  readonly client: string;
  /** The server to which the client connects while it is listening; undefined for any ready server. */
  readonly home: string | undefined;
  readonly onResponse: (response: ObservedResponse) => void;
  /** Called if no server is listening or a request gets no response. */
  readonly onNoResponse: () => void;
}

const RESPONSE_BYTES_MAX = 64 * 1024 * 1024;

export function createRehearsalTransport(options: RehearsalTransportOptions): Transport {
  return { send: (request) => send(request, options) };
}

async function send(request: ClientRequest, options: RehearsalTransportOptions): Promise<ClientResponse> {
  const { stage, random, onNoResponse: onSilence, client, home } = options;
  const { method, target, signal } = request;
  const connection = stage.connect(random, home);
  if (connection === undefined) {
    onSilence();
    throw new TransportError("refused", "no server is listening");
  }
  const auditId = randomUuid(random);
  const startedAtMs = stage.clock.monotonic();
  const about = {
    client,
    serverId: connection.serverId,
    auditId,
    method,
    target,
    startedAtMs,
    ...parseTarget(method, target),
  };
  try {
    const response = await connection.send({ ...request, headers: { ...request.headers, "audit-id": auditId } });
    const { status, headers } = response;
    const isStream = about.info.verb === "watch" && status === 200;
    const bytes = isStream ? new Uint8Array() : await readBody(response.body, RESPONSE_BYTES_MAX);
    const text = new TextDecoder().decode(bytes);
    const servedBy = headers[SERVED_BY_HEADER];
    options.onResponse({ ...about, status, text, servedBy, atMs: stage.clock.monotonic() });
    return isStream ? response : { status, headers, body: whole(bytes) };
  } catch (thrown) {
    if (signal?.aborted !== true) onSilence();
    throw thrown;
  }
}

function parseTarget(method: string, target: string): Pick<ObservedResponse, "info" | "query"> {
  const queryAt = target.indexOf("?");
  const query = new Query(queryAt < 0 ? "" : target.slice(queryAt + 1));
  const info = parseRequestInfo(method, queryAt < 0 ? target : target.slice(0, queryAt), query);
  if (info === undefined) throw new TypeError(`${target} is not a path`);
  return { info, query };
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  await Promise.resolve();
  yield bytes;
}
