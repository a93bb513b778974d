/** A transport that responds from a script, request by request, and records the requests. */
import type { KubernetesObject, WatchEvent } from "../../../src/client/objects.ts";
import {
  abortedError,
  TransportError,
  type ClientRequest,
  type ClientResponse,
  type Transport,
  type TransportFailure,
} from "../../../src/client/transport.ts";

export type Reply =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: unknown }
  | { readonly failure: TransportFailure }
  | ScriptedStream;

export class ScriptedTransport implements Transport {
  readonly requests: ClientRequest[] = [];
  readonly #replies: Reply[];

  constructor(...replies: Reply[]) {
    this.#replies = replies;
  }

  add(...replies: Reply[]): void {
    this.#replies.push(...replies);
  }

  /** Drops the rest of the script. */
  replace(...replies: Reply[]): void {
    this.#replies.splice(0, Infinity, ...replies);
  }

  /** Method, path and decoded query parameters of each request, as one line. */
  get asked(): string[] {
    return this.requests.map(({ method, target }) => `${method} ${decodeURIComponent(target)}`);
  }

  query(index: number): URLSearchParams {
    return new URL(this.requests.at(index)!.target, "http://host").searchParams;
  }

  /** Responds with the next reply of the script. A request beyond the script waits until it is aborted. */
  async send(request: ClientRequest): Promise<ClientResponse> {
    this.requests.push(request);
    const reply = this.#replies.shift();
    if (reply === undefined) return untilAborted(request.signal);
    if (reply instanceof ScriptedStream) return { status: 200, headers: {}, body: reply.chunks(request.signal) };
    if ("failure" in reply) throw new TransportError(reply.failure, "as the script says");
    const { status: code, headers = {}, body = {} } = reply;
    const text = typeof body === "string" ? body : JSON.stringify(body);
    return { status: code, headers, body: oneChunk(new TextEncoder().encode(text)) };
  }
}

/** A watch whose events the test sends. */
export class ScriptedStream {
  readonly #lines: string[] = [];
  #ending: "open" | "ended" | "cut" = "open";
  #wake: () => void = () => {};
  isClosed = false;

  constructor(...events: (WatchEvent<KubernetesObject> | object)[]) {
    this.send(...events);
  }

  send(...events: object[]): void {
    this.#lines.push(...events.map((event) => `${JSON.stringify(event)}\n`));
    this.#wake();
  }

  sendText(text: string): void {
    this.#lines.push(text);
    this.#wake();
  }

  end(): this {
    this.#ending = "ended";
    this.#wake();
    return this;
  }

  cut(): this {
    this.#ending = "cut";
    this.#wake();
    return this;
  }

  async *chunks(signal: AbortSignal | undefined): AsyncGenerator<Uint8Array, void, undefined> {
    const onAbort = (): void => this.#wake();
    signal?.addEventListener("abort", onAbort);
    try {
      for (;;) {
        if (signal?.aborted === true) throw abortedError(signal);
        const line = this.#lines.shift();
        if (line !== undefined) yield new TextEncoder().encode(line);
        else if (this.#ending === "ended") return;
        else if (this.#ending === "cut") throw new TransportError("reset", "as the script says");
        else await this.#changed();
      }
    } finally {
      this.isClosed = true;
      signal?.removeEventListener("abort", onAbort);
    }
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
    });
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncGenerator<Uint8Array, void, undefined> {
  yield bytes;
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_resolve, reject) => {
    signal?.addEventListener("abort", () => reject(abortedError(signal)), { once: true });
  });
}

export const CONFIG_MAPS = { group: "", version: "v1", resource: "configmaps", namespaced: true } as const;
export const NAMESPACES = { group: "", version: "v1", resource: "namespaces", namespaced: false } as const;

export function configMap(
  name: string,
  version: number,
  more: { uid?: string; data?: Record<string, string> } = {},
): KubernetesObject {
  const { uid = `uid-${name}`, ...rest } = more;
  const metadata = { name, namespace: "default", uid, resourceVersion: String(version) };
  return { apiVersion: "v1", kind: "ConfigMap", metadata, ...rest };
}

export const added = (object: KubernetesObject): object => ({ type: "ADDED", object });
export const modified = (object: KubernetesObject): object => ({ type: "MODIFIED", object });
export const deleted = (object: KubernetesObject): object => ({ type: "DELETED", object });

export function bookmark(version: number): object {
  return {
    type: "BOOKMARK",
    object: { kind: "ConfigMap", apiVersion: "v1", metadata: { resourceVersion: String(version) } },
  };
}

export function initialEnd(version: number): object {
  const metadata = { resourceVersion: String(version), annotations: { "k8s.io/initial-events-end": "true" } };
  return { type: "BOOKMARK", object: { kind: "ConfigMap", apiVersion: "v1", metadata } };
}

export function list(version: number, ...items: KubernetesObject[]): Reply {
  const bare = items.map(({ kind: _kind, apiVersion: _apiVersion, ...item }) => item);
  return {
    status: 200,
    body: { kind: "ConfigMapList", apiVersion: "v1", metadata: { resourceVersion: String(version) }, items: bare },
  };
}

export function status(
  code: number,
  reason: string,
  message = "as the script says",
  details: object = {},
): Record<string, unknown> {
  return { kind: "Status", apiVersion: "v1", metadata: {}, status: "Failure", message, reason, details, code };
}

export function rejects(code: number, reason: string, details: object = {}): Reply {
  return { status: code, body: status(code, reason, "as the script says", details) };
}

export async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) collected.push(item);
  return collected;
}
