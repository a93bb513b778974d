/** One client of a rehearsal: it retries if a server requests that, and records how long each request took. */
import type { Clock } from "../../base/clock.ts";
import { createClient, type Client } from "../../client/client.ts";
import { TransportError, type Transport } from "../../client/transport.ts";
import type { Random } from "../../base/random.ts";
import { objectAt, parseJsonObject, stringAt, type JsonObject } from "../../meta/json.ts";
import { HTTP_CODE, StatusError } from "../../meta/status-error.ts";
import { resourcePath } from "../../client/paths.ts";
import type { LedgerEntry, Ledger } from "./ledger.ts";
import type { Recorder } from "./recorder.ts";
import { resourceTypeOf, type LoadTarget } from "./targets.ts";

interface SessionOptions {
  readonly name: string;
  readonly transport: Transport;
  readonly clock: Clock;
  readonly random: Random;
  readonly ledger: Ledger;
  readonly recorder: Recorder;
}

interface SessionResponse {
  /** Status of the last response; undefined if there was none. */
  readonly status: number | undefined;
  readonly object: JsonObject;
}

interface SessionRequest {
  readonly body?: JsonObject;
  readonly contentType?: string;
  readonly accept?: string;
}

interface NewObject {
  readonly target: LoadTarget;
  readonly version: string;
  readonly namespace: string;
  readonly name: string;
  readonly owner?: { readonly entry: LedgerEntry; readonly apiVersion: string; readonly kind: string };
}

const MERGE_PATCH = "application/merge-patch+json";
/** Time after which a client gives up a request, as a user would. */
const GIVE_UP_MS = 60_000;

export class Session {
  readonly name: string;
  readonly client: Client;
  readonly random: Random;
  readonly #options: SessionOptions;
  #marks = 0;

  constructor(options: SessionOptions) {
    const { transport, clock, random, name } = options;
    this.name = name;
    this.random = random;
    this.#options = options;
    this.client = createClient({ transport, clock, random, userAgent: `rehearsal/${name}` });
  }

  async request(method: string, path: string, request: SessionRequest = {}): Promise<SessionResponse> {
    const { clock, recorder } = this.#options;
    const startedAtMs = clock.monotonic();
    const response = await this.#send(method, path, request);
    recorder.waited({ ms: clock.monotonic() - startedAtMs, client: this.name, request: `${method} ${path}` });
    return response;
  }

  async #send(method: string, target: string, { accept, body, contentType }: SessionRequest): Promise<SessionResponse> {
    try {
      const response = await this.client.request({
        method,
        target,
        timeoutMs: GIVE_UP_MS,
        ...(accept && { headers: { accept } }),
        ...(body && { body }),
        ...(contentType && { contentType }),
      });
      return { status: response.status, object: parseJsonObject(response.text) ?? {} };
    } catch (thrown) {
      if (thrown instanceof StatusError) return { status: HTTP_CODE[thrown.reason], object: {} };
      if (thrown instanceof TransportError) return { status: undefined, object: {} };
      throw thrown;
    }
  }

  /** Creates an object and adds it to the ledger. Undefined if the creation was not acknowledged. */
  async create(making: NewObject): Promise<LedgerEntry | undefined> {
    const { ledger, clock } = this.#options;
    const { target, version, namespace, name, owner } = making;
    const { group, resource, storagePrefix } = target;
    const place = { group, resource, namespace: target.namespaced ? namespace : "", name };
    const entry = ledger.begin(place, { storagePrefix, owner: owner?.entry });
    const path = resourcePath(resourceTypeOf(target, version), { namespace: place.namespace });
    const { status, object } = await this.request("POST", path, { body: bodyOf(making, place.namespace) });
    if (status === 201) {
      const metadata = objectAt(object, "metadata");
      const revision = Number(stringAt(metadata, "resourceVersion"));
      ledger.acknowledge(entry, { uid: stringAt(metadata, "uid"), revision, atMs: clock.monotonic() });
      return entry;
    }
    // A 4xx other than 409 means that nothing was created. After any other failure the outcome is unknown, so the entry
    // remains.
    if (status !== undefined && status < 500 && status !== 409) ledger.forget(entry);
    return undefined;
  }

  /** Deletes an object with its dependents, unless they are to be orphaned. */
  async delete(
    entry: LedgerEntry,
    path: string,
    propagationPolicy: "Background" | "Foreground" | "Orphan",
  ): Promise<boolean> {
    const { ledger } = this.#options;
    if (propagationPolicy === "Orphan") ledger.markDeletingAlone(entry);
    else ledger.markDeleting(entry);
    const body = { kind: "DeleteOptions", apiVersion: "v1", propagationPolicy };
    const { status } = await this.request("DELETE", path, { body });
    const isAcknowledged = status === 200 || status === 202;
    if (isAcknowledged && propagationPolicy === "Orphan") entry.mustGo = true;
    else if (isAcknowledged) ledger.markMustGo(entry);
    return isAcknowledged;
  }

  /** Adds an annotation that no client removes, either by a patch or by a read and an update. */
  async mark(entry: LedgerEntry, path: string, how: "patch" | "replace"): Promise<void> {
    const mark = `rehearsal/${this.name}-${++this.#marks}`;
    const annotations = { [mark]: "1" };
    if (how === "patch") {
      const patch = { body: { metadata: { annotations } }, contentType: MERGE_PATCH };
      const { status } = await this.request("PATCH", path, patch);
      if (status === 200) entry.marks.push(mark);
      return;
    }
    const { status, object } = await this.request("GET", path);
    if (status !== 200) return;
    const metadata = objectAt(object, "metadata");
    const merged = { ...metadata, annotations: { ...objectAt(metadata, "annotations"), ...annotations } };
    const replaced = await this.request("PUT", path, { body: { ...object, metadata: merged } });
    if (replaced.status === 200) entry.marks.push(mark);
  }
}

export function pathOfEntry(entry: LedgerEntry, target: LoadTarget, version: string): string {
  return resourcePath(resourceTypeOf(target, version), { namespace: entry.namespace, name: entry.name });
}

function bodyOf({ target, version, name, owner }: NewObject, namespace: string): JsonObject {
  const ownerReferences = owner && [
    {
      apiVersion: owner.apiVersion,
      kind: owner.kind,
      name: owner.entry.name,
      uid: owner.entry.uid,
      blockOwnerDeletion: true,
    },
  ];
  return {
    apiVersion: target.group === "" ? version : `${target.group}/${version}`,
    kind: target.kind,
    metadata: { name, ...(namespace && { namespace }), ...(ownerReferences && { ownerReferences }) },
    ...target.bodies.get(version),
  };
}
