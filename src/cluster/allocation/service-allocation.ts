/**
 * Allocates addresses and ports for one write of a Service. The order of the steps is such that a crash at any point
 * never gives two services the same number, and leaks at most a claim, which the repair frees:
 *
 *    claim what the service will need → store the service → release what it no longer needs
 *
 * A write whose outcome is unknown keeps its claims, because the service may be stored.
 */
import { objectAt, specOf, stringAt, stringsAt, type JsonObject } from "../../meta/json.ts";
import { invalid, serviceUnavailable, StatusError, type FieldError } from "../../meta/status-error.ts";
import { StorageError } from "../../storage/kv.ts";
import type { Entry } from "../../storage/watch-cache/entry.ts";
import type { AllocatesNumbers, AllocationSession } from "../../serving/registry/allocation.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import type { Allocators } from "./allocators.ts";
import type { ObjectChange } from "../../serving/registry/guaranteed-update.ts";
import { invalidValue } from "../../meta/field-errors.ts";
import { prepareForCreate } from "../../serving/registry/prepare.ts";
import type { ServedResource } from "../../serving/registry/resource.ts";
import { isOwnedBy, type Claim, type ClaimPool, type ClaimOwner, type Taken } from "./claims.ts";
import { isFor } from "./ip-addresses.ts";
import { fillIpFamilies } from "./ip-families.ts";
import { canonicalIp } from "../../meta/ip-address.ts";
import { invalidStrings } from "../../objects/kinds/core/services/go-strings.ts";
import {
  allocatesNodePorts,
  HEADLESS,
  allocatedValuesOf,
  isServices,
  needsClusterIp,
  needsHealthCheckPort,
  needsNodePorts,
  portsOf,
  type AllocatedValues,
} from "../../objects/kinds/core/services/service-fields.ts";
import { countAt } from "../../objects/kinds/checks.ts";

const ALREADY_ALLOCATED = "provided port is already allocated";
const NODE_PORTS_FULL = "failed to allocate a nodePort: range is full";

/** An allocation that takes longer than this fails, because the repair might soon remove its claims as leaked. */
const CLAIMS_FRESH_MS = 60_000;

/** Allocates cluster IPs and node ports for Services. */
export function allocateForServices(allocators: Allocators): AllocatesNumbers {
  return {
    begin: (context, served, dryRun) =>
      isServices(served.stored)
        ? new ServiceAllocation({ context, allocators, served, mode: dryRun ? "suggest" : "claim" })
        : undefined,
    on: (store) => allocateForServices(allocators.on(store)),
  };
}

interface ServiceAllocationOptions {
  readonly context: RegistryContext;
  readonly allocators: Allocators;
  readonly served: ServedResource;
  readonly mode: "claim" | "suggest";
}

