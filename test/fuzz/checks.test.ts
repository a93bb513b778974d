/** Tests most checks of the fuzzer, each with a server that has the bug that the check must find. */
import { describe, expect, test } from "vitest";
import { diceOf } from "./dice.ts";
import { type FuzzRequest, makeCase } from "./cases.ts";
import { runBatch, type Failure } from "./run-batch.ts";
import { sampleName, sampleOf } from "./samples.ts";
import { openSubject, type FuzzResponse, type OpenSubject } from "./subject.ts";
import { collectionPath } from "./targets.ts";

type Call = (request: FuzzRequest) => Promise<FuzzResponse>;
/** How a server with a bug handles a request. */
type Fault = (request: FuzzRequest, call: Call) => Promise<FuzzResponse>;

const stopwatch = (): number => 0;

function faulty(fault: Fault): typeof openSubject {
  return async (options) => {
    const sound: OpenSubject = await openSubject(options);
    return { ...sound, call: (request) => fault(request, sound.call) };
  };
}

/**
 * Runs cases until this invariant is violated, and returns all violated invariants. The checks of whole collections run
 * only at the end of a batch, so for them the batch has one case.
 */
async function violatedInvariants(fault: Fault, promise: string): Promise<Set<string>> {
  const broken = new Set<string>();
  const onFailure = ({ report }: Failure): void => report.findings.forEach((finding) => broken.add(finding.invariant));
  const shouldStop = (): boolean => broken.has(promise);
  const end = promise.startsWith("collections ") ? 1 : 1_000;
  await runBatch({ seed: 1, first: 0, end, stopwatch, onFailure, shouldStop, open: faulty(fault) });
  return broken;
}

const isWrite = ({ method }: FuzzRequest): boolean => method !== "GET";
const LABEL = { method: "PATCH", headers: { "content-type": "application/merge-patch+json" } };
const labelled = '{"metadata":{"labels":{"planted":"yes"}}}';

