/** Clients that write to three servers and read from the others while their etcd is restored from a backup. */
import { setTimeout as delay } from "node:timers/promises";
import { ask, configMap, CONFIG_MAPS, Tally, type Json, type SmokeResponse } from "./client.ts";
import type { Evenkeel } from "./start-evenkeel.ts";

const BETWEEN_WRITES_MS = 10;
const BETWEEN_PROBES_MS = 50;
/** The content of the ConfigMap that all servers update. */
const SHARED = "shared";

/** Creates, updates, reads and deletes ConfigMaps, and judges the responses unless the store is being restored. */
export class RestoreLoad {
  /** Responses that are wrong although no restore was in progress. */
  readonly wrong: string[] = [];
  readonly judged = new Tally();
  /** Responses during restores, which may be errors. */
  readonly disturbed = new Tally();
  readonly #servers: readonly Evenkeel[];
  readonly #running: Promise<void>[];
  /** Increases at the begin and at the end of a disturbance. Odd while responses are judged. */
  #phase = 1;
  #isStopped = false;
  #created = 0;

  constructor(servers: readonly Evenkeel[]) {
    this.#servers = servers;
    this.#running = servers.map((_, writer) => this.#run(writer));
  }

  /** From now on responses may be errors. */
  disturb(): void {
    this.#phase++;
  }

  /** From now on every response to a new request must be right. */
  judge(): void {
    this.#phase++;
  }

  async moreWrites(count: number): Promise<void> {
    const enough = this.#created + count;
    while (this.#created < enough && this.wrong.length === 0) await delay(BETWEEN_PROBES_MS);
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await Promise.all(this.#running);
  }

  async #run(writer: number): Promise<void> {
    const [own, next] = [this.#servers[writer]!, this.#servers[(writer + 1) % this.#servers.length]!];
    for (let index = 0; !this.#isStopped; index++) {
      const phase = this.#phase;
      const name = `w${writer}-${index}`;
      const problem = await this.#writeAndRead(own, next, { name, isDeleted: index % 2 === 0 });
      const isJudged = phase % 2 === 1 && phase === this.#phase;
      if (isJudged) this.judged.add(problem ?? "right");
      else this.disturbed.add(problem?.replaceAll(/w\d+-\d+/g, "…") ?? "right");
      if (isJudged && problem !== undefined) this.wrong.push(`${name}: ${problem}`);
      if (problem === undefined) this.#created++;
      await delay(BETWEEN_WRITES_MS);
    }
  }

  /** Returns the problem; undefined if every response was right. */
  async #writeAndRead(
    own: Evenkeel,
    next: Evenkeel,
    { name, isDeleted }: { readonly name: string; readonly isDeleted: boolean },
  ): Promise<string | undefined> {
    const path = `${CONFIG_MAPS}/${name}`;
    const created = await responseOf(own, { method: "POST", path: CONFIG_MAPS, body: configMap(name) });
    if (created?.status !== 201) return `create returned ${created?.status ?? "no response"}`;
    const read = await responseOf(next, { method: "GET", path });
    if (read?.status !== 200) return `a read after its create returned ${read?.status ?? "no response"}`;
    if (read.body.metadata.uid !== created.body.metadata.uid) return "a read after its create returned another object";
    const patch = { data: { writer: name } };
    const headers = { "content-type": "application/merge-patch+json" };
    const patched = await responseOf(own, { method: "PATCH", path: `${CONFIG_MAPS}/${SHARED}`, body: patch, headers });
    if (patched?.status !== 200) return `an update returned ${patched?.status ?? "no response"}`;
    const shared = await responseOf(next, { method: "GET", path: `${CONFIG_MAPS}/${SHARED}` });
    const isOlder = Number(shared?.body?.metadata?.resourceVersion) < Number(patched.body.metadata.resourceVersion);
    if (shared?.status !== 200 || isOlder) return `a read after an update returned ${shared?.status}, or was stale`;
    if (!isDeleted) return undefined;
    const deleted = await responseOf(own, { method: "DELETE", path });
    if (deleted?.status !== 200) return `a delete returned ${deleted?.status ?? "no response"}`;
    const gone = await responseOf(next, { method: "GET", path });
    return gone?.status === 404 ? undefined : `a read after its delete returned ${gone?.status ?? "no response"}`;
  }
}

async function responseOf(
  server: Evenkeel,
  request: { method: string; path: string; body?: unknown; headers?: Record<string, string> },
): Promise<SmokeResponse | undefined> {
  return ask(server, request).catch(() => undefined);
}

/** Resolves when every server has recovered from this number of changes of the store's history. */
export async function untilRecovered(servers: readonly Evenkeel[], changes: number): Promise<Json[]> {
  return Promise.all(
    servers.map(async (server) => {
      for (;;) {
        const { body } = await server.request("GET", "/evenkeel/v1/status");
        const history: Json = body.storeHistory;
        if ((history?.changes ?? 0) >= changes && history.recoveredAfterSeconds !== undefined) return history;
        await delay(BETWEEN_PROBES_MS);
      }
    }),
  );
}