class ServiceAllocation implements AllocationSession {
  readonly #context: RegistryContext;
  readonly #allocators: Allocators;
  readonly #served: ServedResource;
  readonly #mode: "claim" | "suggest";
  /** The claims of the latest attempt, each with its pool. */
  #taken: (Taken & { readonly pool: ClaimPool })[] = [];
  /** The claims and IPAddress objects that the service will not need after the latest attempt. */
  #dropped: { readonly claims: { readonly pool: ClaimPool; readonly claim: Claim }[]; readonly addresses: Entry[] } = {
    claims: [],
    addresses: [],
  };
  #owner: ClaimOwner = { namespace: "", name: "", uid: "" };

  constructor({ context, allocators, served, mode }: ServiceAllocationOptions) {
    this.#context = context;
    this.#allocators = allocators;
    this.#served = served;
    this.#mode = mode;
  }

  async assign(object: JsonObject, existing?: JsonObject): Promise<JsonObject> {
    await this.revert();
    const { clock } = this.#context;
    const startedAt = clock.monotonic();
    this.#owner = ownerOf(object);
    const service = {
      ...object,
      spec: {
        ...specOf(object),
        ...(Array.isArray(specOf(object)["ports"])
          ? { ports: portsOf(specOf(object)).map((port) => ({ ...port })) }
          : {}),
      },
    };
    const held = existing === undefined ? { ips: [], ports: [] } : allocatedValuesOf(existing);
    // Both assignments run to completion even if one fails, so that all claims are known and can be released.
    const outcomes = await Promise.allSettled([
      this.#assignIps(service, existing, held),
      this.#assignPorts(service, existing, held),
    ]);
    for (const outcome of outcomes) if (outcome.status === "rejected") throw outcome.reason;
    if (existing !== undefined) await this.#noteDropped(held, allocatedValuesOf(service));
    if (this.#taken.length > 0 && clock.monotonic() - startedAt > CLAIMS_FRESH_MS) {
      throw serviceUnavailable("allocating took too long, please try again later", 1);
    }
    return service;
  }

  async apply(change: ObjectChange, existing: JsonObject): Promise<ObjectChange> {
    if (change.kind === "store") return { ...change, object: await this.assign(change.object, existing) };
    await this.revert();
    this.#owner = ownerOf(existing);
    await this.#noteDropped(allocatedValuesOf(existing), { ips: [], ports: [] });
    return change;
  }

  /** Releases the claims of the latest attempt, except those that the service already had. */
  async revert(): Promise<void> {
    const taken = this.#taken;
    this.#taken = [];
    this.#dropped = { claims: [], addresses: [] };
    await leavingFailuresToRepair(
      taken
        .filter(({ wasOwned }) => !wasOwned)
        .map(
          ({ pool, claim }) =>
            () =>
              pool.release(claim),
        ),
    );
  }

  /** Called after the service was stored. */
  async finish(): Promise<void> {
    if (this.#mode === "suggest") return;
    const { clusterIps, ipAddresses } = this.#allocators;
    const { namespace, name } = this.#owner;
    const published = this.#taken.filter(({ pool }) => pool === clusterIps);
    const prepare = (served: ServedResource, object: JsonObject): JsonObject =>
      prepareForCreate(this.#context, served, object);
    // An IPAddress is deleted before its claim is released, so that the next owner of the address can create its own.
    await leavingFailuresToRepair([
      ...published.map(
        ({ claim }) =>
          () =>
            ipAddresses.publish(claim.number, { namespace, name }, prepare),
      ),
      ...this.#dropped.addresses.map((entry) => () => ipAddresses.withdraw(entry)),
    ]);
    await leavingFailuresToRepair(
      this.#dropped.claims.map(
        ({ pool, claim }) =>
          () =>
            pool.release(claim),
      ),
    );
  }

  async #assignIps(service: JsonObject, existing: JsonObject | undefined, held: AllocatedValues): Promise<void> {
    const spec = specOf(service);
    if (!needsClusterIp(spec)) return;
    const errors = fillIpFamilies(spec, existing === undefined ? undefined : specOf(existing), {
      family: this.#allocators.family,
      gates: this.#served.gates,
    });
    if (errors.length > 0) throw this.#invalid(errors);
    const asked = stringsAt(spec, "clusterIPs");
    if (asked[0] === HEADLESS) return;
    const listed: string[] = [];
    for (const [index] of stringsAt(spec, "ipFamilies").entries()) {
      const ip = asked[index] ?? "";
      listed.push(ip !== "" && held.ips.includes(ip) ? ip : await this.#takeIp(ip, asked));
    }
    spec["clusterIP"] = listed[0];
    spec["clusterIPs"] = listed;
  }

  async #takeIp(ip: string, asked: readonly string[]): Promise<string> {
    const { clusterIps, ipAddresses } = this.#allocators;
    if (ip === "") {
      const number = await this.#takeAny(clusterIps);
      if (number === undefined) throw internalError("failed to allocate a serviceIP: range is full");
      return number;
    }
    const canonical = canonicalIp(ip) ?? ip;
    const rejection = (why: string): StatusError =>
      this.#invalid([invalidStrings("spec.clusterIPs", asked, `failed to allocate IP ${ip}: ${why}`, this.#served)]);
    if (clusterIps.range.indexOf(canonical) === undefined) {
      // Releases with ServiceCIDRs search for a ServiceCIDR that contains the IP; earlier releases name the only range
      // in the message.
      const before = `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${clusterIps.range.text}`;
      throw rejection(
        ipAddresses.served === undefined ? before : "the provided network does not match the current range",
      );
    }
    const reserved = await ipAddresses.find(canonical);
    const isFree = reserved === undefined || isFor(reserved, this.#owner);
    if (!isFree || !(await this.#take(clusterIps, canonical))) throw rejection("provided IP is already allocated");
    return ip;
  }

  async #assignPorts(service: JsonObject, existing: JsonObject | undefined, held: AllocatedValues): Promise<void> {
    const spec = specOf(service);
    if (!needsNodePorts(spec)) return;
    const ports = portsOf(spec);
    const own = new Set(held.ports);
    await this.#rejectUnavailablePorts(spec, own, existing === undefined ? "shared" : "each");
    for (const [index, port] of ports.entries()) {
      const nodePort = countAt(port, "nodePort");
      if (nodePort === 0 || own.has(nodePort)) continue;
      await this.#takePort(nodePort, (why) => this.#invalidNodePort(index, nodePort, why));
      own.add(nodePort);
    }
    const byPort = new Map(
      ports
        .map((port) => [countAt(port, "port"), countAt(port, "nodePort")])
        .filter(([, nodePort]) => nodePort !== 0) as [number, number][],
    );
    for (const port of allocatesNodePorts(spec) ? ports : []) {
      if (countAt(port, "nodePort") !== 0) continue;
      // A new service that exposes one port over two protocols gets the same node port for both.
      const shared = existing === undefined ? byPort.get(countAt(port, "port")) : undefined;
      port["nodePort"] = shared ?? (await this.#takeAnyPort(NODE_PORTS_FULL));
      byPort.set(countAt(port, "port"), countAt(port, "nodePort"));
    }
    if (needsHealthCheckPort(spec)) await this.#assignHealthCheckPort(spec, own);
  }

  /**
   * Rejects unavailable ports before any port is claimed: a request may have thousands of ports, and all of their
   * claims would have to be released.
   */
  async #rejectUnavailablePorts(spec: JsonObject, own: ReadonlySet<number>, unasked: "shared" | "each"): Promise<void> {
    const { nodePorts } = this.#allocators;
    const ports = portsOf(spec);
    const asked = new Set<number>();
    for (const [index, port] of ports.entries()) {
      const nodePort = countAt(port, "nodePort");
      if (nodePort === 0 || own.has(nodePort) || asked.has(nodePort)) continue;
      const number = String(nodePort);
      if (nodePorts.range.indexOf(number) === undefined)
        throw this.#invalidNodePort(index, nodePort, outOfRange(nodePorts));
      if (nodePorts.known(number) === undefined) asked.add(nodePort);
      else {
        const claim = await nodePorts.find(number);
        if (claim !== undefined && !isOwnedBy(claim, this.#owner))
          throw this.#invalidNodePort(index, nodePort, ALREADY_ALLOCATED);
      }
    }
    if (asked.size + unaskedCount(spec, unasked) > nodePorts.freeCount()) throw internalError(NODE_PORTS_FULL);
  }

  async #assignHealthCheckPort(spec: JsonObject, own: ReadonlySet<number>): Promise<void> {
    const port = countAt(spec, "healthCheckNodePort");
    if (port === 0)
      spec["healthCheckNodePort"] = await this.#takeAnyPort(
        "failed to allocate a HealthCheck NodePort 0: range is full",
      );
    else if (!own.has(port))
      await this.#takePort(port, (why) =>
        internalError(`failed to allocate requested HealthCheck NodePort ${port}: ${why}`),
      );
  }

  async #takePort(port: number, rejection: (why: string) => StatusError): Promise<void> {
    const { nodePorts } = this.#allocators;
    if (nodePorts.range.indexOf(String(port)) === undefined) throw rejection(outOfRange(nodePorts));
    if (!(await this.#take(nodePorts, String(port)))) throw rejection(ALREADY_ALLOCATED);
  }

  async #takeAnyPort(rejection: string): Promise<number> {
    const number = await this.#takeAny(this.#allocators.nodePorts);
    if (number === undefined) throw internalError(rejection);
    return Number(number);
  }

  async #take(pool: ClaimPool, number: string): Promise<boolean> {
    if (this.#mode === "suggest") {
      const found = await pool.find(number);
      return found === undefined || isOwnedBy(found, this.#owner);
    }
    const taken = await pool.take(number, this.#owner);
    if (taken !== undefined) this.#taken.push({ ...taken, pool });
    return taken !== undefined;
  }

  async #takeAny(pool: ClaimPool): Promise<string | undefined> {
    if (this.#mode === "suggest") return pool.suggest();
    const taken = await pool.takeAny(this.#owner);
    if (taken !== undefined) this.#taken.push({ ...taken, pool });
    return taken?.claim.number;
  }

  /**
   * Records which claims and addresses become superfluous. They are read before the service is stored, because a claim
   * that is written again after that must not be released.
   */
  async #noteDropped(before: AllocatedValues, after: AllocatedValues): Promise<void> {
    if (this.#mode === "suggest") return;
    const { clusterIps, nodePorts, ipAddresses } = this.#allocators;
    const ips = before.ips.filter((ip) => !after.ips.includes(ip)).map((ip) => canonicalIp(ip) ?? ip);
    const ports = before.ports.filter((port) => !after.ports.includes(port)).map(String);
    const find = async (pool: ClaimPool, number: string): Promise<{ pool: ClaimPool; claim: Claim }[]> => {
      const claim = await pool.find(number);
      return claim !== undefined && isOwnedBy(claim, this.#owner) ? [{ pool, claim }] : [];
    };
    const claims = await Promise.all([
      ...ips.map((ip) => find(clusterIps, ip)),
      ...ports.map((port) => find(nodePorts, port)),
    ]);
    const addresses = await Promise.all(ips.map((ip) => ipAddresses.find(ip)));
    this.#dropped = {
      claims: claims.flat(),
      addresses: addresses.filter((entry) => entry !== undefined && isFor(entry, this.#owner)) as Entry[],
    };
  }

  #invalidNodePort(index: number, nodePort: number, why: string): StatusError {
    return this.#invalid([invalidValue(`spec.ports[${index}].nodePort`, nodePort, why)]);
  }

  #invalid(errors: readonly FieldError[]): StatusError {
    return invalid({ group: "", kind: this.#served.kind }, this.#owner.name, errors);
  }
}

/** Number of node ports that the server must choose. On creation, ports with the same number share one. */
function unaskedCount(spec: JsonObject, unasked: "shared" | "each"): number {
  if (!allocatesNodePorts(spec)) return 0;
  const ports = portsOf(spec);
  const open = ports.filter((port) => countAt(port, "nodePort") === 0);
  if (unasked === "each") return open.length;
  const given = new Set(ports.filter((port) => countAt(port, "nodePort") !== 0).map((port) => countAt(port, "port")));
  return new Set(open.map((port) => countAt(port, "port")).filter((port) => !given.has(port))).size;
}

function outOfRange({ range }: ClaimPool): string {
  return `provided port is not in the valid range. The range of valid ports is ${range.text}`;
}

export function ownerOf(service: JsonObject): ClaimOwner {
  const metadata = objectAt(service, "metadata");
  return {
    namespace: stringAt(metadata, "namespace"),
    name: stringAt(metadata, "name"),
    uid: stringAt(metadata, "uid"),
  };
}

/** Ignores store errors, because the repair completes the work, and the request has already succeeded or failed. */
async function leavingFailuresToRepair(works: readonly (() => Promise<void>)[]): Promise<void> {
  await Promise.all(
    works.map(async (work) => {
      try {
        await work();
      } catch (thrown) {
        if (!(thrown instanceof StorageError)) throw thrown;
      }
    }),
  );
}

function internalError(why: string): StatusError {
  return new StatusError("InternalError", `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
  });
}