const FAULTS: readonly { promise: string; fault: Fault }[] = [
  {
    promise: "no server errors",
    fault: async (request, call) => {
      const response = await call(request);
      return response.status === 422 ? { ...response, status: 500 } : response;
    },
  },
  {
    promise: "failure responses are a Status: code equals the HTTP status",
    fault: async (request, call) => {
      const response = await call(request);
      return response.status === 422 ? { ...response, status: 409 } : response;
    },
  },
  {
    promise: "the size of a failure response is bounded",
    fault: async (request, call) => {
      const response = await call(request);
      return response.status === 422 ? { ...response, text: response.text.repeat(20_000) } : response;
    },
  },
  {
    promise: "failure responses are a Status: reason is known",
    fault: async (request, call) => {
      const response = await call(request);
      return { ...response, text: response.text.replace('"reason":"Invalid"', '"reason":"Odd"') };
    },
  },
  {
    promise: "failure responses are a Status",
    fault: async (request, call) => {
      const response = await call(request);
      return response.status === 422 ? { ...response, contentType: "text/plain", text: "no" } : response;
    },
  },
  {
    promise: "responses of type JSON are valid JSON",
    fault: async (request, call) => {
      const response = await call(request);
      return isWrite(request) ? { ...response, text: response.text.slice(0, -1) } : response;
    },
  },
  {
    promise: "a rejected write changes nothing",
    fault: async (request, call) => {
      const response = await call(request);
      const path = request.target.split("?")[0]!;
      if (request.method === "PUT" && response.status >= 400) await call({ ...LABEL, target: path, body: labelled });
      return response;
    },
  },
  {
    promise: "a dry run changes nothing",
    fault: (request, call) => call({ ...request, target: request.target.replace("dryRun=All", "x=y") }),
  },
  {
    promise: "a read returns what the write returned",
    fault: async (request, call) => {
      const response = await call(request);
      return request.method === "PUT" ? { ...response, text: response.text.replace('"uid":"', '"uid":"0') } : response;
    },
  },
  {
    promise: "a written object can be read",
    fault: async (request, call) => {
      const response = await call(request);
      const path = request.target.split("?")[0]!;
      if (request.method === "PATCH" && response.status === 200)
        await call({ method: "DELETE", target: `${path}?gracePeriodSeconds=0`, headers: {} });
      return response;
    },
  },
  {
    promise: "an object can be written back as it was read",
    fault: (request, call) =>
      call(request.method === "PUT" ? { ...request, body: "{}", headers: { "content-type": "x" } } : request),
  },
  {
    promise: "writing an object back as it was read changes nothing",
    fault: async (request, call) => {
      if (request.method === "PUT" && typeof request.body === "string") {
        const path = request.target.split("?")[0]!;
        const body = request.body.replace(/"resourceVersion":"\d+",/, "");
        await call({ ...LABEL, target: path, body: labelled });
        return call({ ...request, body });
      }
      return call(request);
    },
  },
  {
    promise: "the object can be read in other versions",
    fault: (request, call) =>
      call({ ...request, target: request.target.replace(/^\/apis\/autoscaling\/v1\//, "/apis/x/v1/") }),
  },
  {
    promise: "the object can be read as a Table",
    fault: async (request, call) => {
      const response = await call(request);
      return request.headers["accept"]?.includes("as=Table") === true ? { ...response, status: 406 } : response;
    },
  },
  {
    promise: "a deleted object is gone or terminating",
    fault: (request, call) =>
      request.method === "DELETE" ? call({ ...request, method: "GET", headers: {} }) : call(request),
  },
  {
    promise: "collections can be listed and watched",
    fault: (request, call) =>
      call({ ...request, target: request.target.replace(/^\/api\/v1\/secrets(\?.*)?$/, "/api/v1/x") }),
  },
  {
    promise: "every request gets a response",
    fault: (request, call) => (request.method === "PUT" ? Promise.reject(new Error("planted")) : call(request)),
  },
];

describe("the checks find a violation of", () => {
  test.each(FAULTS)("$promise", async ({ promise, fault }) => {
    expect([...(await violatedInvariants(fault, promise))]).toContain(promise);
  });
});

test("the same seed produces the same cases with the same responses", async () => {
  const story = async (): Promise<string> => {
    const reported: unknown[] = [];
    const open = faulty(async (request, call) => {
      const response = await call(request);
      reported.push([request.method, request.target, String(request.body), response.status, response.text]);
      return response;
    });
    await runBatch({ seed: 5, first: 0, end: 150, stopwatch, onFailure: () => {}, open });
    return JSON.stringify(reported);
  };
  expect(await story()).toBe(await story());
});

test("a case does not depend on the cases before it, and is different with another seed", async () => {
  await using subject = await openSubject({ release: "1.36", seed: 1, stopwatch });
  const text = (seed: number, number: number): string =>
    JSON.stringify(makeCase({ seed, number, targets: subject.targets, schemas: subject.schemas }).request);
  expect(text(1, 77)).toBe(text(1, 77));
  expect(text(1, 77)).not.toBe(text(2, 77));
  expect(diceOf(1, 77).int(1e9)).not.toBe(diceOf(1, 78).int(1e9));
});

test.each(["1.28", "1.31", "1.36"])("a server of release %s accepts every sample object", async (release) => {
  await using subject = await openSubject({ release, seed: 1, stopwatch });
  const rejected: string[] = [];
  for (const [number, target] of subject.targets.all.filter(({ isStored }) => isStored).entries()) {
    const name = sampleName(target.key, number);
    const { apiVersion, kind, version, key } = target;
    const body = JSON.stringify({ apiVersion, kind, metadata: { name }, ...sampleOf(key, { name, version }) });
    const headers = { "content-type": "application/json" };
    const response = await subject.call({ method: "POST", target: collectionPath(target), headers, body });
    if (response.status !== 201) rejected.push(`${apiVersion} ${kind}: ${response.text}`);
  }
  expect(rejected).toEqual([]);
});
