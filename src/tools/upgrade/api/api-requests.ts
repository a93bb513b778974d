/**
 * Reads from the API of a cluster. A part of the API that the user may not read, or that the server does not serve, is
 * a result, because the inspection continues without it and names it.
 */
import type { Client } from "../../../client/client.ts";
import { objectAt, objectsAt, parseJsonObject, stringAt, type JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import { StoredDataError } from "../stored-data.ts";

/** Why a part of the API could not be read. */
type Missing = "denied" | "not-served" | "failed";

type Received<T> = { readonly value: T } | { readonly missing: Missing; readonly reason: string };

const ABSENT_CODES: readonly number[] = [404, 405, 406];
/** A server that sends the same page again and again must not keep the inspection running. */
const PAGES_MAX = 20_000;

/** No other form is acceptable: a server that ignored the form would send the data of Secrets. */
export const METADATA_LIST = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";

export class ApiRequests {
  readonly url: string;
  readonly #client: Client;
  readonly #signal: AbortSignal;

  constructor(client: Client, url: string, signal: AbortSignal) {
    this.#client = client;
    this.url = url;
    this.#signal = signal;
  }

  async text(target: string, accept = "application/json"): Promise<Received<string>> {
    this.#signal.throwIfAborted();
    try {
      const { text } = await this.#client.request({
        method: "GET",
        target,
        headers: { accept },
        signal: this.#signal,
      });
      return { value: text };
    } catch (thrown) {
      this.#signal.throwIfAborted();
      return missingFrom(thrown, this.url);
    }
  }

  async json(target: string, accept?: string): Promise<Received<JsonObject>> {
    const received = await this.text(target, accept);
    if ("missing" in received) return received;
    const value = parseJsonObject(received.value);
    return value === undefined ? { missing: "failed", reason: `the response for ${target} is not JSON` } : { value };
  }

  /** Calls `visit` for each item of a list, page by page. Returns why the list is incomplete; undefined if it is not. */
  async list(
    request: { readonly path: string; readonly limit: number; readonly accept?: string },
    visit: (item: JsonObject) => void,
  ): Promise<{ readonly missing: Missing; readonly reason: string } | undefined> {
    const { path, limit, accept } = request;
    let token = "";
    for (let page = 0; page < PAGES_MAX; page++) {
      const query = `limit=${limit}${token === "" ? "" : `&continue=${encodeURIComponent(token)}`}`;
      const received = await this.json(`${path}${path.includes("?") ? "&" : "?"}${query}`, accept);
      if ("missing" in received) return received;
      for (const item of objectsAt(received.value, "items")) visit(item);
      token = stringAt(objectAt(received.value, "metadata"), "continue");
      if (token === "") return undefined;
    }
    return { missing: "failed", reason: `${path} has more than ${PAGES_MAX} pages` };
  }
}

/** Rejects if no other request can succeed either: with a TransportError if the server is unreachable. */
function missingFrom(thrown: unknown, url: string): { readonly missing: Missing; readonly reason: string } {
  if (!(thrown instanceof StatusError)) throw thrown;
  if (thrown.code === 401)
    throw new StoredDataError(`${url} could not authenticate the request: use another kubeconfig, or give --token`, {
      cause: thrown,
    });
  const reason = thrown.message;
  if (thrown.code === 403) return { missing: "denied", reason };
  return { missing: ABSENT_CODES.includes(thrown.code) ? "not-served" : "failed", reason };
}
