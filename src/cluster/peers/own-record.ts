/**
 * Publishes the records by which peers find this server: a starting record until the server is ready, and from then on
 * its endpoint record, which changes when the server drains and is removed when it leaves.
 */
import type { BaseEnv } from "../../base/env.ts";
import { sleep } from "../../base/clock.ts";
import { whenOrAborted, type BackgroundTask } from "../../base/background.ts";
import type { LocalDocument } from "../../serving/discovery/local-document.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import type { Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { encodeEndpointRecord, endpointKey, type EndpointRecord, type EndpointTable } from "./endpoint-record.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import type { Identity } from "./identity.ts";
import { LeasedRecord } from "./leased-record.ts";
import type { MemberConfig } from "./peer-config.ts";
import { leasedRecordStore } from "./private-records.ts";
import {
  encodeStartingRecord,
  startingId,
  startingKey,
  type StartingRecord,
  type StartingTable,
} from "./starting-record.ts";

interface OwnRecordParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
  readonly builtIn: LocalDocument;
  /** Resolves when this server may receive requests from peers. */
  readonly ready: Promise<void>;
  readonly identity: Identity;
  readonly tables: { readonly endpoints: EndpointTable; readonly starting: StartingTable };
}

interface OwnRecord {
  readonly task: BackgroundTask;
  /** Resolves when the store has a record of this server, or when the signal aborts. */
  appear(signal: AbortSignal): Promise<void>;
  /** Rejects if the store does not have a record of this server, and none can be written now. */
  confirm(): Promise<void>;
  /** Sets the address at which peers reach this server. */
  announce(address: UpstreamAddress): void;
  drain(): Promise<void>;
  remove(): Promise<void>;
}

const RETRY_MS = 250;

export function createOwnRecord(parts: OwnRecordParts): OwnRecord {
  const { ready } = parts;
  const starting = startingWriter(parts);
  const endpoint = endpointWriter(parts);
  let isReady = false;
  const drain = async (): Promise<void> => {
    // Without an endpoint record no peer sends requests to this server, so peers need not be notified.
    if (isReady) await endpoint.update({ state: "draining" });
  };
  return {
    task: {
      name: "peer-endpoint-reconciler",
      async run(signal) {
        const start = starting.run(signal);
        if (await whenOrAborted(ready, signal)) {
          isReady = true;
          const confirmed = endpoint.confirm();
          const kept = endpoint.run(signal);
          if (await confirmed) await starting.remove();
          await kept;
        }
        await start;
        // When the server leaves the cluster, the records are removed before this task is stopped.
        await untilAborted(signal);
      },
    },
    async appear(signal) {
      while (!(await starting.confirm()) && (await sleep(parts.env.clock, RETRY_MS, signal)));
    },
    async confirm() {
      const isStored = await (isReady ? endpoint : starting).confirm();
      if (!isStored) throw new Error("the record by which peers find this server could not be written");
    },
    announce: (address) => void endpoint.update({ address }),
    drain,
    async remove() {
      // Peers keep a server whose record disappears for a while, unless it was draining.
      await drain();
      await endpoint.remove();
      await starting.remove();
    },
  };
}

function startingWriter(parts: OwnRecordParts): LeasedRecord<StartingRecord> {
  const { id, incarnation, release } = parts.identity.self;
  const { starting } = parts.tables;
  const run = { id, incarnation, release };
  return new LeasedRecord({
    ...common(parts),
    name: "starting record",
    key: startingKey(parts.config.storageRoot, run),
    content: run,
    encode: (content) => encodeStartingRecord(content),
    storedGeneration: () => (starting.has(startingId(run)) ? 0 : undefined),
  });
}

function endpointWriter(parts: OwnRecordParts): LeasedRecord<Omit<EndpointRecord, "generation">> {
  const { config, builtIn, identity } = parts;
  const { endpoints } = parts.tables;
  const { id, release, compatibilityVersion, binaryVersion, incarnation } = identity.self;
  return new LeasedRecord<Omit<EndpointRecord, "generation">>({
    ...common(parts),
    name: "endpoint record",
    onKept: (startedAtMs) => {
      identity.fence.recordKept(startedAtMs);
      identity.serve();
    },
    key: endpointKey(config.storageRoot, id),
    content: {
      id,
      address: undefined,
      publishedAddress: config.published?.address,
      state: "serving",
      release,
      compatibilityVersion,
      binaryVersion,
      incarnation,
      document: builtIn.etag,
      // A server is ready only after it has published its storage versions, and writes its record when it is ready.
      hasPublishedStorageVersions: config.usesStorageVersions,
    },
    encode: (content, generation) => encodeEndpointRecord({ ...content, generation }),
    storedGeneration: () => (endpoints.has(id) ? (endpoints.get(id)?.generation ?? 0) : undefined),
  });
}

function common({ env, config, store, identity }: OwnRecordParts) {
  const { clock, random, log } = env;
  return {
    store: leasedRecordStore(store.kv, store.cache),
    clock,
    random,
    log,
    timing: config.peers.timing,
    isOwner: identity.isOwner,
    onKept: (startedAtMs: number) => identity.fence.recordKept(startedAtMs),
  };
}
