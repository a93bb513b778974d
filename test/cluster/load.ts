/** Generates load on several servers in a process of its own, and records the outcome of every request. */
import { join } from "node:path";
import { NODE, ROOT } from "../smoke/built.ts";
import { TOKEN, runProgram, type Command } from "../smoke/start-evenkeel.ts";
import type { SmokeResponse, Json } from "../smoke/client.ts";
import type { Member } from "./start-cluster.ts";

export type LoadOperation = "list" | "create" | "delete" | "get" | "watch" | "discovery";

export interface LoadResource {
  readonly name: string;
  readonly path: string;
  /** A template of the created objects, which get unique names. */
  readonly object: Json;
}

export interface LoadPlan {
  readonly ca: string;
  readonly token: string;
  readonly servers: readonly { readonly id: string; readonly url: string; readonly port: number }[];
  /** The number of requests per second to each server. The requests alternate between the resources. */
  readonly perSecond: number;
  readonly resources: readonly LoadResource[];
  /** The interval of aggregated discovery requests to each server; undefined means no such requests. */
  readonly discoveryEveryMs?: number | undefined;
}

export interface LoadResponse {
  readonly server: string;
  readonly resource: string;
  readonly operation: LoadOperation;
  /** The name of the object that the request created, deleted or read. */
  readonly name?: string | undefined;
  /** Wall clock time in milliseconds, which the process that reads the records can compare with its own Date.now(). */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** The HTTP status; 0 means no response. */
  readonly status: number;
  /** The routing rule by which the request was proxied or rejected; undefined if it was served locally. */
  readonly rule?: string | undefined;
  /** The message of an unsuccessful response. */
  readonly message?: string;
  readonly retryAfter?: string | undefined;
  /** The group versions in a response with aggregated discovery. */
  readonly groupVersions?: readonly string[];
}

export const DEVICE_CLASSES: LoadResource = {
  name: "deviceclasses",
  path: "/apis/resource.k8s.io/v1/deviceclasses",
  object: { apiVersion: "resource.k8s.io/v1", kind: "DeviceClass", spec: {} },
};

export const SHARED: LoadResource = {
  name: "configmaps",
  path: "/api/v1/namespaces/default/configmaps",
  object: { apiVersion: "v1", kind: "ConfigMap", data: { a: "1" } },
};

export interface LoadOptions extends Pick<LoadPlan, "perSecond" | "resources" | "discoveryEveryMs"> {
  readonly ca: string;
  readonly servers: readonly Pick<Member, "id" | "url" | "port">[];
}

export class Load implements AsyncDisposable {
  readonly answers: LoadResponse[] = [];
  readonly #command: Command;
  #rest = "";

  constructor({ ca, servers, ...plan }: LoadOptions) {
    const targets = servers.map(({ id, url, port }) => ({ id, url, port }));
    const text = JSON.stringify({ ...plan, ca, token: TOKEN, servers: targets } satisfies LoadPlan);
    this.#command = runProgram(NODE, [join(ROOT, "test/cluster/load-process.ts"), text]);
    this.#command.child.stdout!.on("data", (chunk: string) => this.#take(chunk));
  }

  /** Stops the load and returns when all requests in flight are complete. */
  async stop(): Promise<readonly LoadResponse[]> {
    this.#command.child.kill("SIGTERM");
    const { code } = await this.#command.exited;
    if (code !== 0) throw new Error(`the load ended with ${code}: ${this.#command.stderr}`);
    return this.answers;
  }

  /** Waits for the first response that satisfies the condition. Only the timeout of the test limits the wait. */
  async until(condition: (answer: LoadResponse) => boolean): Promise<LoadResponse> {
    for (let index = 0; ;) {
      while (index < this.answers.length) {
        const response = this.answers[index++]!;
        if (condition(response)) return response;
      }
      await this.#more();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#command[Symbol.asyncDispose]();
  }

  async #more(): Promise<void> {
    const stdout = this.#command.child.stdout!;
    const { promise, resolve } = Promise.withResolvers<void>();
    stdout.once("data", () => resolve());
    const ended = this.#command.exited.then(() => {
      throw new Error(`the load ended: ${this.#command.stderr}`);
    });
    await Promise.race([promise, ended]);
  }

  #take(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop()!;
    for (const line of lines) this.answers.push(JSON.parse(line) as LoadResponse);
  }
}

/** The parts of a response that are recorded. */
export function responseParts({
  status,
  headers,
  body,
  text,
}: SmokeResponse): Pick<LoadResponse, "status" | "message" | "retryAfter" | "rule"> {
  const served = /reason=(.*)$/.exec(String(headers["x-evenkeel-served-by"]))?.[1];
  const rule = served ?? body?.details?.causes?.find(({ field }: Json) => field === "rule")?.message;
  if (status < 300) return { status, rule };
  return { status, rule, message: body?.message ?? text.slice(0, 200), retryAfter: headers["retry-after"] };
}

export function isSuccess({ status }: LoadResponse): boolean {
  return status >= 200 && status < 300;
}

/** True for a 503 with Retry-After. */
export function isRetryable({ status, retryAfter }: LoadResponse): boolean {
  return status === 503 && Number(retryAfter) > 0;
}

/**
 * True for a write that returns 503 without Retry-After: the connection to the peer that executes it broke, so the
 * result of the write is unknown.
 */
export function isUndecided({ operation, status, retryAfter }: LoadResponse): boolean {
  const isRead = operation === "get" || operation === "list" || operation === "watch";
  return !isRead && status === 503 && retryAfter === undefined;
}

/**
 * True for every 404. Even a 404 for an object is wrong, because objects are read and deleted only after their creation
 * was acknowledged, and the load repeats no deletion.
 */
export function isWrongNotFound({ status }: LoadResponse): boolean {
  return status === 404;
}

/** Responses that are neither a success nor a 503 with Retry-After. */
export function unexpected(responses: readonly LoadResponse[]): readonly LoadResponse[] {
  return responses.filter((response) => !isSuccess(response) && !isRetryable(response));
}

/** The number of responses by operation and status, for example "list 200: 120, create 201: 13". */
export function tallied(answers: readonly LoadResponse[]): string {
  const counts = new Map<string, number>();
  for (const { operation, status } of answers) {
    const key = `${operation} ${status}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key}: ${count}`).join(", ");
}
