/**
 * Writes objects with a field that a kube-apiserver before release 1.35 does not know, through servers of both kinds. Such
 * a kube-apiserver drops the field whenever it writes the object, so the losses are counted by the servers that wrote.
 */
import { setTimeout as delay } from "node:timers/promises";
import type { Json } from "../smoke/client.ts";
import type { RunningServer, ServerKind } from "./real-cluster.ts";

const DRIVERS = "/apis/storage.k8s.io/v1/csidrivers";
const FIELD = "serviceAccountTokenInSecrets";
/** The first minor version of a kube-apiserver that knows the field. */
export const NEW_FIELD_MINOR = 35;
const WRITE_EVERY_MS = 100;

interface Written {
  readonly creator: ServerKind;
  readonly updaters: Set<ServerKind>;
  /** Whether a kube-apiserver has not responded to an update, which it may have executed. */
  isUncertain: boolean;
}

export interface NewFieldsReport {
  /** Responses to the updates, by kind of server and status. */
  readonly updates: Readonly<Record<string, number>>;
  /**
   * Objects and those of them that have kept the field, by the kinds of servers that wrote the object; without those that
   * a kube-apiserver may have written.
   */
  readonly byWriters: Readonly<Record<string, { objects: number; kept: number }>>;
  /** Objects that only Evenkeel wrote and that do not have the field. */
  readonly lostByEvenkeel: readonly string[];
  /** Acknowledged objects that do not exist. */
  readonly missing: readonly string[];
}

export class NewFields {
  isStopped = false;
  readonly #servers: ReadonlySet<RunningServer>;
  readonly #written = new Map<string, Written>();
  readonly #updates: Record<string, number> = {};

  constructor(servers: ReadonlySet<RunningServer>) {
    this.#servers = servers;
  }

  /** Creates an object through one server after the other, and updates an earlier one through the next server. */
  async run(): Promise<void> {
    for (let turn = 0; !this.isStopped; turn++) {
      const servers = [...this.#servers];
      if (servers.length > 0) {
        await this.#create(servers[turn % servers.length]!, `driver-${turn}`);
        await this.#update(servers[(turn + 1) % servers.length]!, turn);
      }
      await delay(WRITE_EVERY_MS);
    }
  }

  /** Reads the objects through a server that knows the field. */
  async report(reader: RunningServer): Promise<NewFieldsReport> {
    const { body } = await reader.request("GET", DRIVERS);
    const stored = new Map<string, Json>(body.items.map(({ metadata, spec }: Json) => [metadata.name, spec]));
    const byWriters: Record<string, { objects: number; kept: number }> = {};
    const lostByEvenkeel: string[] = [];
    for (const [name, { creator, updaters, isUncertain }] of this.#written) {
      if (isUncertain) continue;
      const isKept = stored.get(name)?.[FIELD] === true;
      const update = updaters.size === 0 ? "" : `, updated through ${[...updaters].sort().join(" and ")}`;
      const counts = (byWriters[`created through ${creator}${update}`] ??= { objects: 0, kept: 0 });
      counts.objects++;
      if (isKept) counts.kept++;
      else if (creator === "evenkeel" && !updaters.has("kube-apiserver")) lostByEvenkeel.push(name);
    }
    const missing = [...this.#written.keys()].filter((name) => !stored.has(name));
    return { updates: this.#updates, byWriters, lostByEvenkeel, missing };
  }

  async #create(server: RunningServer, name: string): Promise<void> {
    const spec = { attachRequired: false, tokenRequests: [{ audience: "test" }], [FIELD]: true };
    const object = { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name }, spec };
    const created = await server.request("POST", DRIVERS, object).catch(() => undefined);
    if (created?.status === 201)
      this.#written.set(name, { creator: server.kind, updaters: new Set(), isUncertain: false });
  }

  async #update(server: RunningServer, turn: number): Promise<void> {
    const names = [...this.#written.keys()];
    const name = names[Math.floor((turn * 7) % Math.max(1, names.length))];
    if (name === undefined) return;
    const labels = { turn: String(turn) };
    const updated = await server
      .request("PATCH", `${DRIVERS}/${name}`, { metadata: { labels } }, { "content-type": MERGE_PATCH })
      .catch(() => undefined);
    const code = `${server.kind} ${updated?.status ?? "no response"}`;
    this.#updates[code] = (this.#updates[code] ?? 0) + 1;
    const written = this.#written.get(name)!;
    if (updated?.status === 200) written.updaters.add(server.kind);
    else if (server.kind === "kube-apiserver") written.isUncertain = true;
  }
}

const MERGE_PATCH = "application/merge-patch+json";
