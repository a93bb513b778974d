/** Starts a server in its own world for tests: virtual time, no socket, and direct access to the store. */
import type { Log } from "../../src/base/log.ts";
import type { Random } from "../../src/base/random.ts";
import { callInProcess, type InProcessRequest, type InProcessResponse } from "../../src/client/in-process.ts";
import { headerValue, type ResponseHeaders } from "../../src/serving/http/message.ts";
import type { AccessOptions } from "../../src/access/access-config.ts";
import { buildServer, type Server } from "../../src/server/build-server.ts";
import { resolveOptions, type ServerOptions } from "../../src/server/config.ts";
import type { Env } from "../../src/server/env.ts";
import { World } from "../../src/tools/simulator/world.ts";
import type { Kv } from "../../src/storage/kv.ts";

/** The untyped body of a response: a missing field fails the expectation, not the compilation. */
export type Json = any; // oxlint-disable-line typescript/no-explicit-any -- responses are untyped

export interface ApiTestResponse {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly text: string;
  /** Undefined if the text is not JSON. */
  readonly body: Json;
}

export interface CallOptions {
  readonly headers?: Record<string, string>;
  /** True if the server authenticates the request by its headers. Otherwise the loopback client sends the request. */
  readonly asClient?: boolean;
}

export interface StartOptions extends Partial<ServerOptions> {
  readonly seed?: number;
  readonly world?: World;
  readonly random?: Random;
  readonly log?: Log;
  /** Wraps the store that the server uses. The test itself uses the unwrapped store. */
  readonly wrapKv?: (kv: Kv) => Kv;
  /** Receives the audit events. Needs the option `audit`. */
  readonly openAuditLog?: NonNullable<Env["openAuditLog"]>;
  /** Connects to the KMS plugins of the option `encryption`. */
  readonly openKmsPlugin?: NonNullable<Env["openKmsPlugin"]>;
  /** True if `startServer` must not wait until the server is ready. */
  readonly skipReady?: boolean;
}

export class TestServer {
  readonly world: World;
  readonly server: Server;
  /** Direct access to the store, not through the server. */
  readonly kv: Kv;

  constructor(world: World, server: Server) {
    this.world = world;
    this.server = server;
    this.kv = world.openKv();
  }

  async call(
    method: string,
    target: string,
    body?: InProcessRequest["body"],
    options: CallOptions = {},
  ): Promise<ApiTestResponse> {
    return this.world.run(this.begin(method, target, body, options));
  }

  /** Sends the request without advancing time. Resolves when the whole response has arrived. */
  async begin(
    method: string,
    target: string,
    body?: InProcessRequest["body"],
    options: CallOptions = {},
  ): Promise<ApiTestResponse> {
    const response = await this.send(
      { method, target, ...(body === undefined ? {} : { body }), headers: options.headers ?? {} },
      options.asClient ?? false,
    );
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: parse(text) };
  }

  send(request: InProcessRequest, asClient: boolean): Promise<InProcessResponse> {
    return asClient ? callInProcess(this.server.handle, request) : this.server.call(request);
  }

  get(target: string, headers: Record<string, string> = {}): Promise<ApiTestResponse> {
    return this.call("GET", target, undefined, { headers });
  }

  create(target: string, body: Json): Promise<ApiTestResponse> {
    return this.call("POST", target, body);
  }

  put(target: string, body: Json): Promise<ApiTestResponse> {
    return this.call("PUT", target, body);
  }

  mergePatch(target: string, body: Json): Promise<ApiTestResponse> {
    return this.call("PATCH", target, JSON.stringify(body), {
      headers: { "content-type": "application/merge-patch+json" },
    });
  }

  jsonPatch(target: string, body: Json): Promise<ApiTestResponse> {
    return this.call("PATCH", target, JSON.stringify(body), {
      headers: { "content-type": "application/json-patch+json" },
    });
  }

  delete(target: string, options?: Json): Promise<ApiTestResponse> {
    return this.call("DELETE", target, options);
  }

  async watch(target: string, headers: Record<string, string> = {}): Promise<TestWatch> {
    const response = await this.world.run(this.server.call({ method: "GET", target, headers }));
    const watch = new TestWatch(this.world, response);
    await this.world.advance(0);
    return watch;
  }

  /** The value of one series of /metrics, or 0 if the series does not exist. */
  async metric(series: string): Promise<number> {
    const { text } = await this.get("/metrics");
    const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
    return line === undefined ? 0 : Number(line.slice(series.length + 1));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.server.endWatches();
    await this.world.run(this.server.close());
    await this.kv.close();
  }
}

