/**
 * Retries for Watch, Log and Metrics of client-node 1.x, which send Node requests through an agent. This agent sends
 * requests of its own instead, and passes the first final response to the original request. All of these requests are
 * reads.
 */
import {
  request as httpRequest,
  type Agent as NodeAgent,
  type ClientRequest,
  type IncomingMessage,
  type RequestOptions,
} from "node:http";
import { request as httpsRequest } from "node:https";
import { sleep } from "../../base/clock.ts";
import { failureOf, onceConnected } from "../node-failures.ts";
import { attemptsAt, outcomeOf, waitAfter, type Lane } from "./lane.ts";
import { replacing, type Agent } from "./shapes.ts";

export function retryingAgent(agent: Agent, lane: Lane): Agent {
  return replacing(agent, "addRequest", (added, options) => {
    const request = added as ClientRequest;
    if (request.method !== "GET") agent.addRequest(request, options);
    else
      void sendWithRetries({ agent, request, options, lane }).catch((thrown: unknown) => request.emit("error", thrown));
  });
}

/** Wraps the agent to call back when a connection is established, before the first byte is sent. */
export function connectedAgent(agent: Agent, callback: () => void): Agent {
  return replacing(agent, "addRequest", (request, options) => {
    onceConnected(request as ClientRequest, callback);
    agent.addRequest(request, options);
  });
}

interface Exchange {
  readonly agent: Agent;
  /**
   * The original request of client-node. It never gets a connection: the agent sends other requests instead, and
   * forwards their events to this one.
   */
  readonly request: ClientRequest;
  readonly options: RequestOptions;
  readonly lane: Lane;
  /** The request that the agent sent last in place of the original one. */
  sent?: ClientRequest;
}

async function sendWithRetries(exchange: Exchange): Promise<void> {
  const { request, lane } = exchange;
  const given = new AbortController();
  const giveUp = (): void => {
    given.abort();
    exchange.sent?.destroy();
  };
  request.once("abort", giveUp); // oxlint-disable-line typescript/no-deprecated -- node-fetch aborts requests through this event
  const attempts = attemptsAt(request.path, { method: request.method, isBodyReplayable: true }, lane);
  for (;;) {
    const tried = await attempt(exchange);
    if (given.signal.aborted) return;
    const waitMs = waitAfter(attempts, tried.outcome);
    if (waitMs === undefined) return tried.passOn();
    tried.response?.destroy();
    if (!(await sleep(lane.clock, waitMs, given.signal))) return;
  }
}

interface Tried {
  readonly outcome: ReturnType<typeof outcomeOf>;
  readonly response?: IncomingMessage;
  /** Forwards the outcome to the original request. */
  passOn(): void;
}

function attempt(exchange: Exchange): Promise<Tried> {
  const { agent, request, options, lane } = exchange;
  return new Promise((resolve) => {
    const start = (options.protocol ?? agent.protocol) === "http:" ? httpRequest : httpsRequest;
    const { method, path } = request;
    const sent = start({
      ...options,
      method,
      path,
      headers: request.getHeaders(),
      agent: agent as unknown as NodeAgent,
    });
    let wasSent = false;
    onceConnected(sent, () => {
      wasSent = true;
    });
    let isAnswered = false;
    sent.on("socket", (socket) => request.emit("socket", socket));
    sent.once("response", (response) => {
      isAnswered = true;
      const outcome = outcomeOf(lane, response.statusCode ?? 0, response.headers);
      resolve({ outcome, response, passOn: () => void request.emit("response", response) });
    });
    sent.on("error", (error) => {
      if (isAnswered) request.emit("error", error);
      else
        resolve({
          outcome: { failure: failureOf({ error, wasSent }) },
          passOn: () => void request.emit("error", error),
        });
    });
    sent.end();
    exchange.sent = sent;
  });
}
