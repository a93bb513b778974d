/** Computes the API differences between the servers of a cluster, for the summary and its example command. */
import { resolveRelease } from "../../../objects/catalog/release-options.ts";
import type { ServerSpec } from "./server-spec.ts";

interface SpecOfServer {
  readonly id: string;
  readonly spec: ServerSpec;
}

interface Served {
  readonly groupVersion: string;
  readonly resource: string;
  readonly isListed: boolean;
}

/**
 * The group versions or single resources that a server serves and at least one other server does not, and those that it
 * lacks and another serves.
 */
export interface Difference {
  readonly has: readonly string[];
  readonly lacks: readonly string[];
}

interface SkewExample {
  /** The resource in the form for kubectl, such as `deviceclasses.v1.resource.k8s.io`. */
  readonly resource: string;
  /** The server that receives the request and does not serve the resource. */
  readonly through: SpecOfServer;
  /** The server that serves the resource. */
  readonly from: SpecOfServer;
}

export class Skew {
  readonly #servers: readonly SpecOfServer[];
  readonly #served: ReadonlyMap<string, ReadonlyMap<string, Served>>;
  readonly #all: ReadonlyMap<string, Served>;

  constructor(servers: readonly SpecOfServer[], featureGates: readonly string[]) {
    this.#servers = servers;
    const bySpec = new Map(servers.map(({ spec }) => [spec.text, servedBy(spec, featureGates)]));
    this.#served = new Map(servers.map(({ id, spec }) => [id, bySpec.get(spec.text) ?? new Map<string, Served>()]));
    this.#all = new Map([...bySpec.values()].flatMap((served) => [...served]));
  }

  differenceOf(id: string): Difference {
    const own = this.#served.get(id) ?? new Map<string, Served>();
    const common = [...this.#all].filter(([name]) => [...this.#served.values()].every((served) => served.has(name)));
    const isCommon = new Set(common.map(([name]) => name));
    return {
      has: this.#names([...own].filter(([name]) => !isCommon.has(name))),
      lacks: this.#names([...this.#all].filter(([name]) => !own.has(name))),
    };
  }

  /** A resource that one server serves and another does not; undefined if there is none. */
  example(): SkewExample | undefined {
    const candidates = [...this.#all].filter(([, { isListed }]) => isListed).sort(([, a], [, b]) => rank(a) - rank(b));
    for (const [name, { groupVersion, resource }] of candidates) {
      const has = (server: SpecOfServer): boolean => this.#served.get(server.id)?.has(name) === true;
      const from = this.#servers.find(has);
      const through = this.#servers.find((server) => !has(server));
      if (from !== undefined && through !== undefined)
        return { resource: kubectlName(groupVersion, resource), through, from };
    }
    return undefined;
  }

  /** Lists resources by name. If all resources of a group version are included, lists the group version instead. */
  #names(served: readonly (readonly [string, Served])[]): string[] {
    const byVersion = Map.groupBy(served, ([, { groupVersion }]) => groupVersion);
    return [...byVersion].flatMap(([groupVersion, some]) => {
      const whole = [...this.#all.values()].filter((one) => one.groupVersion === groupVersion).length;
      return some.length === whole ? [groupVersion] : some.map(([name]) => name);
    });
  }
}

function servedBy({ release, runtimeConfig }: ServerSpec, featureGates: readonly string[]): Map<string, Served> {
  const { groups } = resolveRelease({ release, runtimeConfig, featureGates }).catalog;
  const served = new Map<string, Served>();
  for (const { name, resources } of groups) {
    for (const { resource, versions } of resources) {
      for (const { version, verbs } of versions) {
        const groupVersion = name === "" ? version : `${name}/${version}`;
        served.set(`${groupVersion}/${resource}`, { groupVersion, resource, isListed: verbs.includes("list") });
      }
    }
  }
  return served;
}

/** Sort key of a resource for the example: stable versions come first, because users know them best. */
function rank({ groupVersion, resource }: Served): number {
  const maturity = groupVersion.includes("alpha") ? 2 : groupVersion.includes("beta") ? 1 : 0;
  return maturity * 10 + (resource === "deviceclasses" || resource === "jobs" ? 0 : 1);
}

function kubectlName(groupVersion: string, resource: string): string {
  const [group, version] = groupVersion.split("/");
  return version === undefined ? resource : `${resource}.${version}.${group}`;
}
