/** Clients that list and watch a resource, and the comparison of the received events with the store. */
import type { IncomingMessage } from "node:http";
import { Agent, request as httpsRequest } from "node:https";
import { setTimeout as delay } from "node:timers/promises";
import type { Commit } from "../../src/tools/simulator/history.ts";
import { ask, type SmokeResponse, type Json, type Target } from "../smoke/client.ts";
import { TOKEN } from "../smoke/start-evenkeel.ts";
import { isRetryable, isSuccess, responseParts, type LoadResponse, type LoadOperation } from "./load.ts";
import type { Member } from "./start-cluster.ts";

const AGAIN_MS = 50;
const EXPIRED = 410;

export interface Followed {
  readonly name: string;
  readonly path: string;
  /** The key prefix of the resource, below the root of the store. */
  readonly prefix: string;
}

/** A list and all watch events after it, until a 410 forces the client to list again. */
export interface Stretch {
  /**
   * The resourceVersion of the list. `listed` contains the resourceVersion of each item, keyed by the item's key in the
   * store.
   */
  readonly from: number;
  readonly listed: ReadonlyMap<string, number>;
  /** Events in the form "ADDED configmaps/default/a 17". */
  readonly events: string[];
  /**
   * The resourceVersion of the last received event or bookmark, up to which the client should have received all events.
   */
  to: number;
}

export interface FollowerOptions {
  readonly ca: string;
  readonly followed: Followed;
  /** The servers that the client uses. When a stream ends, the client continues with the next server. */
  readonly servers: readonly Pick<Member, "id" | "url" | "port">[];
}

export class Follower implements Disposable {
  readonly followed: Followed;
  /** The responses to lists and watches. */
  readonly responses: LoadResponse[] = [];
  /** Responses that are neither a success, nor 503 with Retry-After, nor 410. */
  readonly unexpected: LoadResponse[] = [];
  readonly #stretches: Stretch[] = [];
  readonly #targets: readonly (Target & { readonly id: string })[];
  readonly #agent = new Agent({ keepAlive: true });
  readonly #stopping = new AbortController();
  #turn = 0;

  constructor({ ca, followed, servers }: FollowerOptions) {
    this.followed = followed;
    this.#targets = servers.map(({ id, url, port }) => ({ id, url, port, ca, token: TOKEN, agent: this.#agent }));
  }

  get events(): number {
    return this.#stretches.reduce((sum, { events }) => sum + events.length, 0);
  }

  get lists(): number {
    return this.#stretches.length;
  }

  get #target(): Target & { readonly id: string } {
    return this.#targets[this.#turn % this.#targets.length]!;
  }

  /** Lists and watches until it is stopped. */
  async run(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const stretch = await this.#list();
      if (stretch === undefined) return;
      this.#stretches.push(stretch);
      await this.#follow(stretch);
    }
  }

  /** Waits until the client has received all events up to a revision, or until the signal aborts. */
  async until(revision: number, signal: AbortSignal): Promise<void> {
    for (;;) {
      if (signal.aborted || (this.#stretches.at(-1)?.to ?? 0) >= revision) return;
      await delay(AGAIN_MS);
    }
  }

  [Symbol.dispose](): void {
    this.#stopping.abort();
    this.#agent.destroy();
  }

  /** Differences between the received events and the store, as sentences. */
  compare(commits: readonly Commit[]): string[] {
    const who = `${this.followed.name} through ${this.#targets.map(({ id }) => id).join()}`;
    const here = commits.filter(({ key }) => key.startsWith(this.followed.prefix));
    return this.#stretches.flatMap((stretch) => compareStretch(who, stretch, here));
  }

  async #list(): Promise<Stretch | undefined> {
    while (!this.#stopping.signal.aborted) {
      const body = await this.#record("list", async () => {
        const response = await ask(this.#target, { method: "GET", path: this.followed.path });
        return { said: responseParts(response), value: response.body };
      });
      if (body?.kind.endsWith("List")) {
        const from = Number(body.metadata.resourceVersion);
        const items = body.items.map(({ metadata }: Json) => [this.#keyOf(metadata), Number(metadata.resourceVersion)]);
        return { from, listed: new Map(items), events: [], to: from };
      }
      this.#turn++;
      await delay(AGAIN_MS);
    }
    return undefined;
  }

  /** Watches until a server returns 410. */
  async #follow(stretch: Stretch): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      const path = `${this.followed.path}?watch=true&allowWatchBookmarks=true&resourceVersion=${stretch.to}`;
      let isExpired = false;
      const stream = openStream({ ...this.#target, path, signal: this.#stopping.signal }, (line) => {
        const { type, object } = JSON.parse(line);
        if (type === "ERROR") isExpired = object.code === EXPIRED;
        else this.#take(stretch, { type, metadata: object.metadata });
      });
      const status = await this.#record("watch", async () => {
        const response = await stream.answered;
        return { said: responseParts(response), value: response.status };
      });
      await stream.ended;
      if (isExpired || status === EXPIRED) return;
      this.#turn++;
      if (status !== 200) await delay(AGAIN_MS);
    }
  }

  #take(stretch: Stretch, { type, metadata }: { readonly type: string; readonly metadata: Json }): void {
    const revision = Number(metadata.resourceVersion);
    stretch.to = Math.max(stretch.to, revision);
    if (type !== "BOOKMARK") stretch.events.push(`${type} ${this.#keyOf(metadata)} ${revision}`);
  }

  #keyOf({ namespace, name }: Json): string {
    return `${this.followed.prefix}${namespace}/${name}`;
  }

  async #record<T>(operation: LoadOperation, send: () => Promise<Sent<T>>): Promise<T | undefined> {
    const about = { server: this.#target.id, resource: this.followed.name, operation, sentAt: Date.now() };
    const { said, value } = await send().catch((thrown: unknown) => ({
      said: { status: 0, message: String(thrown) },
      value: undefined,
    }));
    if (this.#stopping.signal.aborted) return undefined;
    const response: LoadResponse = { ...about, ...said, answeredAt: Date.now() };
    this.responses.push(response);
    if (!isSuccess(response) && !isRetryable(response) && response.status !== EXPIRED) this.unexpected.push(response);
    return value;
  }
}

