/** Simulated clients that send requests at random times to random servers, also for resources that no server serves. */
import { randomInteger, randomItem, randomUuid, type Random } from "../../src/base/random.ts";
import { isJsonObject, objectAt, parseJsonObject, stringAt, type JsonObject } from "../../src/meta/json.ts";
import type { SimulatedResponse, SimulatedRequest, SimulatedWatchEvent } from "../../src/tools/simulator/checker.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { KnownObjects } from "./objects.ts";
import type { SimulatedServer } from "../../src/tools/simulator/server.ts";
import { pathOf, targetAt, TARGETS, type Target } from "./targets.ts";

export interface WorkloadOptions {
  readonly cluster: SimulatedCluster;
  readonly random: Random;
  readonly objects: KnownObjects;
  /** Average time between two requests. */
  readonly paceMs: number;
  readonly onRequest: (request: SimulatedRequest) => void;
  readonly onResponse: (response: SimulatedResponse) => void;
  readonly onWatch?: (event: SimulatedWatchEvent) => void;
  /** Called if a client fails in a way that no server may cause. */
  readonly onFailure: (thrown: unknown) => void;
}

export interface WorkloadRequest {
  readonly method: string;
  readonly path: string;
  readonly query?: string;
  readonly resource: Target | undefined;
  readonly name?: string;
  readonly body?: object;
  /** Content type of the body. Default: application/json. */
  readonly contentType?: string;
  /** If set, the response is a stream that is read for this time. */
  readonly readMs?: number;
}

const MERGE_PATCH = "application/merge-patch+json";
const WATCH_MS_MAX = 20_000;

export class Workload {
  readonly #options: WorkloadOptions;
  #isStopped = false;
  #made = 0;
  #updates = 0;

  constructor(options: WorkloadOptions) {
    this.#options = options;
  }

