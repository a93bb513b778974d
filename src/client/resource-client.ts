/**
 * The verbs of one resource. They throw a StatusError if a server responded with an error, and a TransportError if no
 * valid response arrived.
 */
import { must } from "../base/assert.ts";
import { isJsonObject, type JsonObject } from "../meta/json.ts";
import { PAGE_ITEMS } from "./client-limits.ts";
import type {
  ApplyOptions,
  DeleteCollectionOptions,
  DeleteOptions,
  GetOptions,
  KubernetesList,
  KubernetesObject,
  ListOptions,
  ObjectKey,
  PatchType,
  RequestOptions,
  ResourceType,
  SelectOptions,
  WatchEvent,
  WatchOptions,
  WriteOptions,
} from "./objects.ts";
import { queryText, resourcePath, type ResourcePath, type QueryValues } from "./paths.ts";
import type { Requester, RequestSpec } from "./requester.ts";
import { isExpired } from "./status.ts";
import { TransportError } from "./transport.ts";
import { decodeWatch } from "./watch-decoder.ts";

const PATCH_CONTENT_TYPES = {
  json: "application/json-patch+json",
  merge: "application/merge-patch+json",
  strategic: "application/strategic-merge-patch+json",
  apply: "application/apply-patch+yaml",
} as const;

/** Which part of an object a response contains. */
export type ObjectRepresentation = "object" | "metadata";

/**
 * The Accept headers of requests for metadata. As in client-go, each verb names the kind that it returns: kube-apiserver
 * responds with 406 if the first clause names the other kind, whatever the later clauses allow.
 */
const METADATA_ACCEPT = {
  accept: "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
} as const;
const METADATA_LIST_ACCEPT = {
  accept: "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
} as const;

export class ResourceClient<T extends KubernetesObject = KubernetesObject> {
  readonly type: ResourceType;
  readonly #requester: Requester;
  /** The headers of requests that return an object or a watch, and of lists. */
  readonly #ofObject: Headers;
  readonly #ofList: Headers;

  constructor(requester: Requester, type: ResourceType, representation: ObjectRepresentation = "object") {
    this.#requester = requester;
    this.type = type;
    this.#ofObject = representation === "metadata" ? METADATA_ACCEPT : {};
    this.#ofList = representation === "metadata" ? METADATA_LIST_ACCEPT : {};
  }

  get(key: ObjectKey, options: GetOptions = {}): Promise<T> {
    const { subresource, resourceVersion } = options;
    return this.#object("GET", { ...key, subresource }, { query: { resourceVersion }, options });
  }