/** Differences between the received events and the store. `commits` must contain only commits of the watched keys. */
export function compareStretch(who: string, stretch: Readonly<Stretch>, commits: readonly Commit[]): string[] {
  const { from, listed, events, to } = stretch;
  const stored = new Map<string, number>();
  for (const { key, revision, after } of commits.filter((commit) => commit.revision <= from))
    if (after === undefined) stored.delete(key);
    else stored.set(key, revision);
  const due = commits.filter(({ revision }) => revision > from && revision <= to).map(eventOf);
  return [
    ...differences(
      [...listed].map(([key, revision]) => `${key} ${revision}`),
      [...stored].map(([key, revision]) => `${key} ${revision}`),
    ).map((what) => `${who} in a list at ${from}: ${what}`),
    ...differences(events, due).map((what) => `${who} in a watch from ${from} to ${to}: ${what}`),
    ...(events.length === due.length && events.some((event, index) => event !== due[index])
      ? [`${who} in a watch from ${from} to ${to}: wrong order`]
      : []),
  ];
}

interface Sent<T> {
  readonly said: Pick<LoadResponse, "status" | "message" | "retryAfter" | "rule">;
  readonly value: T | undefined;
}

interface Stream {
  /** The response: headers, and the body if the status is not 200. */
  readonly answered: Promise<SmokeResponse>;
  /** Resolves when the stream has ended for any reason. */
  readonly ended: Promise<void>;
}

/** Opens a watch stream on its own connection. */
function openStream(
  { url, ca, token, path, signal }: Target & { readonly path: string; readonly signal: AbortSignal },
  onLine: (line: string) => void,
): Stream {
  const headers = { authorization: `Bearer ${token}` };
  const request = httpsRequest(url + path, { agent: false, ca, headers, signal });
  const responded = Promise.withResolvers<SmokeResponse>();
  const ended = Promise.withResolvers<void>();
  request.on("error", responded.reject).on("close", ended.resolve);
  request.on("response", (response: IncomingMessage) => {
    const status = response.statusCode!;
    const tell = (text: string): void =>
      responded.resolve({ status, headers: response.headers, text, body: status === 200 ? undefined : asJson(text) });
    if (status === 200) tell("");
    let rest = "";
    response.setEncoding("utf8").on("data", (chunk: string) => {
      rest += chunk;
      if (status !== 200) return;
      const lines = rest.split("\n");
      rest = lines.pop()!;
      for (const line of lines) onLine(line);
    });
    // An error is ignored, because the client opens an interrupted stream again.
    response.on("error", () => undefined).on("close", () => tell(rest));
  });
  request.end();
  return { answered: responded.promise, ended: ended.promise };
}

function asJson(text: string): Json {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function eventOf({ key, revision, before, after }: Commit): string {
  const type = after === undefined ? "DELETED" : before === undefined ? "ADDED" : "MODIFIED";
  return `${type} ${key} ${revision}`;
}

function differences(got: readonly string[], due: readonly string[]): string[] {
  const [gotten, owed] = [new Set(got), new Set(due)];
  return [
    ...due.filter((one) => !gotten.has(one)).map((one) => `missing ${one}`),
    ...got.filter((one) => !owed.has(one)).map((one) => `unexpected ${one}`),
    ...(gotten.size === got.length ? [] : ["received an event twice"]),
  ];
}
