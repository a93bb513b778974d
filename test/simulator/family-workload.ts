/**
 * Simulated clients that give the garbage collector and the namespace controller work: they create owners and
 * dependents in namespaces, and delete owners and namespaces.
 */
import { randomInteger, randomItem, type Random } from "../../src/base/random.ts";
import { objectAt, parseJsonObject, stringAt } from "../../src/meta/json.ts";
import { FAMILY_TARGETS, familyPath, namespaceNamed, referenceTo, type Relative } from "./family-targets.ts";
import type { SimulatedCluster } from "../../src/tools/simulator/cluster.ts";
import { uidOf } from "./object-record.ts";
import type { Workload, WorkloadRequest } from "./workload.ts";

export interface FamilyWorkloadOptions {
  readonly cluster: SimulatedCluster;
  readonly random: Random;
  /** Sends the requests of these clients. */
  readonly workload: Pick<Workload, "request">;
  /** Average time between two requests. */
  readonly paceMs: number;
  readonly onFailure: (thrown: unknown) => void;
}

/** An object without owners. Every attempt to delete it uses the same propagation policy. */
interface Root extends Relative {
  readonly policy: "Background" | "Foreground" | "Orphan";
}

/** Maximum number of namespaces whose deletion has not been requested. */
const NAMESPACES_MAX = 2;

export class FamilyWorkload {
  readonly #options: FamilyWorkloadOptions;
  /** Names of namespaces whose deletion has not been requested. */
  readonly #namespaces: string[] = [];
  /** Names of namespaces whose deletion was requested and failed. */
  readonly #notDeleted: string[] = [];
  readonly #roots: Root[] = [];
  readonly #dependents: Relative[] = [];
  /** UIDs of all objects that have or had dependents. */
  readonly #owners = new Set<string>();
  #isStopped = false;
  #made = 0;

  constructor(options: FamilyWorkloadOptions) {
    this.#options = options;
  }

