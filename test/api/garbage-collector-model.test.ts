/**
 * Compares the garbage collector with a simple model: a test creates objects with random owners, then deletes objects
 * and injects faults in random order. Links are slow, so that requests and events can overtake each other.
 */
import fc from "fast-check";
import { expect, test } from "vitest";
import { assert } from "../../src/base/assert.ts";
import { BadLink, type Fault } from "../testing/cluster/controllers/garbage-collector/bad-link.ts";
import { ManualResources } from "../testing/cluster/controllers/garbage-collector/manual-resources.ts";
import { RunningCollector } from "../testing/cluster/controllers/garbage-collector/running-collector.ts";
import { localGroups } from "../../src/serving/discovery/local.ts";
import { resourcesOf } from "../../src/cluster/controllers/merge-cluster-resources.ts";
import { startServer, type Json, type TestServer } from "./start.ts";

const RUNS = 25;
const RESOURCES = ["configmaps", "secrets", "serviceaccounts", "clusterroles"] as const;
const KINDS = {
  configmaps: "ConfigMap",
  secrets: "Secret",
  serviceaccounts: "ServiceAccount",
  clusterroles: "ClusterRole",
};
type Resource = (typeof RESOURCES)[number];

interface Planned {
  readonly resource: Resource;
  /** Indexes of the owners in `objects`, modulo the number of objects. */
  readonly owners: readonly number[];
  readonly blocks: boolean;
  /** True if the object also has an owner that never existed. */
  readonly hasDeadOwner: boolean;
}

type Step =
  | { readonly kind: "delete"; readonly index: number; readonly policy: "Background" | "Foreground" | "Orphan" }
  | { readonly kind: "advance"; readonly ms: number }
  | { readonly kind: "fail"; readonly resource: Resource; readonly fault: Fault }
  | { readonly kind: "heal" }
  | { readonly kind: "restart" };

interface Plan {
  readonly objects: readonly Planned[];
  readonly steps: readonly Step[];
  readonly latencyMsMax: number;
  readonly seed: number;
}

/**
 * Generates plans. With Orphan, `ownersMax` must be 1: then the set of orphans does not depend on the order of events.
 */
function plans(ownersMax: number, policies: readonly ("Background" | "Foreground" | "Orphan")[]): fc.Arbitrary<Plan> {
  const object = fc.record({
    resource: fc.constantFrom(...RESOURCES),
    owners: fc.uniqueArray(fc.nat(9), { maxLength: ownersMax }),
    blocks: fc.boolean(),
    hasDeadOwner: ownersMax > 1 ? fc.boolean() : fc.constant(false),
  });
  const step = fc.oneof(
    fc.record({ kind: fc.constant("delete" as const), index: fc.nat(9), policy: fc.constantFrom(...policies) }),
    fc.record({ kind: fc.constant("advance" as const), ms: fc.constantFrom(0, 5, 40, 300, 3_000) }),
    fc.record({
      kind: fc.constant("fail" as const),
      resource: fc.constantFrom(...RESOURCES),
      fault: fc.constantFrom("unavailable" as const, "not-served" as const, "broken" as const),
    }),
    fc.constant({ kind: "heal" as const }),
    fc.constant({ kind: "restart" as const }),
  );
  return fc.record({
    objects: fc.array(object, { minLength: 2, maxLength: 9 }),
    steps: fc.array(step, { minLength: 1, maxLength: 14 }),
    latencyMsMax: fc.constantFrom(0, 10, 200),
    seed: fc.nat(1_000_000),
  });
}

class Play implements AsyncDisposable {
  readonly #api: TestServer;
  readonly #plan: Plan;
  readonly #link: BadLink;
  readonly #resources: ManualResources;
  #collector: RunningCollector;
  readonly #made: Json[] = [];
  /** Index and propagation policy of each object that the test itself has deleted. */
  readonly #deleted = new Map<number, string>();

  constructor(api: TestServer, plan: Plan) {
    const { world, server } = api;
    this.#api = api;
    this.#plan = plan;
    this.#link = new BadLink(server.transport, { clock: world.clock, random: world.randomFor("link") });
    this.#link.latencyMsMax = plan.latencyMsMax;
    this.#resources = new ManualResources(resourcesOf(localGroups(server.catalog)));
    this.#collector = this.#start();
  }

