/**
 * The startup hooks, with kubernetes' names, that create the objects of a new cluster before the server is ready. The
 * first hook to run writes the objects of all hooks, so that a store with group commit can commit them together. It
 * waits until the server's address is known. If the store already has all objects, only outdated ones are written.
 */
import type { Catalog } from "../../objects/catalog/catalog.ts";
import type { StartupHook } from "../../base/startup-hook.ts";
import { flowControl } from "./flow-control.ts";
import { legacyTokenTracking } from "./legacy-token-tracking.ts";
import { kubernetesService } from "./kubernetes-service.ts";
import { systemNamespaces } from "./namespaces.ts";
import { IDENTITY_LEASE_NAMESPACE } from "../peers/identity-lease.ts";
import { ensureAll, ownedObjectName, type BootstrapPorts, type OwnedObject } from "./owned-object.ts";
import { systemPriorityClasses } from "./priority-classes.ts";
import type { TrustParts } from "../../access/auth/cluster-trust.ts";
import { clusterAuthentication } from "./cluster-authentication.ts";
import { bootstrapRoles } from "./rbac/bootstrap-roles.ts";
import { seed, type Seeding } from "./seed.ts";
import { servedVersions, type Serves } from "./served-version.ts";
import { defaultServiceCidr } from "./service-cidr.ts";

interface BootstrapOptions extends BootstrapPorts, Seeding {
  readonly catalog: Catalog;
  /** The ranges of cluster IPs, that of the default family first. */
  readonly serviceCidrs: readonly string[];
  /** Returns the CAs that this server trusts at present. */
  readonly trust: () => TrustParts;
  /** Whether RBAC is enabled, so that the default roles are needed. */
  readonly usesRoles: boolean;
  /** Whether tokens of service accounts are accepted, including those in Secrets. */
  readonly acceptsTokens: boolean;
  /** How to publish the Service `kubernetes`; undefined if no client can reach this server from outside its process. */
  readonly published: Published | undefined;
}

interface Published {
  readonly clusterIp: string;
  /** Resolves with the port at which clients reach the server, when it listens. */
  readonly port: Promise<number>;
}

/** Returns the objects of each hook, in the order of HOOKS. */
function ownedBy(
  { serviceCidrs, published, usesRoles, acceptsTokens, trust, clock }: BootstrapOptions,
  serves: Serves,
  port: number,
): readonly (readonly OwnedObject[])[] {
  return [
    systemNamespaces(serves),
    published === undefined ? [] : kubernetesService(serves, { clusterIp: published.clusterIp, port }),
    systemPriorityClasses(serves),
    flowControl(serves),
    defaultServiceCidr(serves, serviceCidrs),
    usesRoles ? bootstrapRoles(serves) : [],
    clusterAuthentication(serves, trust, () => clock.now()),
    acceptsTokens ? legacyTokenTracking(serves, () => clock.now()) : [],
  ];
}

const HOOKS: readonly string[] = [
  "start-system-namespaces-controller",
  "bootstrap-controller",
  "scheduling/bootstrap-system-priority-classes",
  "priority-and-fairness-config-producer",
  "start-kubernetes-service-cidr-controller",
  "rbac/bootstrap-roles",
  "start-cluster-authentication-info-controller",
  "start-legacy-token-tracking-controller",
];

export function bootstrapHooks(options: BootstrapOptions): StartupHook[] {
  const serves = servedVersions(options.catalog);
  let starting: Promise<readonly (readonly OwnedObject[])[]> | undefined;
  /** Returns, for each hook, the objects that `seed` has not created. */
  const start = async (signal: AbortSignal): Promise<readonly (readonly OwnedObject[])[]> => {
    const port = await unlessAborted(options.published?.port ?? Promise.resolve(0), signal);
    if (port === undefined) return [];
    const owned = ownedBy(options, serves, port);
    const settled = await seed(options, owned.flat(), signal);
    return owned.map((objects) => objects.filter((object) => !settled.has(object)));
  };
  return HOOKS.map((name, index) => ({
    name,
    async run(signal) {
      starting ??= start(signal);
      await ensureAll(options, (await starting)[index] ?? [], signal);
    },
  }));
}

/** Publishes the CAs of this server again, after a reload. */
export function publishTrust(
  options: BootstrapPorts & Pick<BootstrapOptions, "catalog" | "trust">,
  signal: AbortSignal,
): Promise<void> {
  const owned = clusterAuthentication(servedVersions(options.catalog), options.trust, () => options.clock.now());
  return ensureAll(options, owned, signal);
}

/** Creates the namespace of the identity leases, which must exist before the server can register itself. */
export function ensureIdentityNamespace(
  options: BootstrapPorts & Pick<BootstrapOptions, "catalog">,
): (signal: AbortSignal) => Promise<void> {
  const namespaces = systemNamespaces(servedVersions(options.catalog));
  return (signal) =>
    ensureAll(
      options,
      namespaces.filter((owned) => ownedObjectName(owned) === IDENTITY_LEASE_NAMESPACE),
      signal,
    );
}

/** Resolves to undefined if the signal aborts first. */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    promise.then(resolve, reject);
  });
}
