/**
 * Reads and writes objects through the API. An object counts as absent only if a server that serves its resource has
 * looked it up. After any other failure, including a 404 because the resource is not served, the collector waits.
 */
import { messageOf } from "../../../base/within.ts";
import type { Client } from "../../../client/client.ts";
import type { DeleteOptions, KubernetesObject, ObjectKey, ResourceType } from "../../../client/objects.ts";
import { TransportError } from "../../../client/transport.ts";
import { formatGroupResource, type GroupResource } from "../../../meta/group-version.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { isReason, StatusError } from "../../../meta/status-error.ts";
import type { Holds } from "./holds.ts";
import {
  CONFLICT_RETRY_MS,
  REJECTED_RETRY_MS,
  REQUEST_MS,
  UNAVAILABLE_MS_MAX,
  UNAVAILABLE_MS_MIN,
} from "./collector-limits.ts";
import { toLiveObject, type LiveObject } from "./seen-object.ts";
import type { ServedResources } from "./served-resources.ts";
import { wait, type Wait } from "./wait.ts";

export interface LiveObjectPlace {
  readonly resource: GroupResource;
  readonly namespace: string;
  readonly name: string;
}

/** A change that replaces a list in the metadata. */
export type ListChange =
  | { readonly name: "ownerReferences"; readonly list: readonly JsonObject[] }
  | { readonly name: "finalizers"; readonly list: readonly string[] };

export type FoundLiveObject = { readonly kind: "found"; readonly object: LiveObject };
type Absent = { readonly kind: "absent" };
type Done = { readonly kind: "done" };

const ABSENT: Absent = { kind: "absent" };
const DONE: Done = { kind: "done" };
const FIELD_MANAGER = "garbage-collector-controller";

interface LiveObjectsOptions {
  /** The client that requests only metadata. */
  readonly metadata: Client;
  readonly served: ServedResources;
  readonly holds: Holds;
}

export class LiveObjects {
  readonly #options: LiveObjectsOptions;

  constructor(options: LiveObjectsOptions) {
    this.#options = options;
  }

  async get(place: LiveObjectPlace, signal: AbortSignal): Promise<FoundLiveObject | Absent | Wait> {
    return this.#request(place, async (type) => {
      const object = toLiveObject(await this.#options.metadata.resource(type).get(keyOf(type, place), asking(signal)));
      return object === undefined
        ? wait("unavailable", UNAVAILABLE_MS_MAX, "the response is not an object")
        : { kind: "found", object };
    });
  }

  /** Calls back for every existing object of a resource in a namespace ("" means anywhere). */
  async each(
    of: { readonly resource: GroupResource; readonly namespace: string },
    onObject: (object: KubernetesObject) => void,
    signal: AbortSignal,
  ): Promise<Done | Absent | Wait> {
    return this.#request({ ...of, name: "" }, async (type) => {
      const namespace = of.namespace === "" ? undefined : of.namespace;
      const pages = this.#options.metadata.resource(type).pages({ ...asking(signal), namespace });
      for await (const page of pages) page.items.forEach(onObject);
      return DONE;
    });
  }

  async delete(
    place: LiveObjectPlace,
    options: Required<Pick<DeleteOptions, "preconditions" | "propagationPolicy" | "signal">>,
  ): Promise<Done | Absent | Wait> {
    return this.#request(place, async (type) => {
      await this.#options.metadata.resource(type).delete(keyOf(type, place), { ...options, ...asking(options.signal) });
      return DONE;
    });
  }

  /** Replaces a list in the metadata, provided that the object has not changed since it was read. */
  async patch(
    place: LiveObjectPlace,
    change: ListChange & { readonly of: LiveObject },
    signal: AbortSignal,
  ): Promise<FoundLiveObject | Absent | Wait> {
    const { uid, resourceVersion } = change.of;
    // An empty list is sent as null, because it would be stored as an empty list otherwise.
    const { name, list } = change;
    const body = { metadata: { uid, resourceVersion, [name]: list.length === 0 ? null : list } };
    return this.#request(place, async (type) => {
      const patched = await this.#options.metadata
        .resource(type)
        .patch(keyOf(type, place), { type: "merge", body }, { ...asking(signal), fieldManager: FIELD_MANAGER });
      return { kind: "found", object: toLiveObject(patched) ?? change.of };
    });
  }

  async #request<T>(place: LiveObjectPlace, request: (type: ResourceType) => Promise<T>): Promise<T | Absent | Wait> {
    const { served, holds } = this.#options;
    const { group, resource } = place.resource;
    const subject = { group, resource };
    const held = holds.get(subject);
    if (held !== undefined) return held;
    const type = served.typeOf(place.resource);
    if (type === undefined)
      return holds.hold(subject, wait("doubt", UNAVAILABLE_MS_MAX, "no server serves it at present"));
    try {
      const response = await request(type);
      holds.release(subject);
      return response;
    } catch (thrown) {
      if (isAbsence(thrown, place)) {
        holds.release(subject);
        return ABSENT;
      }
      const waiting = waitAfter(thrown, place);
      return waiting.reason === "unavailable" || waiting.reason === "not-served"
        ? holds.hold(subject, waiting)
        : waiting;
    }
  }
}

/** Whether a server that serves the resource reports that this object does not exist. */
function isAbsence(thrown: unknown, { resource, name }: LiveObjectPlace): boolean {
  if (!isReason(thrown, "NotFound")) return false;
  const { details = {} } = thrown;
  return details.name === name && details.kind === resource.resource && (details.group ?? "") === resource.group;
}

/** The wait after a failure that proves nothing about the object. Aborted requests and unexpected errors are thrown. */
function waitAfter(thrown: unknown, { resource, name }: LiveObjectPlace): Wait {
  const because = messageOf(thrown);
  if (thrown instanceof TransportError) {
    if (thrown.failure === "aborted") throw thrown;
    return wait("unavailable", UNAVAILABLE_MS_MIN, because);
  }
  if (!(thrown instanceof StatusError)) throw thrown;
  switch (thrown.code) {
    case 404:
      return wait("not-served", UNAVAILABLE_MS_MAX, because);
    case 409:
    case 410:
      return wait("conflict", CONFLICT_RETRY_MS, because);
    case 500:
      // Delays only this object: other objects of the resource may be readable.
      return wait("refused", UNAVAILABLE_MS_MAX, because);
    case 429:
    case 503:
    case 504:
      return wait("unavailable", retryMs(thrown), because);
    default:
      return wait("refused", REJECTED_RETRY_MS, `${formatGroupResource(resource)} ${JSON.stringify(name)}: ${because}`);
  }
}

function retryMs({ details }: StatusError): number {
  const asked = (details?.retryAfterSeconds ?? 0) * 1000;
  return Math.min(Math.max(asked, UNAVAILABLE_MS_MIN), UNAVAILABLE_MS_MAX);
}

function asking(signal: AbortSignal): { readonly signal: AbortSignal; readonly timeoutMs: number } {
  return { signal, timeoutMs: REQUEST_MS };
}

function keyOf({ namespaced }: ResourceType, { namespace, name }: LiveObjectPlace): ObjectKey {
  return namespaced ? { name, namespace } : { name };
}
