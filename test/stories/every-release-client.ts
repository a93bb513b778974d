/**
 * A client for tests of upgrades. It reads all discovery documents of a server, and then accesses some of the listed
 * resources, each request through the next server. It records three kinds of wrong responses:
 *
 * - false 404: a server reports a resource as unknown that a server of the cluster serves or recently served
 * - unreachable: discovery lists a resource too long after its last server departed, or a request for a listed resource
 *   or discovery document fails (404 for the resource, 502, 503, 504 or no response) although a server serves it
 * - not listed: discovery does not list a resource that a server has been serving for a while
 */
import { compareNames } from "../../src/serving/discovery/order.ts";
import { isJsonObject } from "../../src/meta/json.ts";
import { readNotFound } from "../../src/tools/rehearsal/judge.ts";
import type { GuaranteeChecker } from "../../src/tools/simulator/checker.ts";
import { noFalse404 } from "../../src/tools/simulator/checkers/no-false-404.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import type { Run, SimulatedServer } from "../../src/tools/simulator/server.ts";
import {
  nameOf,
  namedIn,
  readAggregated,
  readLegacy,
  touchesOf,
  type Document,
  type Listed,
  type Touch,
} from "./every-release-documents.ts";

const FORMS = [
  {
    ...{ form: "aggregated", readAll: readAggregated },
    headers: { accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList" },
  },
  { form: "legacy", readAll: readLegacy, headers: {} },
] as const;

/** The pause between two requests. Some hundred requests fit between two restarts of servers. */
const PACE_MS = 8;
/**
 * The number of listed resources that the client accesses each time it has read discovery. It continues with the
 * following resources the next time.
 */
const TOUCHED_PER_READING = 50;
/** Longer than any server takes to respond. */
const PATIENCE_MS = 60_000;
/** The status that is recorded for a request without a response. */
const NO_ANSWER = 599;
const UNREACHABLE: readonly number[] = [404, 502, 503, 504, NO_ANSWER];

/** How far the discovery documents may lag behind the state of the cluster. */
export interface Bounds {
  /** How long discovery may still list the resources of a server after the server was stopped. */
  readonly leftMs: number;
  /** How long discovery may omit the resources of a server after the server became ready. */
  readonly joinedMs: number;
}

interface RecordedResponse {
  readonly startedAtMs: number;
  readonly atMs: number;
  readonly status: number;
  readonly text: string;
}

/** A resource that discovery listed, and a function that tells which runs serve it. */
interface Promised {
  readonly listedAtMs: number;
  readonly isServing: (run: Run) => boolean;
}

export class DiscoveryClient {
  readonly falseNotFound: string[] = [];
  readonly unreachable: string[] = [];
  readonly notListed: string[] = [];
  /** The number of responses, keyed by "request: result". */
  readonly counts = new Map<string, number>();
  /** The names of all accessed resources. */
  readonly touched = new Set<string>();
  /** The longest observed lag of discovery after a server was stopped and after a server became ready. */
  readonly behind = { leftMs: 0, joinedMs: 0 };
  #rounds = 0;
  #turn = 0;
  #isOver = false;
  #work = Promise.resolve();
  readonly #cluster: SimulatedCluster;
  readonly #bounds: Bounds;
  readonly #checker: GuaranteeChecker;

  constructor(cluster: SimulatedCluster, bounds: Bounds) {
    const { runs, timing } = cluster;
    const { departedGraceMs, leaseDurationSeconds, leaseRenewMs } = timing;
    this.#cluster = cluster;
    this.#bounds = bounds;
    this.#checker = noFalse404({ runs, departedGraceMs, leaseKeptMs: leaseDurationSeconds * 1000 - leaseRenewMs });
  }

  start(): void {
    this.#work = this.#readAndTouch();
    // `finish` awaits the same promise and reports its error.
    this.#work.catch(() => {});
  }

  async finish(): Promise<void> {
    this.#isOver = true;
    await this.#cluster.world.run(this.#work);
  }

  async #readAndTouch(): Promise<void> {
    for (let last = ""; !this.#isOver; this.#rounds++) {
      const listed = await this.#read(FORMS[this.#rounds % FORMS.length]!);
      for (const one of following(last, listed).slice(0, TOUCHED_PER_READING)) {
        for (const touch of touchesOf(one, `touched-${this.#rounds}`)) await this.#touch(one, touch);
        last = nameOf(one);
      }
    }
  }

  async #read({ form, headers, readAll }: (typeof FORMS)[number]): Promise<readonly Listed[]> {
    let server = await this.#next();
    const startedAtMs = this.#nowMs;
    let isWhole = true;
    const listed = await readAll(async (path, namedBy) => {
      await this.#sleep(PACE_MS);
      if (!this.#cluster.live.includes(server)) server = await this.#next();
      const reported = await this.#ask(server, { method: "GET", path }, headers);
      this.#count(`${form} discovery`, String(reported.status));
      const document = this.#documentOf(server, path, { told: reported, namedBy });
      isWhole &&= document !== undefined;
      return document;
    });
    const where = `${form} discovery of ${server.id}`;
    if (isWhole) this.#noteMissing(where, startedAtMs, listed);
    this.#noteLeft(where, listed);
    return listed;
  }

  #documentOf(
    server: SimulatedServer,
    path: string,
    { told, namedBy }: { readonly told: RecordedResponse; readonly namedBy: Document | undefined },
  ): Document | undefined {
    if (told.status === 200) {
      const content: unknown = JSON.parse(told.text);
      return isJsonObject(content) ? { content, askedAtMs: told.startedAtMs } : undefined;
    }
    if (told.status === 404) this.#judge(server, { method: "GET", path }, told);
    const [group = "", version = ""] = path.split("/").slice(2);
    const isServing = ({ served }: Run): boolean =>
      namedBy === undefined || (version === "" ? served.hasGroup(group) : served.hasGroupVersion(group, version));
    this.#noteUnreachable(server, { what: path, listedAtMs: namedBy?.askedAtMs ?? Infinity, isServing }, told);
    return undefined;
  }

  #noteMissing(where: string, startedAtMs: number, listed: readonly Listed[]): void {
    const names = new Set(listed.map(nameOf));
    for (const { serverId, release, groups, readyAtMs = Infinity } of this.#living) {
      const readyMs = startedAtMs - readyAtMs;
      const missing =
        readyMs < 0
          ? []
          : namedIn(groups)
              .map(nameOf)
              .filter((name) => !names.has(name));
      if (missing.length === 0) continue;
      this.behind.joinedMs = Math.max(this.behind.joinedMs, readyMs);
      if (readyMs > this.#bounds.joinedMs)
        this.notListed.push(
          `${where} lacks ${missing[0]} of ${serverId} (${release}), which has been ready for ${readyMs} ms`,
        );
    }
  }

  #noteLeft(where: string, listed: readonly Listed[]): void {
    for (const one of listed) {
      const leftMs = this.#leftMs({ ...one, isServing: ({ served }) => served.has(one) });
      if (leftMs > this.#bounds.leftMs)
        this.unreachable.push(`${where} lists ${nameOf(one)} ${leftMs} ms after its last server departed`);
    }
  }

  async #touch(listed: Listed, touch: Touch): Promise<void> {
    await this.#sleep(PACE_MS);
    const server = await this.#next();
    const headers = touch.contentType === undefined ? {} : { "content-type": touch.contentType };
    const reported = await this.#ask(server, touch, headers);
    const { status } = reported;
    const isAbout = status === 404 ? (readNotFound(reported.text).unknown ?? "nothing") : undefined;
    this.touched.add(nameOf(listed));
    this.#count(touch.method, isAbout === undefined ? String(status) : `${status} (${isAbout})`);
    if (status === 404) this.#judge(server, touch, reported, listed);
    if (isAbout === "object" || !UNREACHABLE.includes(status)) return;
    const what = `${touch.method} ${touch.path}`;
    const isServing = ({ served }: Run): boolean => served.has(listed);
    this.#noteUnreachable(server, { what, listedAtMs: listed.listedAtMs, isServing }, reported);
  }

  #judge(
    ...[server, { method, path: target }, told, resource]: readonly [SimulatedServer, Touch, RecordedResponse, Listed?]
  ): void {
    const { startedAtMs, atMs, status } = told;
    const { unknown, message } = readNotFound(told.text);
    const request = { auditId: "", serverId: server.id, method, target, startedAtMs, resource, name: "" };
    this.falseNotFound.push(...(this.#checker.onResponse?.({ request, atMs, status, unknown, message }) ?? []));
  }

  /**
   * Records a failed access, unless the last server of the resource departed so recently that discovery could still
   * list the resource.
   */
  #noteUnreachable(
    server: SimulatedServer,
    promised: Promised & { readonly what: string },
    told: RecordedResponse,
  ): void {
    const isServed = this.#servedUntilMs(promised, told.startedAtMs) > told.atMs;
    if (!isServed && this.#leftMs(promised) <= this.#bounds.leftMs) return;
    const { what, listedAtMs } = promised;
    const said = `${told.status} ${told.text.slice(0, 200)}`;
    this.unreachable.push(`${what} at ${server.id} at ${told.atMs} ms, listed at ${listedAtMs} ms: ${said}`);
  }

  /** How long before discovery listed the resource its last server departed; 0 if a server still served it. */
  #leftMs(promised: Promised): number {
    const leftMs = Math.max(0, promised.listedAtMs - this.#servedUntilMs(promised, promised.listedAtMs));
    this.behind.leftMs = Math.max(this.behind.leftMs, leftMs);
    return leftMs;
  }

  /**
   * The time at which the last server of the resource ended, among those that were ready by `atMs`: Infinity if one
   * still runs, -Infinity if none has served the resource yet.
   */
  #servedUntilMs({ isServing }: Promised, atMs: number): number {
    const served = this.#cluster.runs.filter((run) => (run.readyAtMs ?? Infinity) <= atMs && isServing(run));
    return Math.max(...served.map(({ endedAtMs = Infinity }) => endedAtMs));
  }

  #count(what: string, told: string): void {
    const key = `${what}: ${told}`;
    this.counts.set(key, (this.counts.get(key) ?? 0) + 1);
  }

  get #living(): readonly Run[] {
    return this.#cluster.live.flatMap(({ run }) => run ?? []);
  }

  /** Waits for and returns the next ready server in turn, as a load balancer would choose it. */
  async #next(): Promise<SimulatedServer> {
    for (;;) {
      const { servers, live } = this.#cluster;
      const server = servers[this.#turn++ % servers.length]!;
      if (server.isReady && live.includes(server)) return server;
      await this.#sleep(1);
    }
  }

  async #ask(
    server: SimulatedServer,
    touch: Touch,
    headers: Readonly<Record<string, string>>,
  ): Promise<RecordedResponse> {
    const { method, path, query, body } = touch;
    const startedAtMs = this.#nowMs;
    const target = query === undefined ? path : `${path}?${query}`;
    const { clock } = this.#cluster.world;
    const { promise: late, resolve } = Promise.withResolvers<Pick<RecordedResponse, "status" | "text">>();
    const cancel = clock.after(PATIENCE_MS, () => resolve({ status: NO_ANSWER, text: "no response" }));
    const answered = server
      .request({ method, target, headers, ...(body && { body }) })
      .then(async (response) => ({ status: response.status, text: await response.text() }));
    const reported = await Promise.race([answered, late]);
    cancel();
    return { startedAtMs, atMs: this.#nowMs, ...reported };
  }

  async #sleep(ms: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#cluster.world.clock.after(ms, resolve);
    await promise;
  }

  get #nowMs(): number {
    return this.#cluster.world.clock.monotonic();
  }
}

function following(last: string, listed: readonly Listed[]): Listed[] {
  const [before = [], after = []] = [
    listed.filter((one) => nameOf(one) <= last),
    listed.filter((one) => nameOf(one) > last),
  ].map((some) => some.toSorted((left, right) => compareNames(nameOf(left), nameOf(right))));
  return [...after, ...before];
}