  start(): void {
    const { cluster, random, paceMs, onFailure } = this.#options;
    cluster.world.clock.after(2 * random.float() * paceMs, () => {
      if (this.#isStopped) return;
      this.#doSomething().catch(onFailure);
      this.start();
    });
  }

  stop(): void {
    this.#isStopped = true;
  }

  /** Forgets the objects that the store does not have since it was restored from a backup. */
  restore(): void {
    const { history } = this.#options.cluster;
    const uids = new Set(history.under("").map(([, object]) => uidOf(object)));
    const hasNamespace = (name: string): boolean => history.get(`namespaces/${name}`) !== undefined;
    keepOnly(this.#namespaces, hasNamespace);
    keepOnly(this.#roots, ({ uid }) => uids.has(uid));
    keepOnly(this.#dependents, ({ uid }) => uids.has(uid));
  }

  async #doSomething(): Promise<void> {
    if (this.#namespaces.length === 0) return this.#makeNamespace();
    const dice = randomInteger(this.#options.random, 20);
    if (dice === 0 && this.#namespaces.length < NAMESPACES_MAX) return this.#makeNamespace();
    if (dice === 1) return this.#deleteNamespace();
    if (dice < 6) return this.#deleteRoot();
    return dice < 10 || this.#roots.length === 0 ? this.#makeRoot() : this.#makeDependent();
  }

  async #makeNamespace(): Promise<void> {
    const namespace = namespaceNamed(`space-${++this.#made}`);
    if ((await this.#create(namespace, [])) !== undefined) this.#namespaces.push(namespace.name);
  }

  /**
   * Repeats a failed deletion of a namespace; if there is none, deletes the namespace with the most objects of these
   * clients.
   */
  async #deleteNamespace(): Promise<void> {
    const relatives = [...this.#roots, ...this.#dependents];
    const count = (name: string): number => relatives.filter(({ namespace }) => namespace === name).length;
    const fullest = this.#namespaces.toSorted((left, right) => count(right) - count(left))[0];
    const name = this.#notDeleted.shift() ?? fullest;
    if (name === undefined) return;
    this.#namespaces.splice(0, Infinity, ...this.#namespaces.filter((other) => other !== name));
    forget(this.#roots, name);
    forget(this.#dependents, name);
    if (!(await this.#delete(namespaceNamed(name), "Background"))) this.#notDeleted.push(name);
  }

  async #makeRoot(): Promise<void> {
    const { random } = this.#options;
    const policy = randomItem(random, ["Background", "Foreground", "Orphan"] as const);
    const target = randomItem(random, FAMILY_TARGETS);
    const namespace = target.isNamespaced ? randomItem(random, this.#namespaces) : "";
    const made = await this.#create({ target, namespace, name: this.#newName() }, []);
    if (made !== undefined) this.#roots.push({ ...made, policy });
  }

  /** Creates an object with one or two owners, which may be dependents themselves. */
  async #makeDependent(): Promise<void> {
    const { random } = this.#options;
    const owner = randomItem(random, [...this.#roots, ...this.#dependents]);
    const target = randomItem(
      random,
      FAMILY_TARGETS.filter(({ isNamespaced }) => isNamespaced || owner.namespace === ""),
    );
    const namespace = !target.isNamespaced ? "" : owner.namespace || randomItem(random, this.#namespaces);
    const others = this.#roots.filter(
      (root) => root !== owner && (root.namespace === "" || root.namespace === namespace),
    );
    const hasOther = others.length > 0 && randomInteger(random, 3) === 0;
    const owners = hasOther ? [owner, randomItem(random, others)] : [owner];
    const made = await this.#create({ target, namespace, name: this.#newName() }, owners);
    if (made === undefined) return;
    this.#dependents.push(made);
    for (const { uid } of owners) this.#owners.add(uid);
  }

  /**
   * Deletes an object without owners, preferably one with dependents. A rejected deletion can be repeated later; a
   * deletion without a response is not repeated.
   */
  async #deleteRoot(): Promise<void> {
    const { random } = this.#options;
    const owners = this.#roots.filter(({ uid }) => this.#owners.has(uid));
    const root = take(random, owners) ?? take(random, this.#roots);
    if (root === undefined) return;
    this.#roots.splice(0, Infinity, ...this.#roots.filter((other) => other !== root));
    if (!(await this.#delete(root, root.policy))) this.#roots.push(root);
  }

  async #create(object: Omit<Relative, "uid">, owners: readonly Relative[]): Promise<Relative | undefined> {
    const { target, name } = object;
    const ownerReferences = owners.map((owner) => referenceTo(owner, randomInteger(this.#options.random, 3) > 0));
    const metadata = { name, ...(owners.length > 0 && { ownerReferences }) };
    const { status, text } = await this.#request({
      ...{ method: "POST", path: familyPath(target, { ...object, name: "" }), resource: target, name },
      body: { metadata, ...target.body },
    });
    const uid = stringAt(objectAt(parseJsonObject(text) ?? {}, "metadata"), "uid");
    return status === 201 && uid !== "" ? { ...object, uid } : undefined;
  }

  /** True if the deletion was accepted, or the object does not exist. */
  async #delete(goner: Omit<Relative, "uid">, propagationPolicy: Root["policy"]): Promise<boolean> {
    const { target, name } = goner;
    const path = familyPath(target, goner);
    const body = { propagationPolicy };
    const { status, unknown } = await this.#request({ method: "DELETE", path, resource: target, name, body });
    return status === 200 || unknown === "object";
  }

  async #request(request: WorkloadRequest): ReturnType<Workload["request"]> {
    const { cluster, random, workload } = this.#options;
    const running = cluster.servers.filter(({ run }) => run !== undefined);
    if (running.length === 0) return { status: 503, unknown: undefined, text: "" };
    return workload.request(randomItem(random, running), request);
  }

  #newName(): string {
    return `relative-${++this.#made}`;
  }
}

function keepOnly<T>(items: T[], isKept: (item: T) => boolean): void {
  items.splice(0, Infinity, ...items.filter(isKept));
}

/** Removes the objects of this namespace from the list, because they are deleted with it. */
function forget(relatives: Relative[], namespace: string): void {
  for (let index = relatives.length - 1; index >= 0; index--)
    if (relatives[index]!.namespace === namespace) relatives.splice(index, 1);
}

function take<T>(random: Random, from: T[]): T | undefined {
  return from.splice(randomInteger(random, from.length), 1)[0];
}
