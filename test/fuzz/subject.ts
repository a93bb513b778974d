/** The server under attack: on a memory store of its own, in virtual time, called without a socket. */
import { parseRuntimeConfig } from "../../src/objects/catalogue/runtime-config.ts";
import { openCatalogue } from "../../src/objects/catalogue/catalogue.ts";
import { isReleaseName } from "../../src/objects/catalogue/release.ts";
import type { SchemaSource } from "../../src/objects/catalogue/schema-source.ts";
import { SILENT_LOG, type LogFields } from "../../src/base/log.ts";
import type { InProcessRequest } from "../../src/client/in-process.ts";
import { isFailure } from "../../src/client/transport.ts";
import { buildServer, type Server } from "../../src/server/build-server.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { World } from "../../src/tools/simulator/world.ts";
import type { FuzzRequest } from "./cases.ts";
import { Targets } from "./targets.ts";

export interface Answer {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly bytes: Buffer;
  /** Of real time. */
  readonly ms: number;
}

/** Real time: the only thing here that is not the same in every run, and nothing but figures depends on it. */
export type Stopwatch = () => number;

/** What cases need of a server. */
export interface Subject {
  readonly targets: Targets;
  readonly schemas: SchemaSource;
  call(request: FuzzRequest): Promise<Answer>;
  /** Lets what happens by itself happen. */
  pass(ms: number): Promise<void>;
  /** What the server has complained about since the last call. */
  takeComplaints(): string[];
}

export interface OpenSubject extends Subject, AsyncDisposable {}

/** Every version that the release knows is served, so that every conversion is met. */
const RUNTIME_CONFIG: readonly string[] = ["api/all=true"];
/** Whatever hooks a case leaves behind would fail all that come after it. */
const NOBODY_ANSWERS: readonly string[] = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"];
/** Every namespace of a cluster has one, and pods need it: made again as soon as a case has deleted it. */
const ACCOUNT: InProcessRequest = {
  method: "POST",
  target: "/api/v1/namespaces/default/serviceaccounts",
  body: { metadata: { name: "default" } },
};
/** Streams, which have no end of their own. */
const STREAM = /watch/i;

export async function openSubject(options: {
  readonly release: string;
  readonly seed: number;
  readonly stopwatch: Stopwatch;
}): Promise<OpenSubject> {
  const { release, seed, stopwatch } = options;
  if (!isReleaseName(release)) throw new Error(`${release} is no release`);
  const world = new World({ seed });
  let complaints: string[] = [];
  const complain = (message: string, fields: LogFields = {}): void =>
    void complaints.push(`${message}: ${JSON.stringify(fields).replaceAll(String.raw`\n`, "\n")}`);
  const server = await buildServer(
    { ...world.env, log: { ...SILENT_LOG, error: complain } },
    resolveOptions({
      ...{ release, storage: { kind: "memory" }, strictRelease: true, runtimeConfig: RUNTIME_CONFIG },
      ...{ peers: { hostname: "fuzzed" }, serviceClusterIpRange: "10.0.0.0/16" },
      // Without priorities, for the server itself would write the status of what is sent.
      access: { disableAdmissionPlugins: NOBODY_ANSWERS, priorityAndFairness: false },
    }),
  );
  await world.run(server.ready);
  await world.run(server.call(ACCOUNT));
  const catalogue = openCatalogue({ release, runtimeConfig: parseRuntimeConfig(RUNTIME_CONFIG) });
  return {
    targets: new Targets(catalogue),
    schemas: catalogue.schemas,
    call: async (request) => {
      const answer = await ask({ world, server, stopwatch }, request);
      if (isDeletion(request)) await world.run(server.call(ACCOUNT));
      return answer;
    },
    pass: (ms) => world.advance(ms),
    takeComplaints: () => {
      const taken = complaints;
      complaints = [];
      return taken;
    },
    [Symbol.asyncDispose]: async () => {
      server.endWatches();
      await world.run(server.close());
    },
  };
}

interface Asking {
  readonly world: World;
  readonly server: Server;
  readonly stopwatch: Stopwatch;
}

async function ask({ world, server, stopwatch }: Asking, request: FuzzRequest): Promise<Answer> {
  const startedAt = stopwatch();
  const leaving = new AbortController();
  const { body: sent, ...head } = request;
  const body = sent === undefined ? {} : { body: Buffer.from(sent as string) };
  const response = await world.run(server.transport.send({ ...head, ...body, signal: leaving.signal }));
  const reading = readAll(response.body);
  if (STREAM.test(request.target)) {
    await world.advance(0);
    leaving.abort();
  }
  const bytes = await world.run(reading);
  const contentType = response.headers["content-type"] ?? "";
  return { status: response.status, contentType, text: bytes.toString("utf8"), bytes, ms: stopwatch() - startedAt };
}

function isDeletion({ method, target }: FuzzRequest): boolean {
  return method === "DELETE" && target.includes("/serviceaccounts");
}

/** Of a stream: what had arrived when it was left. */
async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch (thrown) {
    if (!isFailure(thrown, "aborted") && !isFailure(thrown, "reset")) throw thrown;
  }
  return Buffer.concat(chunks);
}
