/**
 * Allocates addresses and ports for one write of a Service. The order of the steps is such that a crash at any point
 * never gives two services the same number, and leaks at most a number, which the repair releases:
 *
 *    allocate what the service will need → store the service → release what it no longer needs
 *
 * A write whose outcome is unknown keeps its numbers, because the service may be stored.
 */
import { specOf, stringsAt, type JsonObject } from "../../meta/json.ts";
import { invalid, serviceUnavailable, StatusError, type FieldError } from "../../meta/status-error.ts";
import { StorageError } from "../../storage/kv.ts";
import type { AllocatesNumbers, AllocationSession } from "../../serving/registry/allocation.ts";
import type { RegistryContext } from "../../serving/registry/context.ts";
import type { Allocators } from "./allocators.ts";
import type { ObjectChange } from "../../serving/registry/guaranteed-update.ts";
import { invalidValue } from "../../meta/field-errors.ts";
import type { ServedResource } from "../../serving/registry/resource.ts";
import type { WriteGuards } from "../../serving/registry/write-encoded.ts";
import type { NodePorts } from "./node-ports.ts";
import type { NumberOwner, NumberPool, Taken } from "./number-pool.ts";
import { canonicalIp, familyOf } from "../../meta/ip-address.ts";
import { invalidStrings } from "../../objects/kinds/core/services/go-strings.ts";
import { planIpFamilies } from "../../objects/kinds/core/services/ip-families.ts";
import { kindContext } from "../../serving/registry/defaults.ts";
import {
  allocatesNodePorts,
  HEADLESS,
  allocatedValuesOf,
  isServices,
  needsHealthCheckPort,
  needsNodePorts,
  portsOf,
  type AllocatedValues,
} from "../../objects/kinds/core/services/service-fields.ts";
import { ownerOf } from "./stored-services.ts";
import { STORE_MS } from "./timing.ts";
import { countAt } from "../../objects/kinds/checks.ts";

const ALREADY_ALLOCATED = "provided port is already allocated";
const TOO_LATE = "allocating took too long, please try again later";
const NODE_PORTS_FULL = "failed to allocate a nodePort: range is full";

/** Allocates cluster IPs and node ports for Services. */
export function allocateForServices(allocators: Allocators): AllocatesNumbers {
  return {
    begin: (context, served, dryRun) =>
      isServices(served.stored)
        ? new ServiceAllocation({ context, allocators, served, mode: dryRun ? "suggest" : "allocate" })
        : undefined,
  };
}

interface ServiceAllocationOptions {
  readonly context: RegistryContext;
  readonly allocators: Allocators;
  readonly served: ServedResource;
  readonly mode: "allocate" | "suggest";
}

class ServiceAllocation implements AllocationSession {
  readonly #context: RegistryContext;
  readonly #allocators: Allocators;
  readonly #served: ServedResource;
  readonly #mode: "allocate" | "suggest";
  /** The numbers that the latest attempt has allocated. */
  #taken: Taken[] = [];
  /** Releases the numbers that the service will not need after the latest attempt. */
  #releases: (() => Promise<void>)[] = [];
  #owner: NumberOwner = { namespace: "", name: "" };
  /** When the latest attempt began, in monotonic milliseconds. */
  #startedAt = 0;

  constructor({ context, allocators, served, mode }: ServiceAllocationOptions) {
    this.#context = context;
    this.#allocators = allocators;
    this.#served = served;
    this.#mode = mode;
  }

  async assign(object: JsonObject, existing?: JsonObject): Promise<JsonObject> {
    await this.revert();
    this.#startedAt = this.#context.clock.monotonic();
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
    // As kubernetes: first the addresses. If two servers get the same numbers in another order, both fail.
    await this.#assignIps(service, existing, held);
    await this.#assignPorts(service, existing, held);
    if (existing !== undefined) await this.#noteDropped(held, allocatedValuesOf(service));
    return service;
  }

  async apply(change: ObjectChange, existing: JsonObject): Promise<ObjectChange> {
    if (change.kind === "store") {
      const object = await this.assign(change.object, existing);
      return { ...change, object, guards: () => this.guarded(undefined) };
    }
    await this.revert();
    this.#owner = ownerOf(existing);
    await this.#noteDropped(allocatedValuesOf(existing), { ips: [], ports: [] });
    return change;
  }

