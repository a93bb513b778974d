/**
 * An in-memory server of StorageVersions, with conflicts and preconditions. A test can intervene before each request.
 */
import { jsonResponse } from "../../client/json-response.ts";
import type { Clock } from "../../../../src/base/clock.ts";
import { ScriptedStream } from "../../client/scripted-transport.ts";
import type { ClientRequest, ClientResponse, Transport } from "../../../../src/client/transport.ts";
import { alreadyExists, conflict, notFound, StatusError } from "../../../../src/meta/status-error.ts";
import {
  STORAGE_VERSION_TYPE,
  type StorageVersionObject,
  type StorageVersionStatus,
} from "../../../../src/cluster/storageversion/objects.ts";

const { group, version, resource } = STORAGE_VERSION_TYPE;
const PATH = `/apis/${group}/${version}/${resource}`;
const HEAD = { apiVersion: `${group}/${version}`, kind: "StorageVersion" };

export class FakeStorageVersions implements Transport {
  readonly #clock: Clock;
  readonly #objects = new Map<string, StorageVersionObject>();
  readonly #watches: ScriptedStream[] = [];
  #revision = 100;
  /** Requests such as "PUT name/status", except watches. */
  readonly requests: string[] = [];
  /** Called before a request is executed. If it throws a StatusError, this error is the response. */
  before: (asked: string) => void = () => {};

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get(name: string): StorageVersionObject | undefined {
    return this.#objects.get(name);
  }

  statusOf(name: string): StorageVersionStatus | undefined {
    return this.#objects.get(name)?.status;
  }

  /** The requests other than GET. */
  get writes(): string[] {
    return this.requests.filter((line) => !line.startsWith("GET "));
  }

  /** Writes as another client, ignoring the resource version. */
  put(name: string, status: StorageVersionStatus, metadata: StorageVersionObject["metadata"] = {}): void {
    const known = this.#objects.get(name);
    const uid = known?.metadata?.uid ?? `uid-${this.#revision}`;
    const creationTimestamp = known?.metadata?.creationTimestamp ?? new Date(this.#clock.now()).toISOString();
    const own = { name, uid, creationTimestamp, ...metadata };
    this.#store({ ...HEAD, metadata: own, spec: {}, status }, known === undefined ? "ADDED" : "MODIFIED");
  }

  remove(name: string): void {
    const object = this.#objects.get(name);
    if (object === undefined) return;
    this.#objects.delete(name);
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    this.#tell({ type: "DELETED", object: { ...object, metadata } });
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    const { pathname, searchParams } = new URL(request.target, "http://host");
    if (!pathname.startsWith(PATH)) return jsonResponse(404, notFound({ group, resource }, pathname).toStatus());
    if (searchParams.has("watch")) {
      const stream = this.#watch(searchParams.has("sendInitialEvents"));
      return { status: 200, headers: {}, body: stream.chunks(request.signal) };
    }
    const key = decodeURIComponent(pathname.slice(PATH.length + 1));
    const requests = `${request.method} ${key}`.trimEnd();
    this.requests.push(requests);
    try {
      this.before(requests);
      const body = request.body === undefined ? undefined : JSON.parse(new TextDecoder().decode(request.body));
      return jsonResponse(200, this.#carryOut(request.method, key, body));
    } catch (thrown) {
      if (!(thrown instanceof StatusError)) throw thrown;
      return jsonResponse(thrown.code, thrown.toStatus());
    }
  }

  #carryOut(method: string, key: string, body: StorageVersionObject & DeleteBody): unknown {
    if (method === "POST") return this.#create(body);
    const [name = "", subresource] = key.split("/");
    const known = this.#objects.get(name);
    if (known === undefined) throw notFound({ group, resource }, name);
    if (method === "GET") return known;
    if (method === "DELETE") {
      const { uid, resourceVersion } = body.preconditions ?? {};
      if ((uid ?? known.metadata?.uid) !== known.metadata?.uid) throw conflict({ group, resource }, name, "uid");
      checkVersion(known, resourceVersion);
      this.remove(name);
      return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success" };
    }
    if (method !== "PUT" || subresource !== "status") throw new Error(`${method} ${key} is not expected`);
    checkVersion(known, body.metadata?.resourceVersion ?? "");
    return this.#store({ ...known, status: body.status ?? {} }, "MODIFIED");
  }

  #create(body: StorageVersionObject): StorageVersionObject {
    const name = body.metadata?.name ?? "";
    if (this.#objects.has(name)) throw alreadyExists({ group, resource }, name);
    this.put(name, {});
    return this.#objects.get(name)!;
  }

  #store(object: StorageVersionObject, type: "ADDED" | "MODIFIED"): StorageVersionObject {
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    const stored = { ...object, metadata };
    this.#objects.set(metadata.name ?? "", stored);
    this.#tell({ type, object: stored });
    return stored;
  }

  #watch(hasInitialEvents: boolean): ScriptedStream {
    const initial = [...this.#objects.values()].map((object) => ({ type: "ADDED", object }));
    const annotations = { "k8s.io/initial-events-end": "true" };
    const end = { ...HEAD, metadata: { resourceVersion: String(this.#revision), annotations } };
    const stream = new ScriptedStream(...(hasInitialEvents ? [...initial, { type: "BOOKMARK", object: end }] : []));
    this.#watches.push(stream);
    return stream;
  }

  #tell(event: object): void {
    for (const watch of this.#watches) watch.send(event);
  }
}

interface DeleteBody {
  readonly preconditions?: { readonly uid?: string; readonly resourceVersion?: string };
}

function checkVersion({ metadata }: StorageVersionObject, given: string | undefined): void {
  if ((given ?? metadata?.resourceVersion) !== metadata?.resourceVersion)
    throw conflict({ group, resource }, metadata?.name ?? "", "the object has been modified");
}