/** A watch that records all events that it has received. */
export class TestWatch {
  readonly status: number;
  readonly #world: World;
  readonly #frames: AsyncGenerator<string, void, undefined>;
  #events: Json[] = [];
  isEnded = false;

  constructor(world: World, response: InProcessResponse) {
    this.status = response.status;
    this.#world = world;
    this.#frames = response.frames();
    void this.#collect();
  }

  /** The events since the last call. */
  async events(): Promise<Json[]> {
    await this.#world.advance(0);
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** The events since the last call as "ADDED name", in the order of their arrival. */
  async story(): Promise<string[]> {
    return (await this.events()).map((event) =>
      `${event.type} ${event.object.metadata.name ?? event.object.reason ?? ""}`.trim(),
    );
  }

  async #collect(): Promise<void> {
    for await (const frame of this.#frames) this.#events.push(JSON.parse(frame));
    this.isEnded = true;
  }
}

const hosts = new WeakMap<World, number>();

/** Returns another host name for each server of a world, because servers of one world belong to one cluster. */
function nextHost(world: World): string {
  const number = (hosts.get(world) ?? 0) + 1;
  hosts.set(world, number);
  return `host-${number}`;
}

export async function startServer(options: StartOptions = {}): Promise<TestServer> {
  const {
    seed = 1,
    world = new World({ seed }),
    random = world.env.random,
    log = world.env.log,
    wrapKv = (kv): Kv => kv,
    skipReady = false,
    openAuditLog,
    openKmsPlugin,
    peers = { hostname: nextHost(world) },
    ...serverOptions
  } = options;
  const env = {
    ...world.env,
    random,
    log,
    openKv: (): Promise<Kv> => Promise.resolve(wrapKv(world.openKv())),
    ...(openAuditLog === undefined ? {} : { openAuditLog }),
    ...(openKmsPlugin === undefined ? {} : { openKmsPlugin }),
  };
  const server = await buildServer(
    env,
    resolveOptions({ storage: { kind: "memory" }, strictRelease: true, peers, access: OPEN, ...serverOptions }),
  );
  if (!skipReady) await world.run(server.ready);
  return new TestServer(world, server);
}

/**
 * Access options for tests that do not concern access control: no roles are needed, and pods need no service accounts.
 */
export const OPEN: AccessOptions = {
  authorizationModes: ["AlwaysAllow"],
  anonymousAuth: true,
  disableAdmissionPlugins: ["ServiceAccount"],
};

export const CONFIG_MAPS = "/api/v1/namespaces/default/configmaps";
export const PODS = "/api/v1/namespaces/default/pods";

export function configMap(name: string, more: Json = {}): Json {
  const { metadata, ...rest } = more;
  return { apiVersion: "v1", kind: "ConfigMap", metadata: { name, ...metadata }, data: { a: "1" }, ...rest };
}

export function pod(name: string, spec: Json = {}): Json {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name },
    spec: { containers: [{ name: "main", image: "main" }], ...spec },
  };
}

export function deployment(name: string, replicas = 1): Json {
  const labels = { app: name };
  const template = { metadata: { labels }, spec: { containers: [{ name: "main", image: "main" }] } };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name },
    spec: { replicas, selector: { matchLabels: labels }, template },
  };
}

export function names(list: ApiTestResponse): string[] {
  return list.body.items.map((item: Json) => item.metadata.name);
}

export function header(answer: ApiTestResponse, name: string): string | undefined {
  return headerValue(answer.headers, name);
}

function parse(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