  guarded(place: WriteGuards | undefined): WriteGuards | undefined {
    if (this.#taken.length === 0) return place;
    if (this.#context.clock.monotonic() - this.#startedAt > STORE_MS) throw serviceUnavailable(TOO_LATE, 1);
    const numbers = this.#taken.flatMap(({ guard }) => guard ?? []);
    return {
      guards: [...(place?.guards ?? []), ...numbers],
      async look(lost) {
        if (numbers.some(({ key }) => key === lost)) throw serviceUnavailable(TOO_LATE, 1);
        return [...((await place?.look(lost)) ?? []), ...numbers];
      },
    };
  }

  /** Releases the numbers that the latest attempt has allocated. */
  async revert(): Promise<void> {
    const taken = this.#taken;
    this.#taken = [];
    this.#releases = [];
    await leavingFailuresToRepair(taken.map((one) => () => one.revert()));
  }

  /** Called after the service was stored. */
  async finish(): Promise<void> {
    await leavingFailuresToRepair(this.#releases);
  }

  async #assignIps(service: JsonObject, existing: JsonObject | undefined, held: AllocatedValues): Promise<void> {
    const before = existing === undefined ? undefined : specOf(existing);
    const plan = planIpFamilies(specOf(service), before, kindContext(this.#context, this.#served));
    if (plan.errors.length > 0) throw this.#invalid(plan.errors);
    if (plan.isSettled) return;
    const { spec } = plan;
    service["spec"] = spec;
    const families = stringsAt(spec, "ipFamilies");
    const given = stringsAt(spec, "clusterIPs");
    if (given[0] === HEADLESS) return;
    // As kubernetes: errors show the list with an empty text for each address that the server chooses.
    const asked = families.map((_, index) => given[index] ?? "");
    const listed: string[] = [];
    for (const [index, family] of families.entries()) {
      const ip = asked[index] ?? "";
      listed.push(ip !== "" && held.ips.includes(ip) ? ip : await this.#takeIp(ip, asked, family));
    }
    spec["clusterIP"] = listed[0];
    spec["clusterIPs"] = listed;
  }

  async #takeIp(ip: string, asked: readonly string[], family: string): Promise<string> {
    const { usesServiceCidrs } = this.#allocators;
    const clusterIps = this.#allocators.clusterIps.find((one) => one.family === family);
    if (clusterIps === undefined) throw internalError(`no cluster IPs of the family ${family} are configured`);
    if (ip === "") {
      const number = await this.#takeAny(clusterIps);
      if (number === undefined)
        throw internalError(`failed to allocate a serviceIP${this.#forService()}: range is full`);
      return number;
    }
    const canonical = canonicalIp(ip) ?? ip;
    const rejection = (why: string): StatusError =>
      this.#invalid([invalidStrings("spec.clusterIPs", asked, `failed to allocate IP ${ip}: ${why}`, this.#served)]);
    if (clusterIps.ranges().every((range) => range.indexOf(canonical) === undefined)) {
      // Releases with ServiceCIDRs search for a ServiceCIDR that contains the IP; earlier releases, and dry runs, name one
      // range in the message.
      const text = clusterIps.ranges()[0]?.text;
      const before = `the provided IP (${ip}) is not in the valid range. The range of valid IPs is ${text}`;
      throw rejection(
        usesServiceCidrs && this.#mode === "allocate"
          ? "the provided network does not match the current range"
          : before,
      );
    }
    if (!(await this.#take(clusterIps, canonical))) throw rejection("provided IP is already allocated");
    return ip;
  }

  #forService(): string {
    return this.#served.gates.isOn("ServiceIPErrorNamesService") ? ` for Service "${this.#owner.name}"` : "";
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
   * Rejects unavailable ports before any port is allocated: a request may have thousands of ports, and all of
   * them would have to be released.
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
      if (!nodePorts.isFree(number)) {
        // The port may have just been released, so the cache must catch up.
        await nodePorts.record.read();
        if (!nodePorts.isFree(number)) throw this.#invalidNodePort(index, nodePort, ALREADY_ALLOCATED);
      }
      asked.add(nodePort);
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

  async #take(pool: NumberPool, number: string): Promise<boolean> {
    if (this.#mode === "suggest") return pool.isFree(number);
    const taken = await pool.take(number, this.#owner);
    if (taken !== undefined) this.#taken.push(taken);
    return taken !== undefined;
  }

  async #takeAny(pool: NumberPool): Promise<string | undefined> {
    if (this.#mode === "suggest") return pool.suggest();
    const taken = await pool.takeAny(this.#owner);
    if (taken !== undefined) this.#taken.push(taken);
    return taken?.number;
  }

  /** Prepares the release of the numbers that the service will not need, before it is stored. */
  async #noteDropped(before: AllocatedValues, after: AllocatedValues): Promise<void> {
    if (this.#mode === "suggest") return;
    const { clusterIps, nodePorts } = this.#allocators;
    const ips = before.ips.filter((ip) => !after.ips.includes(ip)).map((ip) => canonicalIp(ip) ?? ip);
    const ports = before.ports.filter((port) => !after.ports.includes(port)).map(String);
    // An address of a family that is no longer configured has no bit, only an IPAddress, which any allocator deletes.
    const allocatorOf = (ip: string): NumberPool | undefined =>
      clusterIps.find(({ family }) => family === familyOf(ip)) ?? clusterIps[0];
    this.#releases = await Promise.all([
      ...ips.flatMap((ip) => allocatorOf(ip)?.prepareRelease(ip, this.#owner) ?? []),
      ...ports.map((port) => nodePorts.prepareRelease(port, this.#owner)),
    ]);
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

function outOfRange({ range }: NodePorts): string {
  return `provided port is not in the valid range. The range of valid ports is ${range.text}`;
}

/** Ignores store errors, because the repair completes the work, and the request has already succeeded or failed. */
async function leavingFailuresToRepair(works: readonly (() => Promise<void>)[]): Promise<void> {
  await Promise.all(
    works.map(async (work) => {
      try {
        await work();
      } catch (thrown) {
        if (!(thrown instanceof StorageError || thrown instanceof StatusError)) throw thrown;
      }
    }),
  );
}

function internalError(why: string): StatusError {
  return new StatusError("InternalError", `Internal error occurred: ${why}`, {
    details: { causes: [{ message: why }] },
  });
}
