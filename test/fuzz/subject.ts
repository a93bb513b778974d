/** The server under test. It has its own memory store and virtual time, and is called without a socket. */
import { parseRuntimeConfig } from "../../src/objects/catalog/runtime-config.ts";
import { openCatalog } from "../../src/objects/catalog/catalog.ts";
import { isReleaseName } from "../../src/objects/catalog/release.ts";
import type { SchemaSource } from "../../src/objects/catalog/schema-source.ts";
import { SILENT_LOG, type LogFields } from "../../src/base/log.ts";
import type { InProcessRequest } from "../../src/client/in-process.ts";
import { isFailure } from "../../src/client/transport.ts";
import { buildServer, type Server } from "../../src/server/build-server.ts";
import { resolveOptions } from "../../src/server/config.ts";
import { World } from "../../src/tools/simulator/world.ts";
import type { FuzzRequest } from "./cases.ts";
import { Targets } from "./targets.ts";

export interface FuzzResponse {
  readonly status: number;
  readonly contentType: string;
  readonly text: string;
  readonly bytes: Buffer;
  /** Duration in real time. */
  readonly ms: number;
}

/** Returns the real time. It is not reproducible, so only reported durations depend on it. */
export type Stopwatch = () => number;

/** The parts of a server that cases use. */
export interface Subject {
  readonly targets: Targets;
  readonly schemas: SchemaSource;
  call(request: FuzzRequest): Promise<FuzzResponse>;
  /** Advances the virtual time. */
  pass(ms: number): Promise<void>;
  /** Returns the errors that the server has logged since the last call. */
  takeLoggedErrors(): string[];
}

export interface OpenSubject extends Subject, AsyncDisposable {}

/** Serves every version of the release, so that every conversion is used. */
const RUNTIME_CONFIG: readonly string[] = ["api/all=true"];
/**
 * Webhook plugins are disabled, because webhook configurations that a case leaves behind would fail all later cases.
 */
const DISABLED_PLUGINS: readonly string[] = ["MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"];
/** Creates the default service account, which pods need; sent again when a case has deleted the account. */
const ACCOUNT: InProcessRequest = {
  method: "POST",
  target: "/api/v1/namespaces/default/serviceaccounts",
  body: { metadata: { name: "default" } },
};
/** Matches watches, whose responses do not end. */
const STREAM = /watch/i;

export async function openSubject(options: {
  readonly release: string;
  readonly seed: number;
  readonly stopwatch: Stopwatch;
}): Promise<OpenSubject> {
  const { release, seed, stopwatch } = options;
  if (!isReleaseName(release)) throw new Error(`unknown release: ${release}`);
  const world = new World({ seed });
  let complaints: string[] = [];
  const complain = (message: string, fields: LogFields = {}): void =>
    void complaints.push(`${message}: ${JSON.stringify(fields).replaceAll(String.raw`\n`, "\n")}`);
  const server = await buildServer(
    { ...world.env, log: { ...SILENT_LOG, error: complain } },
    resolveOptions({
      ...{ release, storage: { kind: "memory" }, strictRelease: true, runtimeConfig: RUNTIME_CONFIG },
      ...{ peers: { hostname: "fuzzed" }, serviceClusterIpRange: "10.0.0.0/16" },
      // With API Priority and Fairness the server itself writes the status of FlowSchemas between the requests of a case.
      access: { disableAdmissionPlugins: DISABLED_PLUGINS, priorityAndFairness: false },
    }),
  );
  await world.run(server.ready);
  await world.run(server.call(ACCOUNT));
  const catalog = openCatalog({ release, runtimeConfig: parseRuntimeConfig(RUNTIME_CONFIG) });
  return {
    targets: new Targets(catalog),
    schemas: catalog.schemas,
    call: async (request) => {
      const response = await send({ world, server, stopwatch }, request);
      if (isDeletion(request)) await world.run(server.call(ACCOUNT));
      return response;
    },
    pass: (ms) => world.advance(ms),
    takeLoggedErrors: () => {
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

interface CallContext {
  readonly world: World;
  readonly server: Server;
  readonly stopwatch: Stopwatch;
}

async function send({ world, server, stopwatch }: CallContext, request: FuzzRequest): Promise<FuzzResponse> {
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

/** The whole body, or for a watch the part that has arrived. */
async function readAll(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  try {
    for await (const chunk of body) chunks.push(chunk);
  } catch (thrown) {
    if (!isFailure(thrown, "aborted") && !isFailure(thrown, "reset")) throw thrown;
  }
  return Buffer.concat(chunks);
}
