/** Publishes the endpoint record of this server, and changes it when the server drains or leaves. */
import type { BaseEnv } from "../../base/env.ts";
import type { LocalDocument } from "../../serving/discovery/local-document.ts";
import type { Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { UpstreamAddress } from "../../serving/http/upstream.ts";
import { encodeEndpointRecord, endpointKey, type EndpointRecord, type EndpointTable } from "./endpoint-record.ts";
import { LeasedRecord } from "./leased-record.ts";
import { whenOrAborted, type BackgroundTask } from "../../base/background.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import type { Identity } from "./identity.ts";
import { leasedRecordStore } from "./private-records.ts";

interface OwnRecordParts {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly store: { readonly kv: Kv; readonly cache: WatchCache };
  readonly builtIn: LocalDocument;
  /** Resolves when this server may receive requests from peers. */
  readonly ready: Promise<void>;
}

interface OwnRecord {
  readonly task: BackgroundTask;
  announce(address: UpstreamAddress): void;
  drain(): Promise<void>;
  remove(): Promise<void>;
}

/**
 * Publishes the endpoint record by which peers find this server. The record exists from readiness on, and only if the
 * server listens.
 */
export function createOwnRecord(parts: OwnRecordParts, identity: Identity, table: EndpointTable): OwnRecord {
  const { env, config, store, builtIn, ready } = parts;
  const { clock, random, log } = env;
  const { self } = identity;
  const announced = Promise.withResolvers<void>();
  // A server is ready only after it has published its storage versions, and writes its record when it is ready.
  const publishing = { hasPublishedStorageVersions: config.usesStorageVersions };
  let writer: LeasedRecord<Omit<EndpointRecord, "generation">> | undefined;
  let isKept = false;
  return {
    announce(address) {
      writer ??= new LeasedRecord({
        name: "endpoint record",
        store: leasedRecordStore(store.kv, store.cache),
        key: endpointKey(config.storageRoot, self.id),
        clock,
        random,
        log,
        timing: config.peers.timing,
        content: { ...self, address, state: "serving", document: builtIn.etag, ...publishing },
        encode: (content, generation) => encodeEndpointRecord({ ...content, generation }),
        storedGeneration: () => (table.has(self.id) ? (table.get(self.id)?.generation ?? 0) : undefined),
        isOwner: identity.isOwner,
      });
      announced.resolve();
    },
    task: {
      name: "peer-endpoint-reconciler",
      async run(signal) {
        const mayBeCalled = Promise.all([announced.promise, ready]);
        if (!(await whenOrAborted(mayBeCalled, signal))) return;
        isKept = true;
        await writer?.run(signal);
        // When the server leaves the cluster, the record is removed before this task is stopped.
        await untilAborted(signal);
      },
    },
    async drain() {
      // Without a record no peer sends requests to this server, so peers need not be notified.
      if (isKept) await writer?.update({ state: "draining" });
    },
    async remove() {
      await writer?.remove();
    },
  };
}
