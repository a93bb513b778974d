/**
 * The CRD controller: decides which CRDs are established, deletes the instances of a deleted CRD, and then removes the
 * finalizer of the CRD. It runs on every server; the first server writes its decision, and the others then find nothing
 * to do.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { messageOf } from "../../base/within.ts";
import { WorkQueue } from "../../base/work-queue.ts";
import type { Client } from "../../client/client.ts";
import type { ResourceType, UnstructuredObject } from "../../client/objects.ts";
import type { ResourceClient } from "../../client/resource-client.ts";
import { isJsonObject, jsonEquals, objectAt, stringsAt } from "../../meta/json.ts";
import { isReason } from "../../meta/status-error.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import type { Guard } from "../../storage/kv.ts";
import type { CrdTable } from "./crd-table.ts";
import { parseCrd, type Crd } from "./crd.ts";
import type { NamesTurn } from "./names-turn.ts";
import { decidedStatus, takenNames, terminating, withCrdConditions, type CrdCondition } from "./status.ts";

export const DEFINITION_TYPE: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
  namespaced: false,
};

const CLEANUP_FINALIZER = "customresourcecleanup.apiextensions.k8s.io";

interface CrdControllerOptions {
  readonly table: CrdTable;
  readonly client: Client;
  /** Returns a client whose puts the store commits only if the guard holds; otherwise they get 409. */
  readonly clientUnder: (guard: Guard) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly turn: Pick<NamesTurn, "guard" | "isAnothers" | "take" | "drop">;
  /** Reads the newest CRDs from the store into the table. */
  readonly readNewest: () => Promise<void>;
  /**
   * Whether the instances are stored under the prefix of a built-in resource. Such instances must not be deleted with
   * the CRD.
   */
  readonly isBuiltInStorage: (group: string, resource: string) => boolean;
  /**
   * Deletes the stored instances, even if no version is served. Resolves to the number of remaining instances, for
   * example those with finalizers.
   */
  readonly deleteInstances: (definition: Crd, signal: AbortSignal) => Promise<number>;
}

interface Decision {
  /** The CRD with the decided status. */
  readonly object: UnstructuredObject;
  readonly acceptsNames: boolean;
}

const IN_PROGRESS = terminating("True", "InstanceDeletionInProgress", "CustomResource deletion is in progress");

const FAILED = "InstanceDeletionFailed";

const WORKERS = 4;
const RETRY_MS_MAX = 30_000;
const REQUEST_TIMEOUT_MS = 10_000;
/** Interval at which the controller checks whether instances with finalizers are gone. */
const LOOK_AGAIN_MS = 1_000;
/**
 * How long this server waits for the server whose turn it is to accept names, before it takes the turn. Doubled by each
 * further wait for the same CRD, so that servers on a slow store do not take the turn from each other forever.
 */
const YIELD_MS = 100;
const YIELD_DOUBLINGS_MAX = 6;

export class CrdController {
  readonly #options: CrdControllerOptions;
  readonly #definitions: ResourceClient<UnstructuredObject>;
  readonly #queue: WorkQueue;
  #lastDecision: Promise<unknown> = Promise.resolve();
  /** Statuses that this controller has written and that the watch has not delivered yet, by name of the CRD. */
  readonly #decided = new Map<string, Crd>();
  /** Number of waits for the server whose turn it is, by name of the CRD. */
  readonly #yields = new Map<string, number>();