  /** Returns one page if `limit` is set, otherwise the whole list. */
  async list(options: ListOptions = {}): Promise<KubernetesList<T>> {
    const { namespace, limit, continue: token, resourceVersion, resourceVersionMatch } = options;
    const query = { ...selectors(options), limit, continue: token, resourceVersion, resourceVersionMatch };
    return toList<T>(await this.#json("GET", { namespace }, { query, headers: this.#ofList, options }));
  }

  /** Yields the pages of one consistent list. Throws a StatusError (Expired) if the continue token expires. */
  async *pages(options: ListOptions = {}): AsyncGenerator<KubernetesList<T>, void, undefined> {
    const { resourceVersion: _version, resourceVersionMatch: _match, ...following } = options;
    let page = await this.list({ limit: PAGE_ITEMS, ...options });
    yield page;
    for (let token = page.metadata.continue; token !== undefined && token !== ""; token = page.metadata.continue) {
      page = await this.list({ limit: PAGE_ITEMS, ...following, continue: token });
      yield page;
    }
  }

  /** Returns the whole list, read in pages. If the continue token expires, it reads the list again without pages. */
  async listAll(options: ListOptions = {}): Promise<KubernetesList<T>> {
    const pages: KubernetesList<T>[] = [];
    try {
      for await (const page of this.pages(options)) pages.push(page);
    } catch (thrown) {
      if (!isExpired(thrown) || pages.length === 0) throw thrown;
      const { limit: _limit, ...unlimited } = options;
      return this.list(unlimited);
    }
    const sentence = "pages() yields a page, or throws";
    const { continue: _token, remainingItemCount: _count, ...metadata } = must(pages.at(-1), sentence).metadata;
    return { ...must(pages[0], sentence), metadata, items: pages.flatMap(({ items }) => items) };
  }

  create(object: T, options: WriteOptions & { readonly name?: string } = {}): Promise<T> {
    const { subresource, name } = options;
    const place = { namespace: object.metadata?.namespace, name, subresource };
    return this.#object("POST", place, { query: writing(options), body: object, options });
  }

  replace(object: T, options: WriteOptions = {}): Promise<T> {
    const place = { ...keyOf(object), subresource: options.subresource };
    return this.#object("PUT", place, { query: writing(options), body: object, options });
  }

  replaceStatus(object: T, options: WriteOptions = {}): Promise<T> {
    return this.replace(object, { ...options, subresource: "status" });
  }

  patch(
    key: ObjectKey,
    patch: { readonly type: PatchType; readonly body: unknown },
    options: WriteOptions = {},
  ): Promise<T> {
    const place = { ...key, subresource: options.subresource };
    const contentType = PATCH_CONTENT_TYPES[patch.type];
    return this.#object("PATCH", place, { query: writing(options), body: patch.body, contentType, options });
  }

  /** Server-side apply. */
  apply(object: T, options: ApplyOptions): Promise<T> {
    const place = { ...keyOf(object), subresource: options.subresource };
    const query = { ...writing(options), force: options.force };
    return this.#object("PATCH", place, { query, body: object, contentType: PATCH_CONTENT_TYPES.apply, options });
  }

  /** Returns the response of the server: the deleted object, the object as it waits for its finalizers, or a Status. */
  delete(key: ObjectKey, options: DeleteOptions = {}): Promise<JsonObject> {
    return this.#json("DELETE", key, { body: deleteBody(options), options });
  }

  async deleteCollection(options: DeleteCollectionOptions = {}): Promise<void> {
    const { namespace, limit, resourceVersion, resourceVersionMatch } = options;
    const query = { ...selectors(options), limit, resourceVersion, resourceVersionMatch };
    await this.#json("DELETE", { namespace }, { query, body: deleteBody(options), options });
  }

  /**
   * Returns when the server ends the watch; throws the Status of an ERROR event. Leaving the loop closes the stream;
   * outside of the loop, only the signal closes it.
   */
  async *watch(options: WatchOptions = {}): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const { resourceVersion, resourceVersionMatch, sendInitialEvents, allowWatchBookmarks, timeoutSeconds } = options;
    const query = {
      ...selectors(options),
      resourceVersion,
      resourceVersionMatch,
      sendInitialEvents,
      allowWatchBookmarks,
      timeoutSeconds,
    };
    const target = resourcePath(this.type, { namespace: options.namespace }) + queryText({ watch: true, ...query });
    const response = await this.#requester.stream({
      method: "GET",
      target,
      headers: this.#ofObject,
      signal: options.signal,
    });
    yield* decodeWatch<T>(response.events ?? response.body);
  }

  async #object(method: string, place: ResourcePath, how: How): Promise<T> {
    return (await this.#json(method, place, { headers: this.#ofObject, ...how })) as KubernetesObject as T;
  }

  async #json(method: string, place: ResourcePath, { query = {}, options, ...rest }: How): Promise<JsonObject> {
    const target = resourcePath(this.type, place) + queryText(query);
    const { text } = await this.#requester.read({
      method,
      target,
      ...rest,
      signal: options.signal,
      timeoutMs: options.timeoutMs,
    });
    return parseObject(text);
  }
}

type Headers = NonNullable<RequestSpec["headers"]>;

interface How extends Pick<RequestSpec, "body" | "contentType" | "headers"> {
  readonly query?: QueryValues;
  readonly options: RequestOptions;
}

/** Throws a `TransportError` if the text is not a JSON object. */
export function parseObject(text: string): JsonObject {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (thrown) {
    throw new TransportError("malformed", "the response is not JSON", { cause: thrown });
  }
  if (!isJsonObject(parsed)) throw new TransportError("malformed", "the response is not an object");
  return parsed;
}

/** Adds kind and apiVersion to the items: lists of built-in kinds omit them, watch events have them. */
function toList<T extends KubernetesObject>(list: JsonObject): KubernetesList<T> {
  const { kind, apiVersion, items } = list;
  if (!Array.isArray(items ?? [])) throw new TransportError("malformed", "the response is not a list");
  const head =
    typeof kind === "string" && kind.endsWith("List") ? { kind: kind.slice(0, -"List".length), apiVersion } : {};
  const filled = ((items ?? []) as T[]).map((item) => ({ ...head, ...item }));
  return { ...list, metadata: isJsonObject(list["metadata"]) ? list["metadata"] : {}, items: filled };
}

function keyOf(object: KubernetesObject): ResourcePath {
  return { namespace: object.metadata?.namespace, name: object.metadata?.name ?? "" };
}

function selectors({ labelSelector, fieldSelector }: SelectOptions): QueryValues {
  return { labelSelector, fieldSelector };
}

function writing({ dryRun, fieldManager, fieldValidation }: WriteOptions): QueryValues {
  return { dryRun, fieldManager, fieldValidation };
}

function deleteBody({ dryRun, gracePeriodSeconds, propagationPolicy, preconditions }: DeleteOptions): JsonObject {
  const given = {
    gracePeriodSeconds,
    propagationPolicy,
    preconditions,
    ...(dryRun === undefined ? {} : { dryRun: [dryRun] }),
  };
  return { kind: "DeleteOptions", apiVersion: "v1", ...given };
}
