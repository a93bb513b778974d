/**
 * An in-memory API server for any resource. It serves watches that begin with all objects, and writes, which need the
 * current resource version. The status is a separate subresource; objects are neither validated nor defaulted.
 */
import { jsonResponse } from "../../client/json-response.ts";
import type { UnstructuredObject } from "../../../../src/client/objects.ts";
import { ScriptedStream } from "../../client/scripted-transport.ts";
import type { ClientRequest, ClientResponse, Transport } from "../../../../src/client/transport.ts";
import { alreadyExists, conflict, notFound, StatusError } from "../../../../src/meta/status-error.ts";

/** Matches the group version, namespace, resource, name and subresource of a path. */
const PATH = /^(\/api\/v1|\/apis\/[^/]+\/[^/]+)(?:\/namespaces\/([^/]+))?\/([a-z]+)(?:\/([^/]+))?(?:\/(status))?$/;

interface Place {
  readonly collection: string;
  readonly resource: string;
  readonly namespace: string;
  readonly name: string;
  readonly isStatus: boolean;
}

export class FakeApi implements Transport {
  readonly #objects = new Map<string, UnstructuredObject>();
  readonly #watches: { readonly collection: string; readonly stream: ScriptedStream }[] = [];
  #revision = 100;
  /** Every write, such as "PUT name/status", in order. */
  readonly writes: string[] = [];
  /** Called before a write is executed. If it throws a StatusError, this error is the response. */
  before: (asked: string) => void = () => undefined;

  /** The object at a path such as /api/v1/namespaces/x/services/y. */
  get(path: string): UnstructuredObject | undefined {
    return this.#objects.get(keyOf(parse(path)));
  }

  /** Writes an object as another client would. */
  put(path: string, object: object): void {
    const place = parse(path);
    const { name, namespace } = place;
    const known = this.#objects.get(keyOf(place));
    const { metadata = {}, ...members } = object as UnstructuredObject;
    const uid = known?.metadata?.uid ?? `uid-${this.#revision}`;
    const own = { uid, ...metadata, name, ...(namespace === "" ? {} : { namespace }) };
    this.#store(place, { ...members, metadata: own });
  }

  remove(path: string): void {
    const place = parse(path);
    const object = this.#objects.get(keyOf(place));
    if (object === undefined) return;
    this.#objects.delete(keyOf(place));
    const metadata = { ...object.metadata, resourceVersion: String(++this.#revision) };
    this.#tell(place.collection, { type: "DELETED", object: { ...object, metadata } });
  }

  async send(request: ClientRequest): Promise<ClientResponse> {
    const { pathname, searchParams } = new URL(request.target, "http://host");
    const place = parse(decodeURIComponent(pathname));
    if (searchParams.has("watch")) {
      const stream = this.#watch(place.collection);
      return { status: 200, headers: {}, body: stream.chunks(request.signal) };
    }
    try {
      const body = request.body === undefined ? {} : JSON.parse(new TextDecoder().decode(request.body));
      return jsonResponse(200, this.#carryOut(request.method, place, body as UnstructuredObject));
    } catch (thrown) {
      if (!(thrown instanceof StatusError)) throw thrown;
      return jsonResponse(thrown.code, thrown.toStatus());
    }
  }

  #carryOut(method: string, place: Place, body: UnstructuredObject): unknown {
    const named = method === "POST" ? { ...place, name: body.metadata?.name ?? "" } : place;
    const gr = { group: "", resource: place.resource };
    const asked = `${method} ${named.name}${place.isStatus ? "/status" : ""}`;
    this.writes.push(asked);
    this.before(asked);
    const known = this.#objects.get(keyOf(named));
    if (method === "POST") {
      if (known !== undefined) throw alreadyExists(gr, named.name);
      return this.#store(named, { ...body, metadata: { uid: `uid-${this.#revision}`, ...body.metadata } });
    }
    if (known === undefined) throw notFound(gr, named.name);
    const given = method === "DELETE" ? (body["preconditions"] as { resourceVersion?: string }) : body.metadata;
    if (given?.resourceVersion !== known.metadata?.resourceVersion)
      throw conflict(gr, named.name, "the object has been modified");
    if (method === "DELETE") {
      this.remove(`${place.collection}/${named.name}`);
      return { kind: "Status", status: "Success" };
    }
    return this.#store(named, place.isStatus ? { ...known, status: body["status"] } : { ...known, ...body });
  }

  #store(place: Place, object: UnstructuredObject): UnstructuredObject {
    const type = this.#objects.has(keyOf(place)) ? "MODIFIED" : "ADDED";
    const stored = { ...object, metadata: { ...object.metadata, resourceVersion: String(++this.#revision) } };
    this.#objects.set(keyOf(place), stored);
    this.#tell(place.collection, { type, object: stored });
    return stored;
  }

  #watch(collection: string): ScriptedStream {
    const objects = [...this.#objects].filter(([key]) => key.startsWith(`${collection} `));
    const annotations = { "k8s.io/initial-events-end": "true" };
    const end = { metadata: { resourceVersion: String(this.#revision), annotations } };
    const stream = new ScriptedStream(...objects.map(([, object]) => ({ type: "ADDED", object })), {
      type: "BOOKMARK",
      object: end,
    });
    this.#watches.push({ collection, stream });
    return stream;
  }

  #tell(collection: string, event: object): void {
    for (const watch of this.#watches) if (watch.collection === collection) watch.stream.send(event);
  }
}

function parse(path: string): Place {
  const [, prefix = "", namespace = "", resource = "", name = "", status] = PATH.exec(path) ?? [];
  return { collection: `${prefix}/${resource}`, resource, namespace, name, isStatus: status !== undefined };
}

function keyOf({ collection, namespace, name }: Place): string {
  return `${collection} ${namespace}/${name}`;
}