  async run(): Promise<{ readonly left: number[]; readonly expected: number[] }> {
    await this.#api.world.advance(2_000);
    await this.#make();
    for (const step of this.#plan.steps) await this.#do(step);
    await this.#do({ kind: "heal" });
    await this.#api.world.advance(200_000);
    return { left: await this.#left(), expected: this.#expected() };
  }

  #start(): RunningCollector {
    return new RunningCollector({ world: this.#api.world, transport: this.#link, resources: this.#resources });
  }

  async #make(): Promise<void> {
    for (const [index, { resource }] of this.#plan.objects.entries()) {
      const rules = resource === "clusterroles" ? { rules: [] } : {};
      const object = {
        apiVersion: apiVersion(resource),
        kind: KINDS[resource],
        metadata: { name: `o${index}` },
        ...rules,
      };
      const { body, status } = await this.#api.create(path(resource), object);
      assert(status === 201, "the object exists");
      this.#made.push(body);
    }
    for (const [index, { resource }] of this.#plan.objects.entries()) {
      const ownerReferences = this.#references(index);
      const { status } = await this.#api.mergePatch(`${path(resource)}/o${index}`, { metadata: { ownerReferences } });
      assert(status === 200, "it has its owners");
    }
  }

  /**
   * The planned owners without those that the collector ignores: a cluster-scoped object cannot have a namespaced
   * owner.
   */
  #owners(index: number): number[] {
    const { objects } = this.#plan;
    const { resource, owners } = objects[index]!;
    const all = [...new Set(owners.map((owner) => owner % objects.length))];
    return resource === "clusterroles" ? all.filter((owner) => objects[owner]!.resource === "clusterroles") : all;
  }

  #references(index: number): Json[] {
    const { blocks, hasDeadOwner } = this.#plan.objects[index]!;
    const living = this.#owners(index).map((owner) => {
      const { apiVersion: version, kind, metadata } = this.#made[owner];
      return { apiVersion: version, kind, name: metadata.name, uid: metadata.uid, blockOwnerDeletion: blocks };
    });
    const dead = { apiVersion: "rbac.authorization.k8s.io/v1", kind: "ClusterRole", name: "never", uid: "never-was" };
    return hasDeadOwner ? [...living, dead] : living;
  }

  async #do(step: Step): Promise<void> {
    switch (step.kind) {
      case "advance":
        return this.#api.world.advance(step.ms);
      case "fail":
        return this.#link.fail(step.resource, step.fault);
      case "heal":
        this.#link.faults.clear();
        return this.#resources.change({});
      case "restart":
        await this.#collector.stop();
        this.#collector = this.#start();
        return undefined;
      case "delete":
        return this.#delete(step.index % this.#plan.objects.length, step.policy);
    }
  }

  /** Deletes the object, unless it is already being deleted and therefore keeps its first policy. */
  async #delete(index: number, propagationPolicy: string): Promise<void> {
    const target = `${path(this.#plan.objects[index]!.resource)}/o${index}`;
    const { status, body } = await this.#api.get(target);
    if (status !== 200 || body.metadata.deletionTimestamp !== undefined) return;
    const { uid, resourceVersion } = body.metadata;
    const deleted = await this.#api.delete(target, { propagationPolicy, preconditions: { uid, resourceVersion } });
    if (deleted.status === 200) this.#deleted.set(index, propagationPolicy);
  }

  async #left(): Promise<number[]> {
    const left: number[] = [];
    for (const [index, { resource }] of this.#plan.objects.entries()) {
      const { status, body } = await this.#api.get(`${path(resource)}/o${index}`);
      if (status !== 200) continue;
      left.push(index);
      assert(body.metadata.deletionTimestamp === undefined, `o${index} is being deleted and is not removed`);
    }
    return left;
  }

  #expected(): number[] {
    const gone = new Set(this.#deleted.keys());
    const { objects } = this.#plan;
    const isGone = (index: number): boolean => {
      const owners = this.#owners(index);
      const hasOwners = owners.length > 0 || objects[index]!.hasDeadOwner;
      return hasOwners && owners.every((owner) => gone.has(owner) && this.#deleted.get(owner) !== "Orphan");
    };
    for (let size = -1; size !== gone.size;) {
      size = gone.size;
      for (const index of objects.keys()) if (isGone(index)) gone.add(index);
    }
    return [...objects.keys()].filter((index) => !gone.has(index));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#collector.stop();
    await this.#api[Symbol.asyncDispose]();
  }
}

function apiVersion(resource: Resource): string {
  return resource === "clusterroles" ? "rbac.authorization.k8s.io/v1" : "v1";
}

function path(resource: Resource): string {
  if (resource === "clusterroles") return "/apis/rbac.authorization.k8s.io/v1/clusterroles";
  return `/api/v1/namespaces/default/${resource}`;
}

async function play(plan: Plan): Promise<void> {
  await using run = new Play(await startServer({ seed: plan.seed }), plan);
  const { left, expected } = await run.run();
  expect(left).toEqual(expected);
}

test("objects with a live owner stay, and objects whose owners are all deleted are deleted", async () => {
  await fc.assert(fc.asyncProperty(plans(3, ["Background", "Foreground"]), play), { numRuns: RUNS });
}, 120_000);

test("orphans stay, even if the owner of their owner is deleted", async () => {
  await fc.assert(fc.asyncProperty(plans(1, ["Background", "Foreground", "Orphan"]), play), { numRuns: RUNS });
}, 120_000);
