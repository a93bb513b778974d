/**
 * 1.x, everything but API clients: Watch, Log, Metrics. What they fetch is a request of Node given to an agent.
 * This agent sends requests of its own in its place, and gives it the answer that is worth having. They only ever read.
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
import { attemptsAt, noted, waitAfter, type Lane } from "./lane.ts";
import { replacing, type Agent } from "./shapes.ts";

export function retryingAgent(agent: Agent, lane: Lane): Agent {
  return replacing(agent, "addRequest", (added, options) => {
    const request = added as ClientRequest;
    if (request.method !== "GET") agent.addRequest(request, options);
    else void answer({ agent, request, options, lane }).catch((thrown: unknown) => request.emit("error", thrown));
  });
}

/** Calls back when the connection stands, before the first byte leaves. */
export function connectedAgent(agent: Agent, callback: () => void): Agent {
  return replacing(agent, "addRequest", (request, options) => {
    onceConnected(request as ClientRequest, callback);
    agent.addRequest(request, options);
  });
}

interface Exchange {
  readonly agent: Agent;
  /** The sender's. It never gets a connection; it is told what happens to those that do. */
  readonly request: ClientRequest;
  readonly options: RequestOptions;
  readonly lane: Lane;
  /** The one sent last in its place. */
  sent?: ClientRequest;
}

async function answer(exchange: Exchange): Promise<void> {
  const { request, lane } = exchange;
  const given = new AbortController();
  const giveUp = (): void => {
    given.abort();
    exchange.sent?.destroy();
  };
  request.once("abort", giveUp); // oxlint-disable-line typescript/no-deprecated -- by this node-fetch gives up
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
  readonly outcome: ReturnType<typeof noted>;
  readonly response?: IncomingMessage;
  /** Tells the sender. */
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
      const outcome = noted(lane, response.statusCode ?? 0, response.headers);
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