  constructor(options: CrdControllerOptions) {
    const { client, clock, random, table } = options;
    this.#options = options;
    this.#definitions = client.resource<UnstructuredObject>(DEFINITION_TYPE);
    this.#queue = new WorkQueue({ clock, random, retryMsMax: RETRY_MS_MAX });
    table.onChange(({ before, after }) => {
      const decided = this.#decided.get((before ?? after)?.name ?? "");
      if (decided !== undefined && !isOlder(after, decided)) this.#decided.delete(decided.name);
      if (after === undefined || !this.#isDue(after)) this.#yields.delete((before ?? after)?.name ?? "");
      if (after !== undefined && !(before?.isBeingDeleted === true && after.isBeingDeleted))
        this.#queue.add(after.name);
      if (before !== undefined && hasFreedNames(before, after)) this.#reconsider(before.group);
    });
  }

  run(signal: AbortSignal): Promise<void> {
    return this.#queue.run(WORKERS, (name) => this.#work(name, signal), signal);
  }

  /** Queues the other CRDs of the group that lack a name, because names have become free. */
  #reconsider(group: string): void {
    for (const crd of this.#options.table.definitions())
      if (crd.group === group && crd.areNamesAccepted !== true) this.#queue.add(crd.name);
  }

  async #work(name: string, signal: AbortSignal): Promise<void> {
    try {
      await this.#look(name, signal);
      this.#queue.forget(name);
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) this.#queue.forget(name);
      else if (isReason(thrown, "Conflict")) this.#overtaken(name);
      else if (!signal.aborted) this.#failed(name, thrown);
      else this.#queue.add(name);
    }
  }

  /**
   * Handles a conflict with another writer, whose change arrives through the watch and queues the CRD again. The watch
   * does not queue a CRD that was already being deleted, so such a CRD is retried here.
   */
  #overtaken(name: string): void {
    if (this.#options.table.get(name)?.definition.isBeingDeleted === true) this.#queue.addRateLimited(name);
    else this.#queue.forget(name);
  }

  #failed(name: string, thrown: unknown): void {
    this.#options.log.warn("failed to reconcile a custom resource definition", {
      name,
      error: messageOf(thrown),
    });
    this.#queue.addRateLimited(name);
  }

  async #look(name: string, signal: AbortSignal): Promise<void> {
    const known = this.#options.table.get(name)?.definition;
    if (known === undefined || !this.#isDue(known)) return;
    if (!known.isBeingDeleted) return this.#inTurn(() => this.#decide(name, signal));
    const object = await this.#get(name, signal);
    const crd = parseCrd(object);
    if (crd.isBeingDeleted) await this.#finalize(object, crd, signal);
  }

  /**
   * Runs decisions one after the other. If two CRDs request the same name, the second decision must see that the first
   * CRD has it.
   */
  #inTurn(decide: () => Promise<void>): Promise<void> {
    const decided = this.#lastDecision.then(decide);
    this.#lastDecision = decided.catch(() => undefined);
    return decided;
  }

  async #decide(name: string, signal: AbortSignal): Promise<void> {
    const object = await this.#get(name, signal);
    const definition = parseCrd(object);
    // Nothing to decide; the deletion queues the CRD again.
    if (definition.isBeingDeleted) return;
    const decision = this.#decisionOn(object, definition);
    if (decision?.acceptsNames !== true) return this.#writeDecision(decision, signal);
    const guard = this.#options.turn.guard ?? (await this.#takeTurn(name));
    // Decides again, because another server may have accepted one of the names before this server took the turn.
    if (guard !== undefined) await this.#acceptNames(this.#decisionOn(object, definition), guard, signal);
  }

  #decisionOn(object: UnstructuredObject, definition: Crd): Decision | undefined {
    const taken = takenNames(definition.group, this.#others(definition.name));
    const status = decidedStatus(object, { definition, taken, now: this.#now() });
    if (status === undefined) return undefined;
    const acceptsNames = !jsonEquals(
      objectAt(status, "acceptedNames"),
      objectAt(objectAt(object, "status"), "acceptedNames"),
    );
    return { object: { ...object, status }, acceptsNames };
  }

  /** Takes the turn to accept names and reads the newest CRDs. Otherwise queues the CRD again. */
  async #takeTurn(name: string): Promise<Guard | undefined> {
    const { turn, readNewest } = this.#options;
    if ((turn.isAnothers && !this.#yields.has(name)) || !(await turn.take())) {
      this.#yield(name);
      return undefined;
    }
    try {
      await readNewest();
      return turn.guard;
    } catch (thrown) {
      turn.drop();
      throw thrown;
    }
  }

  #yield(name: string): void {
    const yields = this.#yields.get(name) ?? 0;
    this.#yields.set(name, yields + 1);
    const waitMs = YIELD_MS * 2 ** Math.min(yields, YIELD_DOUBLINGS_MAX);
    this.#queue.addAfter(name, waitMs * (1 + this.#options.random.float()));
  }

  async #acceptNames(decision: Decision | undefined, guard: Guard, signal: AbortSignal): Promise<void> {
    const { turn, clientUnder } = this.#options;
    try {
      const crds = clientUnder(guard).resource<UnstructuredObject>(DEFINITION_TYPE);
      await this.#writeDecision(decision, signal, crds);
    } catch (thrown) {
      // The write may have succeeded, or another server has taken the turn.
      turn.drop();
      this.#yield(decision?.object.metadata?.name ?? "");
      throw thrown;
    }
  }

  async #writeDecision(
    decision: Decision | undefined,
    signal: AbortSignal,
    crds: ResourceClient<UnstructuredObject> = this.#definitions,
  ): Promise<void> {
    if (decision === undefined) return;
    const written = parseCrd(await crds.replaceStatus(decision.object, { signal, timeoutMs: REQUEST_TIMEOUT_MS }));
    const known = this.#options.table.get(written.name)?.definition;
    if (isOlder(known, written)) this.#decided.set(written.name, written);
  }

  #others(name: string): Crd[] {
    const known = this.#options.table.definitions().filter((other) => other.name !== name);
    return known.map((other) => this.#decided.get(other.name) ?? other);
  }

  #get(name: string, signal: AbortSignal): Promise<UnstructuredObject> {
    return this.#definitions.get({ name }, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  }

  /** Checked for every CRD after each of its changes. Most changes need no reconciliation. */
  #isDue({ isBeingDeleted, names, acceptedNames, areNamesAccepted, isEstablished }: Crd): boolean {
    if (isBeingDeleted || areNamesAccepted !== true || !isEstablished) return true;
    return JSON.stringify(names) !== JSON.stringify(acceptedNames);
  }

  #write(object: UnstructuredObject, signal: AbortSignal): Promise<UnstructuredObject> {
    return this.#definitions.replaceStatus(object, { signal, timeoutMs: REQUEST_TIMEOUT_MS });
  }

  async #finalize(object: UnstructuredObject, definition: Crd, signal: AbortSignal): Promise<void> {
    const finalizers = stringsAt(objectAt(object, "metadata"), "finalizers");
    if (!finalizers.includes(CLEANUP_FINALIZER)) return;
    const begun = hasFailed(object) ? object : await this.#writeCondition(object, IN_PROGRESS, signal);
    const outcome = await this.#deleteInstances(definition, signal);
    if (outcome === "wait") {
      await this.#writeCondition(begun, IN_PROGRESS, signal);
      return this.#queue.addAfter(definition.name, LOOK_AGAIN_MS);
    }
    if (outcome.status === "True") {
      await this.#writeCondition(begun, outcome, signal);
      throw new Error(outcome.message);
    }
    const done = this.#with(begun, outcome);
    const left = finalizers.filter((finalizer) => finalizer !== CLEANUP_FINALIZER);
    await this.#write({ ...done, metadata: { ...done.metadata, finalizers: left } }, signal);
  }

  /** Returns the resulting condition, or "wait" while instances remain. */
  async #deleteInstances(definition: Crd, signal: AbortSignal): Promise<CrdCondition | "wait"> {
    const { group, acceptedNames, isEstablished } = definition;
    const { isBuiltInStorage, deleteInstances } = this.#options;
    if (isBuiltInStorage(group, acceptedNames.plural))
      return terminating("False", "OverlappingBuiltInResource", "instances overlap with built-in resources in storage");
    if (!isEstablished) return terminating("False", "NeverEstablished", "resource was never established");
    try {
      const left = await deleteInstances(definition, signal);
      return left > 0 ? "wait" : terminating("False", "InstanceDeletionCompleted", "removed all instances");
    } catch (thrown) {
      return terminating("True", FAILED, `could not issue all deletes: ${messageOf(thrown)}`);
    }
  }

  /** Writes the condition only if it differs, because every write causes another reconciliation. */
  async #writeCondition(
    object: UnstructuredObject,
    condition: CrdCondition,
    signal: AbortSignal,
  ): Promise<UnstructuredObject> {
    const reported = this.#with(object, condition);
    return jsonEquals(reported, object) ? object : this.#write(reported, signal);
  }

  #with(object: UnstructuredObject, condition: CrdCondition): UnstructuredObject {
    const status = withCrdConditions(objectAt(object, "status"), [condition], this.#now());
    return { ...object, status };
  }

  #now(): string {
    return timestampAt(this.#options.clock.now());
  }
}

/** True if an earlier attempt failed. The in-progress condition is then not written again at each attempt. */
function hasFailed(object: UnstructuredObject): boolean {
  const { conditions } = objectAt(object, "status");
  return Array.isArray(conditions) && conditions.some((one) => isJsonObject(one) && one["reason"] === FAILED);
}

function isOlder(known: Crd | undefined, decided: Crd): boolean {
  return known !== undefined && Number(known.resourceVersion) < Number(decided.resourceVersion);
}

function hasFreedNames(before: Crd | undefined, after: Crd | undefined): boolean {
  if (before === undefined) return false;
  return after === undefined || JSON.stringify(before.acceptedNames) !== JSON.stringify(after.acceptedNames);
}
