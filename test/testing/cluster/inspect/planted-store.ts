/** A store in memory with given values, for tests of the inspect endpoints. */
import type { WalkProgress, WalkOptions } from "../../../../src/cluster/inspect/walk-store.ts";
import type { Clock } from "../../../../src/base/clock.ts";
import { encodeEnvelope } from "../../objects/protobuf/encode.ts";
import { createMemoryKv } from "../../../../src/storage/kv-memory/kv.ts";
import type { Kv } from "../../../../src/storage/kv.ts";

const STILL: Clock = { now: () => 0, monotonic: () => 0, after: () => () => {} };

/** A store with these values. The keys of `values` are relative to /registry/. */
export async function plantedStore(values: Readonly<Record<string, Buffer>>): Promise<Kv> {
  const kv = createMemoryKv({ clock: STILL });
  for (const [key, value] of Object.entries(values))
    await kv.commit({ kind: "put", key: `/registry/${key}`, value, expectedRevision: 0 });
  return kv;
}

export function json(apiVersion: string, kind = "Thing"): Buffer {
  return Buffer.from(JSON.stringify({ kind, apiVersion, metadata: { name: "x" } }));
}

/** A value in protobuf, as kube-apiserver writes it. */
export function protobuf(apiVersion: string, kind = "Thing"): Buffer {
  return encodeEnvelope({ apiVersion, kind, raw: Buffer.from([0x0a, 0x00]) });
}

export function walking(kv: Pick<Kv, "range">): WalkOptions & { readonly progress: WalkProgress[] } {
  const progress: WalkProgress[] = [];
  return {
    kv,
    storageRoot: "/registry/",
    signal: new AbortController().signal,
    onProgress: (one) => void progress.push(one),
    progress,
  };
}
