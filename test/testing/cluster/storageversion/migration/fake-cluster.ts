/**
 * A fake API server for tests of storage migration, on a virtual clock. Each of its objects has a stored version, which
 * a PATCH replaces by the current encoding version of the resource. It also serves StorageVersions, ConfigMaps,
 * migration objects, watches and discovery. Tests inject failures with `before`.
 */
import { jsonResponse } from "../../../client/json-response.ts";
import { sleep } from "../../../../../src/base/clock.ts";
import { createClient, type Client } from "../../../../../src/client/client.ts";
import {
  type ClientRequest,
  type ClientResponse,
  type Transport,
  type TransportFailure,
  abortedError,
  TransportError,
} from "../../../../../src/client/transport.ts";
import { ScriptedStream } from "../../../client/scripted-transport.ts";
import { World } from "../../../../../src/tools/simulator/world.ts";

/** Tests read objects without types: if a field is missing, the expectation fails and not the compilation. */
export type Json = any; // oxlint-disable-line typescript/no-explicit-any -- see above

export interface FakeResponse {
  readonly status: number;
  readonly body: Json;
}

export interface Call {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly body: Json;
  /** Name of the object; empty for lists. */
  readonly name: string;
  readonly resource: string;
}

interface Stored {
  object: Json;
  storedVersion: string;
}

interface Place {
  readonly group: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly subresource: string;
}

const PATH = /^\/(?:api\/v1|apis\/([^/]+)\/[^/]+)(?:\/namespaces\/([^/]+))?\/([^/]+)(?:\/([^/]+))?(?:\/([^/]+))?$/;

export class FakeCluster implements Transport {
  readonly world = new World({ seed: 11 });
  readonly client: Client;
  readonly calls: Call[] = [];
  /** Current encoding version, by resource. */
  readonly encodings = new Map<string, string>();
  /** Resources in the discovery document, by group. */
  readonly served: Record<string, { version: string; resource: string; verbs: string[] }[]> = {};
  /** Returns the response or the failure of a call; if it returns undefined, the fake server responds. */
  before: (call: Call) => FakeResponse | { readonly failure: TransportFailure } | undefined = () => undefined;
  /** Called before a response is returned, except for watches and injected failures of the transport. */
  after: (call: Call) => void = () => {};
  /** If true, watch events are held until `releaseEvents`. */
  holdsEvents = false;
  patchMs = 0;
  inFlight = 0;
  inFlightMax = 0;
  readonly #objects = new Map<string, Stored>();
  readonly #streams: { readonly resource: string; readonly stream: ScriptedStream }[] = [];
  readonly #held: { readonly resource: string; readonly event: Json }[] = [];
  #revision = 100;

  constructor() {
    const { clock } = this.world;
    this.client = createClient({
      transport: this,
      clock,
      random: this.world.randomFor("client"),
      defaults: { retriesMax: 0 },
    });
  }

  get revision(): number {
    return this.#revision;
  }

  patches(): readonly Call[] {
    return this.calls.filter(({ method }) => method === "PATCH");
  }

  writes(resource: string): readonly Call[] {
    return this.calls.filter((call) => call.resource === resource && call.method !== "GET");
  }

