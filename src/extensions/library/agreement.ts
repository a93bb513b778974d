/**
 * Makes a program's API server take part in the agreement on encodings. The server holds an identity lease of its
 * component, adds its entry to the StorageVersion of a resource before it writes the resource, and is fenced when other
 * servers may treat it as departed. All these objects are on the main API server, which also removes those of departed
 * servers.
 */
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { Client } from "../../client/client.ts";
import type { HealthCheck } from "../../serving/endpoints/health.ts";
import { fenceHealthCheck, type Fence } from "../../cluster/peers/fence.ts";
import { IDENTITY_LABEL, IDENTITY_LEASE_NAMESPACE, IDENTITY_LEASE_TYPE } from "../../cluster/peers/identity-lease.ts";
import type { Encoding } from "../../serving/registry/resource.ts";
import type { Kv } from "../../storage/kv.ts";
import type { WatchCache } from "../../storage/watch-cache/cache.ts";
import { Encodings, type StoredResourceVersions } from "../../cluster/storageversion/encodings.ts";
import type { AgreementMember, Members } from "../../cluster/storageversion/members.ts";
import type { WriteGateState } from "../../cluster/storageversion/write-gate.ts";
import { waitUntil, type BackgroundTask } from "../../base/background.ts";
import type { MemberConfig } from "../../cluster/peers/peer-config.ts";
import type { BaseEnv } from "../../base/env.ts";
import { createIdentity, type Identity } from "../../cluster/peers/identity.ts";
import type { StartupHook } from "../../base/startup-hook.ts";
import { createAgreement, type StorageVersions } from "../../cluster/storageversion/create-storage-versions.ts";
import { followUnreadable } from "../../cluster/inspect/unreadable-objects.ts";
import { AgreementCopy } from "./agreement-copy.ts";

interface AgreementOptions {
  readonly env: BaseEnv;
  readonly config: MemberConfig;
  /** The name that all servers of the program share, for example "wardle-apiserver". */
  readonly component: string;
  /** Client of the main API server. */
  readonly client: Client;
  readonly kv: Kv;
  readonly cache: WatchCache;
  readonly metrics: MetricsRegistry;
  readonly resources: readonly StoredResourceVersions[];
}

export interface OwnAgreement {
  readonly fence: Fence;
  readonly gate: WriteGateState;
  readonly encodingOf: (name: string) => Encoding;
  readonly hooks: readonly StartupHook[];
  readonly tasks: readonly BackgroundTask[];
  readonly checks: readonly HealthCheck[];
  /** Removes the identity lease of this server, as its last write. */
  leave(): Promise<void>;
}

export function joinAgreement(options: AgreementOptions): OwnAgreement {
  const { env, config, component, client, kv, resources } = options;
  const { clock, random, log } = env;
  const { serverId } = config.peers;
  const keyPrefix = `${config.storageRoot}storage-version-agreement/`;
  const encodings = new Encodings({ clock, serverId, resources, keyPrefix });
  const names = new Set(resources.map(({ name }) => name));
  const copy = new AgreementCopy({ client, kv, clock, random, log, keyPrefix, names });
  const identity: Identity = createIdentity({
    env,
    config,
    client,
    component,
    // The leases arrive through a watch of the main API server, and the lease collector detects failures of that watch
    // itself.
    isStoreWatchAlive: () => true,
    hasRecord: () => false,
    recordOwner: () => "nobody",
  });
  // Such a server has no endpoint record for which its lease would have to wait.
  identity.serve();
  const agreement: StorageVersions = createAgreement({
    ...options,
    serverId,
    agreed: { encodings, resources, keyPrefix },
    members: (isComplete) => createMembers(options, identity, isComplete),
    withheldBecause: () => (identity.isOwner() ? undefined : "duplicate server ID"),
    whenPublished: (name, open) => copy.after(name, open),
    tasks: [
      { name: "storage-version-copies", run: (signal) => copy.run(signal) },
      followUnreadable({ ...options, agreed: { encodings, resources }, reader: "this server" }),
    ],
  });
  identity.beforeUnfence((signal) => agreement.beforeUnfence(signal));
  return {
    fence: identity.fence,
    gate: agreement.gate,
    encodingOf: (name) => encodings.of(name),
    hooks: [
      ...identity.hooks,
      {
        name: `${component}-storage-version-updater`,
        async run(signal) {
          await agreement.hook.run(signal);
          await waitUntil(clock, () => encodings.isOpen, signal);
        },
      },
    ],
    tasks: [...identity.tasks, ...agreement.tasks],
    checks: [fenceHealthCheck(identity.fence)],
    leave: () => identity.leave(),
  };
}

/**
 * Treats every other server as having published its entries, because a server of this component writes nothing before
 * it has.
 */
function createMembers(
  { env, config, component, client }: AgreementOptions,
  { leases }: Identity,
  isComplete: () => boolean,
): Members {
  const { serverId: id } = config.peers;
  return {
    live() {
      const others = [...leases.known(), ...leases.otherComponents()].map((lease): [string, AgreementMember] => [
        lease.id,
        { id: lease.id, component: lease.component, isPublished: true },
      ]);
      return new Map([[id, { id, component, isPublished: isComplete() }], ...others]);
    },
    catchUp: () => hasCaughtUp(env, client, leases),
    onChange: (listener) => leases.onChange(listener),
  };
}

const CATCH_UP_MS = 1_000;

/** Returns false if the main API server does not respond, because it is then unknown which servers are live. */
async function hasCaughtUp({ clock, log }: BaseEnv, client: Client, leases: Identity["leases"]): Promise<boolean> {
  const type = client.resource(IDENTITY_LEASE_TYPE);
  const found = await type
    .listAll({ namespace: IDENTITY_LEASE_NAMESPACE, labelSelector: IDENTITY_LABEL, timeoutMs: CATCH_UP_MS })
    .catch((thrown: unknown) => {
      log.warn("failed to list identity leases", { error: String(thrown) });
    });
  if (found === undefined) return false;
  const isSeen = (): boolean =>
    found.items.every(({ metadata }) =>
      leases.hasSeen(metadata?.name ?? "", Number(metadata?.resourceVersion ?? Infinity)),
    );
  const until = clock.monotonic() + CATCH_UP_MS;
  await waitUntil(clock, () => isSeen() || clock.monotonic() >= until, new AbortController().signal);
  return isSeen();
}
