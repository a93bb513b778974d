/** A client's way to the cluster, on which every answer is seen by whoever judges it before the client has it. */
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
import type { Answered } from "./judge.ts";
import type { Stage } from "./stage.ts";

export interface TransportOptions {
  readonly stage: Pick<Stage, "door" | "clock">;
  readonly random: Random;
  readonly client: string;
  /** The server it asks as long as that listens; undefined: any that is ready. */
  readonly home: string | undefined;
  readonly onAnswer: (answer: Answered) => void;
  /** Nobody was there, or nobody answered. */
  readonly onSilence: () => void;
}

const ANSWER_BYTES_MAX = 64 * 1024 * 1024;

export function createRehearsalTransport(options: TransportOptions): Transport {
  return { send: (request) => send(request, options) };
}

async function send(request: ClientRequest, options: TransportOptions): Promise<ClientResponse> {
  const { stage, random, onSilence, client, home } = options;
  const { method, target, signal } = request;
  const door = stage.door(random, home);
  if (door === undefined) {
    onSilence();
    throw new TransportError("refused", "no server listens");
  }
  const auditId = randomUuid(random);
  const startedAtMs = stage.clock.monotonic();
  const about = {
    client,
    serverId: door.serverId,
    auditId,
    method,
    target,
    startedAtMs,
    ...parseTarget(method, target),
  };
  try {
    const response = await door.send({ ...request, headers: { ...request.headers, "audit-id": auditId } });
    const { status, headers } = response;
    const isStream = about.info.verb === "watch" && status === 200;
    const bytes = isStream ? new Uint8Array() : await readBody(response.body, ANSWER_BYTES_MAX);
    const text = new TextDecoder().decode(bytes);
    const servedBy = headers[SERVED_BY_HEADER];
    options.onAnswer({ ...about, status, text, servedBy, atMs: stage.clock.monotonic() });
    return isStream ? response : { status, headers, body: whole(bytes) };
  } catch (thrown) {
    if (signal?.aborted !== true) onSilence();
    throw thrown;
  }
}

function parseTarget(method: string, target: string): Pick<Answered, "info" | "query"> {
  const question = target.indexOf("?");
  const query = new Query(question < 0 ? "" : target.slice(question + 1));
  const info = parseRequestInfo(method, question < 0 ? target : target.slice(0, question), query);
  if (info === undefined) throw new TypeError(`${target} is no path`);
  return { info, query };
}

async function* whole(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  await Promise.resolve();
  yield bytes;
}
