/** Clients that write, read and watch during an outage of the store and record every response. */
import { setTimeout as delay } from "node:timers/promises";
import { ask, configMap, Tally, Watch, type SmokeResponse, type Target, type WatchEvent } from "./client.ts";

/** Limits the load; it is not a wait for a condition. */
const BETWEEN_WRITES_MS = 4;
const BETWEEN_READS_MS = 20;
const BETWEEN_PROBES_MS = 250;

export const LOAD_PATH = "/api/v1/namespaces/default/configmaps";

/** A change that a writer has requested. */
interface Write {
  readonly name: string;
  readonly step: string;
}

/**
 * The changes of the writers, and their outcome. Keys are "name step"; the steps of an object are the values "1", "2" and
 * "3".
 */
export class History {
  /** Acknowledged changes with their resourceVersion. */
  readonly acknowledged = new Map<string, number>();
  /** Changes that returned 504 without Retry-After: the server may or may not have executed them. */
  readonly unknown = new Set<string>();
  /** Responses that the test does not allow. */
  readonly unexpected: string[] = [];
  readonly writes = new Tally();
  readonly reads = new Tally();
  /** Number of consistent reads that were older than a write acknowledged before the read. */
  staleReads = 0;
  /** The newest acknowledged resourceVersion of each object. */
  readonly newest = new Map<string, number>();
  isStopped = false;

  keyOf({ name, step }: Write): string {
    return `${name} ${step}`;
  }
}

/**
 * Creates an object and updates it twice, then continues with another object. Abandons an object if a write is not
 * acknowledged.
 */
export async function writeForLong(target: Target, history: History, writer: number): Promise<void> {
  for (let index = 0; !history.isStopped; index++) {
    const name = `w${writer}-${index}`;
    let version: string | undefined;
    for (const step of ["1", "2", "3"]) {
      const object = configMap(name, { step });
      if (version !== undefined) object.metadata.resourceVersion = version;
      const response = await responseOf(history, () =>
        version === undefined
          ? ask(target, { method: "POST", path: LOAD_PATH, body: object })
          : ask(target, { method: "PUT", path: `${LOAD_PATH}/${name}`, body: object }),
      );
      version = await noteWrite(history, { name, step }, response);
      if (version === undefined) break;
      await delay(BETWEEN_WRITES_MS);
    }
  }
}

async function noteWrite(
  history: History,
  write: Write,
  response: SmokeResponse | undefined,
): Promise<string | undefined> {
  history.writes.add(response?.status ?? "no response");
  const key = history.keyOf(write);
  if (response?.status === 200 || response?.status === 201) {
    const version: string = response.body.metadata.resourceVersion;
    history.acknowledged.set(key, Number(version));
    history.newest.set(write.name, Number(version));
    return version;
  }
  if (response?.status === 504 && response.headers["retry-after"] === undefined) history.unknown.add(key);
  // A response with Retry-After means that the write was not executed. After the wait, the writer continues with
  // another object.
  else await waitRetryAfter(history, response);
  return undefined;
}

/** Alternates a GET, a list, and a GET that may be stale. */
export async function readForLong(target: Target, history: History): Promise<void> {
  for (let turn = 0; !history.isStopped; turn++) {
    const [name, version] = [...history.newest].at(-1) ?? [];
    const path = [`${LOAD_PATH}/${name}`, `${LOAD_PATH}?limit=50`, `${LOAD_PATH}/${name}?resourceVersion=0`][turn % 3]!;
    if (name !== undefined) {
      const response = await responseOf(history, () => ask(target, { method: "GET", path }));
      history.reads.add(response?.status ?? "no response");
      if (response?.status !== 200) await waitRetryAfter(history, response);
      else if (turn % 3 === 0 && Number(response.body.metadata.resourceVersion) < version!) history.staleReads++;
    }
    await delay(BETWEEN_READS_MS);
  }
}

async function responseOf(history: History, send: () => Promise<SmokeResponse>): Promise<SmokeResponse | undefined> {
  try {
    return await send();
  } catch (thrown) {
    history.unexpected.push(String(thrown));
    return undefined;
  }
}

/**
 * Waits as long as Retry-After says after a 503, which is the only error that a client may get during an outage.
 * Records any other response as unexpected.
 */
async function waitRetryAfter(history: History, answer: SmokeResponse | undefined): Promise<void> {
  if (answer === undefined) return;
  const retryAfter = Number(answer.headers["retry-after"]);
  if (answer.status !== 503 || !(retryAfter > 0))
    history.unexpected.push(`${answer.status} ${answer.text.slice(0, 300)}`);
  else await delay(retryAfter * 1000);
}

/** A client that resumes its watch from the last event whenever the stream ends with a complete body. */
export class ResumingWatcher {
  readonly events: WatchEvent[] = [];
  readonly ends: string[] = [];
  readonly #target: Target;
  #watch: Watch | undefined;
  #version: string;
  #isStopped = false;

  constructor(target: Target, version: string) {
    this.#target = target;
    this.#version = version;
  }

  async run(): Promise<void> {
    while (!this.#isStopped) {
      const watch = new Watch(
        this.#target,
        `${LOAD_PATH}?watch=true&allowWatchBookmarks=true&resourceVersion=${this.#version}`,
      );
      this.#watch = watch;
      const end = await watch.ended;
      const reported = watch.events.filter((event) => event.type !== "BOOKMARK");
      this.events.push(...reported);
      this.#version = String(watch.events.at(-1)?.rv ?? this.#version);
      if (this.#isStopped) return;
      this.ends.push(end);
      if (end !== "complete") return;
    }
  }

  get opened(): Promise<number> {
    return this.#watch!.opened;
  }

  /** Resolves when the watch has delivered this resourceVersion or a later one. */
  until(version: number): Promise<void> {
    return this.#watch!.until((events) => (events.at(-1)?.rv ?? 0) >= version);
  }

  stop(): void {
    this.#isStopped = true;
    this.#watch?.close();
  }
}

/** Polls a health endpoint until it returns the status. Counts every response. */
export async function untilHealth(
  target: Target,
  tally: Tally,
  expected: { readonly path: string; readonly status: number },
): Promise<void> {
  for (;;) {
    const { status } = await ask(target, { method: "GET", path: expected.path });
    tally.add(`${expected.path} ${status}`);
    if (status === expected.status) return;
    await delay(BETWEEN_PROBES_MS);
  }
}

/** Probes liveness and readiness for the rest of an outage. */
export async function probeFor(target: Target, tally: Tally, milliseconds: number): Promise<void> {
  const endsAt = performance.now() + milliseconds;
  while (performance.now() < endsAt) {
    for (const path of ["/livez", "/readyz"])
      tally.add(`${path} ${(await ask(target, { method: "GET", path })).status}`);
    await delay(BETWEEN_PROBES_MS);
  }
}