  put(resource: string, object: Json, storedVersion = ""): Json {
    const { namespace = "", name } = object.metadata;
    const key = keyOf({ resource, namespace, name });
    const before = this.#objects.get(key);
    const stored = {
      ...object,
      metadata: {
        uid: `uid-${name}`,
        creationTimestamp: before?.object.metadata.creationTimestamp ?? this.now(),
        ...object.metadata,
        resourceVersion: String(++this.#revision),
      },
    };
    this.#objects.set(key, { object: stored, storedVersion });
    this.#tell(resource, before === undefined ? "ADDED" : "MODIFIED", stored);
    return stored;
  }

  remove(resource: string, name: string, namespace = ""): void {
    const key = keyOf({ resource, namespace, name });
    const stored = this.#objects.get(key);
    if (stored === undefined) return;
    this.#objects.delete(key);
    this.#tell(resource, "DELETED", {
      ...stored.object,
      metadata: { ...stored.object.metadata, resourceVersion: String(++this.#revision) },
    });
  }

  object(resource: string, name: string, namespace = ""): Json {
    return this.#objects.get(keyOf({ resource, namespace, name }))?.object;
  }

  /** Number of objects of the resource, by stored version. */
  storedVersions(resource: string): Record<string, number> {
    const counts: Record<string, number> = {};
    for (const { storedVersion } of this.#all(resource)) counts[storedVersion] = (counts[storedVersion] ?? 0) + 1;
    return counts;
  }

  now(): string {
    return `${new Date(this.world.clock.now()).toISOString().slice(0, 19)}Z`;
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    const url = new URL(request.target, "http://host");
    const place = placeOf(url.pathname);
    const call: Call = {
      method: request.method,
      path: url.pathname,
      query: url.searchParams,
      body: request.body === undefined ? undefined : JSON.parse(new TextDecoder().decode(request.body)),
      name: place?.name ?? "",
      resource: place?.resource ?? "",
    };
    this.calls.push(call);
    const instead = this.before(call);
    if (instead !== undefined && "failure" in instead) throw new TransportError(instead.failure, "as the test says");
    if (call.query.get("watch") === "true" && place !== undefined) return this.#watch(place, request.signal);
    await this.#wait(call, request.signal);
    const { status, body } = instead ?? (place === undefined ? this.#discovery(call) : this.#answer(call, place));
    this.after(call);
    return jsonResponse(status, body);
  }

  async #wait({ method }: Call, signal: AbortSignal | undefined): Promise<void> {
    if (method !== "PATCH") return;
    this.inFlight++;
    this.inFlightMax = Math.max(this.inFlightMax, this.inFlight);
    const isOver = this.patchMs === 0 || (await sleep(this.world.clock, this.patchMs, signal));
    this.inFlight--;
    if (!isOver) throw abortedError(signal);
  }

  #answer(call: Call, place: Place): FakeResponse {
    const { method, body } = call;
    if (place.name === "") return method === "GET" ? this.#list(call, place) : this.#create(place, body);
    const stored = this.#objects.get(keyOf(place));
    if (stored === undefined) return rejection(404, "NotFound", { name: place.name, kind: place.resource });
    if (method === "GET") return { status: 200, body: stored.object };
    const { uid, resourceVersion } = body.metadata;
    const { metadata } = stored.object;
    if ((uid !== undefined && uid !== metadata.uid) || resourceVersion !== metadata.resourceVersion)
      return rejection(409, "Conflict", { name: place.name });
    if (method === "PATCH") return this.#rewrite(place, stored);
    const next = place.subresource === "status" ? { ...stored.object, status: body.status } : body;
    return { status: 200, body: this.put(place.resource, next, stored.storedVersion) };
  }

  #rewrite(place: Place, stored: Stored): FakeResponse {
    const current = this.encodings.get(place.resource) ?? stored.storedVersion;
    if (stored.storedVersion === current) return { status: 200, body: stored.object };
    return { status: 200, body: this.put(place.resource, stored.object, current) };
  }

  #create(place: Place, body: Json): FakeResponse {
    const { namespace } = place;
    if (this.#objects.has(keyOf({ ...place, name: body.metadata.name })))
      return rejection(409, "AlreadyExists", { name: body.metadata.name });
    const object = { ...body, metadata: { ...body.metadata, ...(namespace === "" ? {} : { namespace }) } };
    return { status: 201, body: this.put(place.resource, object) };
  }

  #list({ query }: Call, place: Place): FakeResponse {
    const objects = this.#all(place.resource).map(({ object }) => object);
    const token = query.get("continue") ?? "";
    const limit = Number(query.get("limit") ?? 0) || Infinity;
    const from = token === "" ? 0 : objects.findIndex((object) => listKey(object) > token);
    const items = from < 0 ? [] : objects.slice(from, from + limit);
    const following = from < 0 ? 0 : objects.length - from - items.length;
    const metadata = {
      resourceVersion: String(this.#revision),
      ...(following === 0 ? {} : { continue: listKey(items.at(-1)), remainingItemCount: following }),
    };
    return { status: 200, body: { kind: "ThingList", apiVersion: "v1", metadata, items } };
  }

