/** A story: a simulated cluster, clients that record false 404s, and a check of every commit to the store. */
import { onTestFinished } from "vitest";
import { isJsonObject, objectAt, parseJsonObject, stringAt, type JsonObject } from "../../src/meta/json.ts";
import { readNotFound } from "../../src/tools/rehearsal/judge.ts";
import type { GuaranteeChecker } from "../../src/tools/simulator/checker.ts";
import { noFalse404 } from "../../src/tools/simulator/checkers/no-false-404.ts";
import { simulate, type SimulatedCluster, type SimulateOptions } from "../../src/tools/simulator/cluster.ts";
import type { RunOptions, SimulatedServer } from "../../src/tools/simulator/server.ts";
import { StoreWitness } from "./store-witness.ts";
import { pathOf, type Thing } from "./things.ts";

/** Whether the mixed version proxy is on. */
export type Gate = "on" | "off";

export function withGate(gate: Gate, run: RunOptions): RunOptions {
  return { ...run, mixedVersionProxy: gate === "on" };
}

export interface StoryResponse {
  readonly status: number;
  readonly text: string;
  /** Empty if the response body is not a JSON object. */
  readonly body: JsonObject;
}

interface StoryRequest {
  readonly method: string;
  readonly target: string;
  readonly body?: object;
  /** The resource that the request is for. If it is undefined, a 404 counts as false only for discovery documents. */
  readonly thing?: Thing;
  readonly headers?: Readonly<Record<string, string>>;
}

/** The time after which every server knows all other servers. */
const PEERS_KNOWN_SECONDS = 5;
const PATIENCE_SECONDS = 60;

export class Story {
  readonly cluster: SimulatedCluster;
  readonly witness: StoreWitness;
  /** 404 responses for resources that live or recently departed servers serve, as sentences. */
  readonly falseNotFound: string[] = [];
  readonly #checker: GuaranteeChecker;

  constructor(options: Partial<SimulateOptions> = {}) {
    const cluster = simulate({ seed: 1, ...options });
    const { runs, timing, history } = cluster;
    const { departedGraceMs, leaseDurationSeconds, leaseRenewMs } = timing;
    this.cluster = cluster;
    this.witness = new StoreWitness(history);
    this.#checker = noFalse404({ runs, departedGraceMs, leaseKeptMs: leaseDurationSeconds * 1000 - leaseRenewMs });
  }

  /** Starts the servers. The first server is the leader of the controllers. */
  static async begin(runs: readonly RunOptions[], options: Partial<SimulateOptions> = {}): Promise<Story> {
    const story = new Story(options);
    onTestFinished(() => story.cluster.shutDown());
    for (const run of runs) await story.cluster.addServer(run);
    await story.pass(PEERS_KNOWN_SECONDS);
    return story;
  }

  get nowMs(): number {
    return this.cluster.world.clock.monotonic();
  }

  get servers(): readonly SimulatedServer[] {
    return this.cluster.servers;
  }

  server(index: number): SimulatedServer {
    return this.cluster.servers[index]!;
  }

  /** The server at the index if it is ready, otherwise the next server that is. */
  running(index: number): SimulatedServer {
    const { servers } = this.cluster;
    const inOrder = [...servers.slice(index), ...servers.slice(0, index)];
    return inOrder.find((server) => this.cluster.live.includes(server) && server.isReady)!;
  }

  async pass(seconds: number): Promise<void> {
    await this.cluster.advance({ seconds });
  }

  async ask(server: SimulatedServer, asked: StoryRequest): Promise<StoryResponse> {
    const { world } = this.cluster;
    const startedAtMs = this.nowMs;
    const { method, target, body, headers } = asked;
    const response = await world.run(
      server.request({ method, target, ...(body && { body }), ...(headers && { headers }) }),
    );
    const text = await world.run(response.text());
    const { status } = response;
    if (status === 404) this.#judge(server, { ...asked, startedAtMs, text });
    return { status, text, body: parseJsonObject(text) ?? {} };
  }

  /**
   * Retries the request each second for at most a minute while the response is 503, as clients that respect Retry-After
   * do.
   */
  async retryUntilDone(index: number, asked: StoryRequest): Promise<StoryResponse> {
    for (let seconds = 0; ; seconds++) {
      const reported = await this.ask(this.running(index), asked);
      if (reported.status !== 503 || seconds >= PATIENCE_SECONDS) return reported;
      await this.pass(1);
    }
  }

  async make(index: number, of: Made): Promise<{ readonly name: string; readonly uid: string }> {
    const { thing, namespace, name, owners = [] } = of;
    const metadata = { name, ...(owners.length > 0 && { ownerReferences: owners }) };
    const asked: StoryRequest = {
      ...{ method: "POST", target: pathOf(thing, namespace), thing, body: { metadata, ...thing.body } },
    };
    let reported = await this.retryUntilDone(index, asked);
    // After a false 404, the client tries all servers, one after the other.
    for (let other = 0; reported.status === 404 && other < this.servers.length; other++)
      reported = await this.retryUntilDone(other, asked);
    if (reported.status !== 201) throw new Error(`${asked.target} ${name}: ${reported.status} ${reported.text}`);
    return { name, uid: stringAt(objectAt(reported.body, "metadata"), "uid") };
  }

  async makeNamespace(index: number, name: string): Promise<void> {
    const reported = await this.retryUntilDone(index, {
      method: "POST",
      target: "/api/v1/namespaces",
      body: { metadata: { name } },
    });
    if (reported.status !== 201) throw new Error(`namespace ${name}: ${reported.status} ${reported.text}`);
  }

  async deleteNamespace(index: number, name: string): Promise<void> {
    const reported = await this.retryUntilDone(index, { method: "DELETE", target: `/api/v1/namespaces/${name}` });
    if (reported.status !== 200) throw new Error(`namespace ${name}: ${reported.status} ${reported.text}`);
  }

  async restart(index: number, run: RunOptions): Promise<void> {
    await this.cluster.restart(this.server(index), run);
  }

  async stop(index: number): Promise<void> {
    await this.cluster.stop(this.server(index));
  }

  /** The messages of the namespace's conditions that are True. */
  complaints(namespace: string): string {
    const conditions = objectAt(this.cluster.history.get(`namespaces/${namespace}`) ?? {}, "status")["conditions"];
    const all = Array.isArray(conditions) ? conditions.filter(isJsonObject) : [];
    return all
      .filter((condition) => stringAt(condition, "status") === "True")
      .map((condition) => stringAt(condition, "message"))
      .join("; ");
  }

  #judge(server: SimulatedServer, asked: StoryRequest & { readonly startedAtMs: number; readonly text: string }): void {
    const { method, target, thing, startedAtMs } = asked;
    const { unknown, message } = readNotFound(asked.text);
    const resource = thing && { ...thing, subresource: "" };
    const request = { auditId: "", serverId: server.id, method, target, startedAtMs, resource, name: "" };
    const response = { request, atMs: this.nowMs, status: 404, unknown, message };
    this.falseNotFound.push(...(this.#checker.onResponse?.(response) ?? []));
  }
}

export interface Made {
  readonly thing: Thing;
  readonly namespace: string;
  readonly name: string;
  readonly owners?: readonly object[];
}
