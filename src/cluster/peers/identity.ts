/**
 * The identity of this server and of the other live servers: identity leases, and the fence that depends on the lease
 * of this server.
 */
import { randomUuid } from "../../base/random.ts";
import type { Client } from "../../client/client.ts";
import { type UpstreamAddress, authorityOf } from "../../serving/http/upstream.ts";
import { Fence } from "./fence.ts";
import { IdentityLease, KUBE_APISERVER, type ServerIdentity } from "./identity-lease.ts";
import { LeaseCollector } from "./lease-collector.ts";
import { releaseInfo } from "../../objects/catalog/release.ts";
import { waitUntil, whenOrAborted, type BackgroundTask } from "../../base/background.ts";
import type { MemberConfig } from "./peer-config.ts";
import type { BaseEnv } from "../../base/env.ts";
import type { StartupHook } from "../../base/startup-hook.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import type { StoreEpoch } from "../../base/store-epoch.ts";

interface IdentityOptions {
  /** Default kube-apiserver. */
  readonly component?: string | undefined;
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  readonly client: Client;
  readonly isStoreWatchAlive: () => boolean;
  /** Whether the server with this ID has an endpoint record. */
  readonly hasRecord: (id: string) => boolean;
  readonly recordOwner: (incarnation: string) => "this" | "other" | "nobody";
  /** Called when the identity leases could not be listed or watched. */
  readonly onListFailed?: () => void;
  /** The history of the store that holds the lease. Absent if that store belongs to another server. */
  readonly epoch?: StoreEpoch;
}

/** Publishes the records that peers need before this server writes, at its start and after each lapse of its lease. */
type BeforeUnfence = (signal: AbortSignal) => Promise<void>;

export interface Identity {
  readonly self: ServerIdentity;
  readonly fence: Fence;
  readonly leases: LeaseCollector;
  readonly hooks: readonly StartupHook[];
  readonly tasks: readonly BackgroundTask[];
  /** Adds a step that must succeed before the fence opens. */
  beforeUnfence(step: BeforeUnfence): void;
  /** False while another process uses the same server ID. */
  readonly isOwner: () => boolean;
  /** Sets the address at which peers reach this server. */
  announce(address: UpstreamAddress): void;
  /** Shows kube-apiservers that the store has the endpoint record of this server. */
  serve(): void;
  /** Deletes the lease. This is the last step of leaving the cluster. */
  leave(): Promise<void>;
}

export function createIdentity(options: IdentityOptions): Identity {
  const { env, config, client, component = KUBE_APISERVER } = options;
  const { clock, random, log } = env;
  const { timing, serverId: id } = config.peers;
  let peerAddress: string | undefined;
  const self = selfOf(options, () => peerAddress);
  const steps: BeforeUnfence[] = [];
  const beforeUnfence: BeforeUnfence = async (signal) => {
    for (const step of steps) await step(signal);
  };
  const fence = new Fence({ clock, log, fenceAfterMs: timing.fenceAfterMs, beforeUnfence });
  const lease = new IdentityLease({
    client,
    clock,
    random,
    log,
    timing,
    identity: self,
    recordOwner: () => options.recordOwner(self.incarnation),
    onRenewed: (startedAtMs) => fence.renewed(startedAtMs),
    onLost: (because) => fence.lost(because),
  });
  options.epoch?.onChange(() => {
    fence.lost("the store has another history, in which the identity lease has not been written yet");
    lease.restart();
  });
  const { isStoreWatchAlive, hasRecord } = options;
  const leases = new LeaseCollector({
    client,
    clock,
    random,
    log,
    timing,
    selfId: id,
    component,
    isStoreWatchAlive,
    hasRecord,
    onListFailed: options.onListFailed,
  });
  // Resolves when the lease may be written: an earlier startup hook must create its namespace first.
  const turn = Promise.withResolvers<void>();
  const held: StartupHook = {
    name: `start-${component}-identity-lease-controller`,
    run(signal) {
      turn.resolve();
      return waitUntil(clock, () => !fence.isFenced, signal);
    },
  };
  const collected: StartupHook = {
    name: `start-${component}-identity-lease-garbage-collector`,
    run: (signal) => waitUntil(clock, () => leases.hasSynced, signal),
  };
  return {
    self,
    fence,
    leases,
    hooks: [held, collected],
    tasks: [
      {
        name: "identity-lease",
        async run(signal) {
          if (await whenOrAborted(turn.promise, signal)) await lease.run(signal);
          // When the server leaves the cluster, the lease is removed before this task is stopped.
          await untilAborted(signal);
        },
      },
      {
        name: "identity-lease-collector",
        async run(signal) {
          await waitUntil(clock, isStoreWatchAlive, signal);
          await leases.run(signal);
        },
      },
    ],
    beforeUnfence: (step) => void steps.push(step),
    isOwner: () => lease.conflict === undefined,
    announce: (address) => {
      peerAddress = authorityOf(address);
    },
    serve: () => lease.serve(),
    leave: () => lease.remove(),
  };
}

function selfOf(
  { env, config, component = KUBE_APISERVER }: IdentityOptions,
  peerAddress: () => string | undefined,
): ServerIdentity {
  const { serverId: id, hostname } = config.peers;
  return {
    id,
    component,
    incarnation: randomUuid(env.random),
    hostname,
    /** Undefined until the server listens. */
    get peerAddress() {
      return peerAddress();
    },
    release: config.release,
    binaryVersion: releaseInfo(config.version.binary).gitVersion.replace(/^v/, ""),
    compatibilityVersion: config.release,
  };
}
