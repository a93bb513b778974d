/**
 * Bugs that tests plant between the servers of an otherwise correct cluster and their store, to show that the checkers
 * report them.
 */
import type { Clock } from "../../src/base/clock.ts";
import { isJsonObject, objectAt, type JsonObject } from "../../src/meta/json.ts";
import type { Plant } from "../../src/tools/simulator/cluster.ts";
import { StorageError, type Change, type CommitResult } from "../../src/storage/kv.ts";
import { overlaidKv } from "../../src/storage/overlaid-kv.ts";

type Put = Change & { readonly kind: "put" };

const STORAGE_VERSIONS = "/registry/storageversions/";
const STORAGE_STATE = "/registry/configmaps/kube-system/evenkeel-storage-state";
/** Longer than the interval at which a running server reads its clock. */
const SLEEP_MS = 4_000;

/**
 * The store commits writes without checking their guards, so entries that were published after a server's decision have
 * no effect.
 */
export function ignoresGuards(): Plant {
  return changingPuts(({ guards: _guards, ...put }) => put);
}

/** Servers publish one version and write another. */
export function writesOtherVersion(): Plant {
  return changingObjects({ prefix: "/registry/deviceclasses/" }, (object) => ({
    ...object,
    apiVersion: "resource.k8s.io/v1alpha1",
  }));
}

/** The first server removes the entries of all other servers. */
export function removesEntriesOfPeers(): Plant {
  return changingObjects({ prefix: STORAGE_VERSIONS, timesMax: 4 }, (object, serverId) => {
    const entries = entriesOf(object).filter(({ apiServerID }) => apiServerID === serverId);
    return serverId === "server-1" ? withStatus(object, { storageVersions: entries }) : object;
  });
}

/** Servers replace the common version by an older one, regardless of the published entries. */
export function movesBack(): Plant {
  const agreed = new Set<unknown>();
  return changingObjects({ prefix: STORAGE_VERSIONS, timesMax: 4 }, (object) => {
    const { commonEncodingVersion: common } = objectAt(object, "status");
    if (typeof common !== "string") return object;
    const { name } = objectAt(object, "metadata");
    const isFirst = !agreed.has(name);
    agreed.add(name);
    if (isFirst) return object;
    return withStatus(object, { commonEncodingVersion: common.replace(/v[^/]*$/, "v1alpha1") });
  });
}

/** Servers record a version in which no object is stored (v9) as the only stored version of every resource. */
export function migratesNothing(): Plant {
  return changingObjects({ prefix: STORAGE_STATE, timesMax: 30 }, (object) => {
    const states = Object.entries(objectAt(object, "data")).map(([name, text]) => {
      const state = JSON.parse(String(text)) as JsonObject;
      const next = String(state["currentVersion"]).replace(/v[^/]*$/, "v9");
      return [name, JSON.stringify({ ...state, persistedVersions: [next] })];
    });
    return { ...object, data: Object.fromEntries(states) as JsonObject };
  });
}

/** The clock of a paused server stops, so that the server does not detect the time since its last lease renewal. */
export function missesItsPause(): Plant {
  const wrapClock = (clock: Clock): Clock => {
    let lastMs = clock.monotonic();
    let sleptMs = 0;
    const monotonic = (): number => {
      const nowMs = clock.monotonic();
      if (nowMs - lastMs > SLEEP_MS) sleptMs += nowMs - lastMs;
      lastMs = nowMs;
      return nowMs - sleptMs;
    };
    return { now: () => clock.now(), monotonic, after: (delayMs, callback) => clock.after(delayMs, callback) };
  };
  return { wrapClock };
}

/** The first server cannot publish its encoding of config maps. */
export function cannotPublish(): Plant {
  return {
    wrapKv: (kv, serverId) =>
      overlaidKv(kv, {
        async commit(change): Promise<CommitResult> {
          if (serverId === "server-1" && change.key === `${STORAGE_VERSIONS}core.configmaps`)
            throw new StorageError("unavailable", "write rejected by the planted bug");
          return kv.commit(change);
        },
      }),
  };
}

/** The first server does not notice that the store is restored from a backup: its watches stay open and silent. */
export function missesRestores(): Plant {
  return {
    wrapKv: (kv, serverId) =>
      serverId !== "server-1"
        ? kv
        : overlaidKv(kv, {
            onHistoryChange: () => () => {},
            watch: (request, sink) =>
              kv.watch(request, {
                ...sink,
                closed: (error) => {
                  if (error.code !== "history-changed") sink.closed(error);
                },
              }),
          }),
  };
}

interface Tampering {
  /** Prefix of the affected keys. */
  readonly prefix: string;
  /** Maximum number of changes per key; without a limit, correct servers would repair the object again and again. */
  readonly timesMax?: number;
}

function changingObjects(
  { prefix, timesMax = Infinity }: Tampering,
  edit: (object: JsonObject, serverId: string) => JsonObject,
): Plant {
  const changes = new Map<string, number>();
  return changingPuts((put, serverId) => {
    const change = (changes.get(put.key) ?? 0) + 1;
    if (!put.key.startsWith(prefix) || change > timesMax) return put;
    changes.set(put.key, change);
    const object: unknown = JSON.parse(put.value.toString("utf8"));
    return isJsonObject(object) ? { ...put, value: Buffer.from(JSON.stringify(edit(object, serverId))) } : put;
  });
}

function changingPuts(edit: (put: Put, serverId: string) => Put): Plant {
  return {
    wrapKv: (kv, serverId) =>
      overlaidKv(kv, {
        commit: (change) => kv.commit(change.kind === "put" ? edit(change, serverId) : change),
      }),
  };
}

function entriesOf(object: JsonObject): JsonObject[] {
  const entries = objectAt(object, "status")["storageVersions"];
  return Array.isArray(entries) ? entries.filter(isJsonObject) : [];
}

function withStatus(object: JsonObject, status: JsonObject): JsonObject {
  return { ...object, status: { ...objectAt(object, "status"), ...status } };
}
