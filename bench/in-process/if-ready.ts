/**
 * Measures the cost that the filter for X-Kubernetes-If-Ready adds to a request: with and without the header, with the
 * filter enabled and disabled.
 */
import { ifReady, type IfReadyMode } from "../../src/serving/http/filters/if-ready.ts";
import type { Handler } from "../../src/serving/http/chain.ts";
import { bytesBody, type ApiRequest, type ApiResponse } from "../../src/serving/http/message.ts";
import { EMPTY_BODY } from "../../src/serving/http/request-body.ts";
import type { IfReadySamples, Measurement } from "./protocol.ts";

const NS_PER_MS = 1e6;
const CASES = [
  ["on, with the header", "retry", true],
  ["on, without", "retry", false],
  ["off, with the header", "off", true],
  ["off, without", "off", false],
] as const satisfies readonly (readonly [string, IfReadyMode, boolean])[];

/** Each round measures all four cases and the handler without the filter, so that a disturbance affects all of them. */
export async function measureIfReady({
  rounds,
  count,
}: Extract<Measurement, { kind: "if-ready" }>): Promise<IfReadySamples> {
  const response: ApiResponse = {
    status: 200,
    headers: { "content-type": "application/json", "cache-control": "no-cache, private" },
    body: bytesBody(Buffer.from("{}")),
  };
  const next: Handler<ApiRequest> = () => Promise.resolve(response);
  const starting = { hasBeenReady: () => true, retryAfterSeconds: () => 1, isLoopback: () => false };
  const subjects = CASES.map(([name, mode, asks]) => ({
    name,
    handler: ifReady({ ...starting, mode })(next),
    request: createRequest(asks),
    samples: [] as number[],
  }));
  const bare = createRequest(false);
  const time = async (handler: Handler<ApiRequest>, request: ApiRequest): Promise<number> => {
    const before = process.cpuUsage();
    for (let index = 0; index < count; index++) await handler(request);
    const { user, system } = process.cpuUsage(before);
    return ((user + system) / 1000 / count) * NS_PER_MS;
  };
  for (let round = -1; round < rounds; round++) {
    const floor = await time(next, bare);
    for (const { handler, request, samples } of subjects) {
      const added = (await time(handler, request)) - floor;
      // The first round only warms up the compiler.
      if (round >= 0) samples.push(added);
    }
  }
  return Object.fromEntries(subjects.map(({ name, samples }) => [name, samples]));
}

function createRequest(asks: boolean): ApiRequest {
  return {
    method: "GET",
    path: "/api/v1/namespaces/default/pods/web",
    rawQuery: "",
    headers: {
      host: "127.0.0.1",
      authorization: "Bearer bench",
      accept: "application/json",
      "user-agent": "evenkeel-bench",
      ...(asks ? { "x-kubernetes-if-ready": "" } : {}),
    },
    body: EMPTY_BODY,
    connection: { protocol: "http/1.1", remoteAddress: "127.0.0.1", clientChain: [] },
    signal: new AbortController().signal,
  };
}
