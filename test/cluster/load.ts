/** Load on several servers, and what came of every single request. */
import { join } from "node:path";
import { NODE, ROOT } from "../smoke/built.ts";
import { TOKEN, runProgram, type Command } from "../smoke/start-evenkeel.ts";
import type { Answer, Json } from "../smoke/client.ts";
import type { Member } from "./start-cluster.ts";

export type LoadOperation = "list" | "create" | "delete" | "get" | "watch" | "discovery";

export interface LoadResource {
  readonly name: string;
  readonly path: string;
  /** Created under names of its own. */
  readonly object: Json;
}

export interface LoadPlan {
  readonly ca: string;
  readonly token: string;
  readonly servers: readonly { readonly id: string; readonly url: string; readonly port: number }[];
  /** To each server, taking turns among the resources. */
  readonly perSecond: number;
  readonly resources: readonly LoadResource[];
  /** How often aggregated discovery is asked of each server; undefined: never. */
  readonly discoveryEveryMs?: number | undefined;
}

export interface LoadAnswer {
  readonly server: string;
  readonly resource: string;
  readonly operation: LoadOperation;
  /** Of the object that was to be created, deleted or got. */
  readonly name?: string | undefined;
  /** Wall clock, milliseconds: as Date.now() of the process that reads it. */
  readonly sentAt: number;
  readonly answeredAt: number;
  /** 0: no answer at all. */
  readonly status: number;
  /** By which the proxy sent it on or refused it; undefined for what was answered where it was asked. */
  readonly rule?: string | undefined;
  /** Of what is no success. */
  readonly message?: string;
  readonly retryAfter?: string | undefined;
  /** In aggregated discovery. */
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
  readonly answers: LoadAnswer[] = [];
  readonly #command: Command;
  #rest = "";

  constructor({ ca, servers, ...plan }: LoadOptions) {
    const targets = servers.map(({ id, url, port }) => ({ id, url, port }));
    const text = JSON.stringify({ ...plan, ca, token: TOKEN, servers: targets } satisfies LoadPlan);
    this.#command = runProgram(NODE, [join(ROOT, "test/cluster/load-process.ts"), text]);
    this.#command.child.stdout!.on("data", (chunk: string) => this.#take(chunk));
  }

  /** Ends when everything under way has been answered. */
  async stop(): Promise<readonly LoadAnswer[]> {
    this.#command.child.kill("SIGTERM");
    const { code } = await this.#command.exited;
    if (code !== 0) throw new Error(`the load ended with ${code}: ${this.#command.stderr}`);
    return this.answers;
  }

  /** The first answer that satisfies the condition, however long it takes: the test's own timeout ends the wait. */
  async until(condition: (answer: LoadAnswer) => boolean): Promise<LoadAnswer> {
    for (let index = 0; ;) {
      while (index < this.answers.length) {
        const answer = this.answers[index++]!;
        if (condition(answer)) return answer;
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
    for (const line of lines) this.answers.push(JSON.parse(line) as LoadAnswer);
  }
}

/** What an answer says, as far as it matters here. */
export function told({
  status,
  headers,
  body,
  text,
}: Answer): Pick<LoadAnswer, "status" | "message" | "retryAfter" | "rule"> {
  const served = /reason=(.*)$/.exec(String(headers["x-evenkeel-served-by"]))?.[1];
  const rule = served ?? body?.details?.causes?.find(({ field }: Json) => field === "rule")?.message;
  if (status < 300) return { status, rule };
  return { status, rule, message: body?.message ?? text.slice(0, 200), retryAfter: headers["retry-after"] };
}

export function isSuccess({ status }: LoadAnswer): boolean {
  return status >= 200 && status < 300;
}

/** A refusal that tells a client to come again. */
export function isRetryable({ status, retryAfter }: LoadAnswer): boolean {
  return status === 503 && Number(retryAfter) > 0;
}

/** Whoever wrote to a server that was killed meanwhile is told that nobody knows, and not to repeat it. */
export function isUndecided({ operation, status, retryAfter }: LoadAnswer): boolean {
  const isRead = operation === "get" || operation === "list" || operation === "watch";
  return !isRead && status === 503 && retryAfter === undefined;
}

/**
 * The resource is said not to be there. Objects are asked for only after their creation was acknowledged and before
 * anybody deletes them, so even a 404 about an object is wrong, unless an earlier DELETE was cut off: nobody repeats one.
 */
export function isWrongNotFound({ status }: LoadAnswer): boolean {
  return status === 404;
}

/** What is neither a success nor an honest refusal, to be shown when there is any. */
export function unexpected(answers: readonly LoadAnswer[]): readonly LoadAnswer[] {
  return answers.filter((answer) => !isSuccess(answer) && !isRetryable(answer));
}

/** "list 200: 120, create 201: 13" */
export function tallied(answers: readonly LoadAnswer[]): string {
  const counts = new Map<string, number>();
  for (const { operation, status } of answers) {
    const key = `${operation} ${status}`;
    counts.set(key, (counts.get(key) ?? 0) + 1);
  }
  return [...counts].map(([key, count]) => `${key}: ${count}`).join(", ");
}