  #discovery({ path }: Call): FakeResponse {
    const groups = Object.entries(this.served).filter(([group]) => (group === "") === (path === "/api"));
    const items = groups.map(([group, resources]) => ({
      metadata: group === "" ? {} : { name: group },
      versions: [...new Set(resources.map(({ version }) => version))].map((version) => ({
        version,
        resources: resources.filter((resource) => resource.version === version),
      })),
    }));
    return { status: 200, body: { kind: "APIGroupDiscoveryList", apiVersion: "apidiscovery.k8s.io/v2", items } };
  }

  #watch({ resource }: Place, signal: AbortSignal | undefined): ClientResponse {
    const stream = new ScriptedStream();
    for (const { object } of this.#all(resource)) stream.send({ type: "ADDED", object });
    const metadata = {
      resourceVersion: String(this.#revision),
      annotations: { "k8s.io/initial-events-end": "true" },
    };
    stream.send({ type: "BOOKMARK", object: { kind: "Thing", apiVersion: "v1", metadata } });
    this.#streams.push({ resource, stream });
    return { status: 200, headers: {}, body: stream.chunks(signal) };
  }

  /** Sends the oldest `count` held events to the watches. */
  releaseEvents(count = Infinity): void {
    for (const { resource, event } of this.#held.splice(0, count)) this.#send(resource, event);
  }

  #tell(resource: string, type: string, object: Json): void {
    if (this.holdsEvents) this.#held.push({ resource, event: { type, object } });
    else this.#send(resource, { type, object });
  }

  #send(resource: string, event: Json): void {
    for (const { resource: watched, stream } of this.#streams) if (watched === resource) stream.send(event);
  }

  #all(resource: string): readonly Stored[] {
    return [...this.#objects]
      .filter(([key]) => key.startsWith(`${resource} `))
      .map(([, stored]) => stored)
      .sort((left, right) => (listKey(left.object) < listKey(right.object) ? -1 : 1));
  }
}

export function rejection(code: number, reason: string, details: Json = {}, more: Json = {}): FakeResponse {
  const status = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", code, reason, details };
  return { status: code, body: { ...status, message: `as the test says: ${reason}`, ...more } };
}

/** A StorageVersion object in which servers a, b, … encode these versions. */
export function storageVersion(name: string, encodings: readonly string[], more: Json = {}): Json {
  const { since = "2030-01-01T00:00:00Z", decodable = ["example.io/v1", "example.io/v2"], pending } = more;
  const common = pending === undefined && new Set(encodings).size === 1 ? encodings[0] : undefined;
  const condition = pending === undefined ? (common === undefined ? "False" : "True") : "Unknown";
  return {
    apiVersion: "internal.apiserver.k8s.io/v1alpha1",
    kind: "StorageVersion",
    metadata: { name },
    spec: {},
    status: {
      storageVersions: encodings.map((encodingVersion, index) => ({
        apiServerID: String.fromCodePoint(97 + index),
        encodingVersion,
        decodableVersions: decodable,
        servedVersions: decodable,
      })),
      ...(common === undefined ? {} : { commonEncodingVersion: common }),
      conditions: [
        {
          type: "AllEncodingVersionsEqual",
          status: condition,
          lastTransitionTime: since,
          reason: "AsTheTestSays",
          message: pending === undefined ? "as the test says" : `Waiting for the storage versions of ${pending}`,
        },
      ],
    },
  };
}

function placeOf(path: string): Place | undefined {
  const match = PATH.exec(path);
  if (match === null || path === "/api" || path === "/apis") return undefined;
  const [, group = "", namespace = "", resource = "", name = "", subresource = ""] = match;
  const [decodedName, decodedNamespace] = [decodeURIComponent(name), decodeURIComponent(namespace)];
  return { group, namespace: decodedNamespace, resource, name: decodedName, subresource };
}

function keyOf(place: { readonly resource: string; readonly namespace: string; readonly name: string }): string {
  return `${place.resource} ${place.namespace}/${place.name}`;
}

function listKey({ metadata }: Json): string {
  return `${metadata.namespace ?? ""}/${metadata.name}`;
}