  start(): void {
    const { cluster, random, paceMs, onFailure } = this.#options;
    cluster.world.clock.after(2 * random.float() * paceMs, () => {
      if (this.#isStopped) return;
      this.#requestAnything().catch(onFailure);
      this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  async #requestAnything(): Promise<unknown> {
    const { cluster, random } = this.#options;
    const server = randomItem(random, cluster.servers);
    if (server.run === undefined) return undefined;
    const kind = randomInteger(random, 12);
    const target = randomItem(random, TARGETS);
    if (kind < 3)
      return this.#send(server, { method: "GET", path: pathOf(target, nameBelow(target)), resource: target });
    if (kind < 5) return this.#create(server);
    if (kind < 6) return this.#delete(server);
    if (kind < 8) return this.#read(server);
    if (kind < 9) return this.#discover(server, target);
    if (kind < 11) return this.#update(server);
    const query = `watch=true&timeoutSeconds=${1 + randomInteger(random, WATCH_MS_MAX / 1000)}`;
    const watched: Target = { ...target, subresource: "" };
    return this.#send(server, { method: "GET", path: pathOf(watched), query, resource: watched, readMs: WATCH_MS_MAX });
  }

  async #create(server: SimulatedServer): Promise<void> {
    const { cluster, random, objects } = this.#options;
    const startedAtMs = cluster.world.clock.monotonic();
    const target = randomItem(
      random,
      TARGETS.filter(({ create }) => create !== undefined),
    );
    const name = `object-${++this.#made}`;
    const path = pathOf(target, name);
    objects.set(path, "perhaps");
    const body = target.create!(name);
    const status = await this.#send(server, { method: "POST", path: pathOf(target), resource: target, name, body });
    // A restore of the store has lost the object between its creation and the response.
    const isLost = startedAtMs < cluster.history.restoredAtMs && storedNamed(cluster, name) === undefined;
    if (status === 201) objects.set(path, isLost ? "lost" : "there");
  }

  async #delete(server: SimulatedServer): Promise<void> {
    const { random, objects } = this.#options;
    const there = objects.in("there");
    if (there.length === 0) return;
    const path = randomItem(random, there);
    objects.set(path, "leaving");
    const status = await this.#send(server, { method: "DELETE", path, ...objectOf(path) });
    if (status === 200) objects.set(path, "gone");
  }

  /** Updates an object, either by a patch or by a read and a PUT. */
  async #update(server: SimulatedServer): Promise<void> {
    const { random, objects } = this.#options;
    const there = objects.in("there");
    if (there.length === 0) return;
    const path = randomItem(random, there);
    const body = { metadata: { annotations: { updated: String(++this.#updates) } } };
    if (randomInteger(random, 2) === 0) {
      await this.#send(server, { method: "PATCH", path, ...objectOf(path), body, contentType: MERGE_PATCH });
      return;
    }
    const read = parseJsonObject((await this.request(server, { method: "GET", path, ...objectOf(path) })).text) ?? {};
    const metadata = isJsonObject(read["metadata"]) ? read["metadata"] : {};
    if (metadata["name"] === undefined) return;
    const changed = { ...read, metadata: { ...metadata, ...body.metadata } };
    await this.#send(server, { method: "PUT", path, ...objectOf(path), body: changed });
  }

  async #read(server: SimulatedServer): Promise<void> {
    const { random, objects } = this.#options;
    const known = [...objects.in("there"), ...objects.in("lost")];
    if (known.length === 0) return;
    const path = randomItem(random, known);
    await this.#send(server, { method: "GET", path, ...objectOf(path) });
  }

  async #discover(server: SimulatedServer, { group, version }: Target): Promise<void> {
    const paths = ["/apis", `/apis/${group}`, `/apis/${group}/${version}`];
    const path = group === "" ? "/api" : randomItem(this.#options.random, paths);
    await this.#send(server, { method: "GET", path, resource: undefined });
  }

  /** Sends a request and returns the status. Never settles if the server crashes. */
  async #send(server: SimulatedServer, request: WorkloadRequest): Promise<number> {
    return (await this.request(server, request)).status;
  }

  /** Sends a request and reports the response to the checkers. Never settles if the server crashes. */
  async request(
    server: SimulatedServer,
    request: WorkloadRequest,
  ): Promise<Pick<SimulatedResponse, "status" | "unknown"> & { readonly text: string }> {
    const { cluster, random, onRequest, onResponse, onWatch } = this.#options;
    const { clock } = cluster.world;
    const { method, path, query, resource, name = "", body, contentType, readMs } = request;
    const sent: SimulatedRequest = {
      ...{ auditId: randomUuid(random), serverId: server.id, method, target: path, resource, name },
      startedAtMs: clock.monotonic(),
      isWatch: readMs !== undefined,
    };
    onRequest(sent);
    const response = await server.request({
      method,
      target: query === undefined ? path : `${path}?${query}`,
      headers: { "audit-id": sent.auditId, ...(contentType && { "content-type": contentType }) },
      ...(body && { body }),
    });
    const { status } = response;
    if (readMs !== undefined && status === 200) {
      onResponse({ request: sent, status, atMs: clock.monotonic(), unknown: undefined, message: "" });
      for await (const frame of response.frames()) {
        cluster.trace.add("client", `watch ${path}: ${frame.length} bytes`);
        onWatch?.({ request: sent, atMs: clock.monotonic(), text: frame });
      }
      onWatch?.({ request: sent, atMs: clock.monotonic(), text: undefined });
      return { status, unknown: undefined, text: "" };
    }
    const text = await response.text();
    const received: SimulatedResponse = {
      ...{ request: sent, status, ...outcomeOf(status, text), atMs: clock.monotonic() },
      ...(name !== "" && status === 200 && { resourceVersion: versionOf(text) }),
    };
    onResponse(received);
    return { status, unknown: received.unknown, text };
  }
}

/**
 * The message of a failed request, and for a 404 whether the resource is unknown or the object does not exist: details
 * with a name mean the object. If the response was truncated, `unknown` is undefined.
 */
function outcomeOf(code: number, text: string): Pick<SimulatedResponse, "unknown" | "message"> {
  if (code < 400) return { unknown: undefined, message: "" };
  const status = parseJsonObject(text);
  const message = typeof status?.["message"] === "string" ? status["message"] : text.trim().slice(0, 200);
  if (code !== 404) return { unknown: undefined, message };
  if (status === undefined) return { unknown: text === PAGE_NOT_FOUND ? "resource" : undefined, message };
  const details = isJsonObject(status["details"]) ? status["details"] : {};
  return { unknown: typeof details["name"] === "string" ? "object" : "resource", message };
}

function versionOf(text: string): string {
  return stringAt(objectAt(parseJsonObject(text) ?? {}, "metadata"), "resourceVersion");
}

const PAGE_NOT_FOUND = "404 page not found\n";

/** The stored object with this name, which is unique. */
export function storedNamed({ history }: Pick<SimulatedCluster, "history">, name: string): JsonObject | undefined {
  return history.under("").find(([key]) => key.endsWith(`/${name}`))?.[1];
}

/** A name for requests to a subresource, which need one; "" for other requests. */
function nameBelow({ subresource }: Target): string {
  return subresource === "" ? "" : "nobody";
}

function objectOf(path: string): Pick<WorkloadRequest, "resource" | "name"> {
  return { resource: targetAt(path), name: path.slice(path.lastIndexOf("/") + 1) };
}
