/**
 * Registers an APIService for every group version that this server serves itself. Runs on every server, because each
 * knows only its own group versions.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Random } from "../../base/random.ts";
import { WorkQueue } from "../../base/work-queue.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import { stringAt } from "../../meta/json.ts";
import { API_SERVICES, availableCondition, isLocalApiService, type ApiServiceObject } from "./api-service.ts";
import { apiServiceName, decideRegistration, type LocalGroupVersion, type RegistrationStep } from "./registration.ts";
import { runWorkers } from "./workers.ts";

export interface RegistrationOptions {
  readonly client: Client;
  readonly apiServices: Informer<ApiServiceObject>;
  /** The group versions that this server serves itself, built in or by CRDs, without apiregistration.k8s.io. */
  readonly localGroupVersions: () => readonly LocalGroupVersion[];
  /** Whether a peer serves the group version. If so, this server must not delete the APIService. */
  readonly isServedElsewhere: (group: string, version: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Registration {
  /** Must be called when the local group versions change. */
  localChanged(): void;
  /**
   * APIServices of built-in group versions that have not become available yet. Once the list is empty, it stays empty.
   */
  missing(): readonly string[];
  /**
   * Runs until the signal aborts. Must be called after CRDs have loaded; otherwise the APIServices of their group
   * versions would be deleted.
   */
  run(signal: AbortSignal): Promise<void>;
}

const WORKERS = 5;
/**
 * Delay before an APIService is deleted. Another server may already have seen a new CRD that this server has not;
 * without the delay, one would create the APIService and the other would delete it. DIFFERS: kube-apiserver deletes at
 * once.
 */
const DELETE_AFTER_MS = 2_000;

export function createRegistration(options: RegistrationOptions): Registration {
  const { apiServices, clock, random, log } = options;
  const queue = new WorkQueue({ clock, random });
  const builtIn = options.localGroupVersions().filter(({ isCustom }) => !isCustom);
  const pending = new Set<string>(builtIn.map(apiServiceName));
  const work = createWork(options);
  let known = new Map<string, LocalGroupVersion>();
  /** The APIServices that existed when this server started; undefined until they have loaded. */
  let atStart: ReadonlySet<string> | undefined;

  const lookAtLocal = (): void => {
    const before = known;
    known = new Map(options.localGroupVersions().map((local) => [apiServiceName(local), local]));
    for (const name of new Set([...before.keys(), ...known.keys()])) queue.add(name);
  };
  const onSeen = (object: ApiServiceObject): void => {
    const { name = "" } = object.metadata ?? {};
    // An APIService with a Service belongs to a user, so it never counts as missing.
    if (availableCondition(object)?.status === "True" || !isLocalApiService(object)) pending.delete(name);
    queue.add(name);
  };

  return {
    localChanged: lookAtLocal,
    missing: () => [...pending],
    async run(signal) {
      if (!(await apiServices.waitForSync(signal))) return;
      const existed = (atStart ??= new Set(apiServices.list().map(({ metadata }) => metadata?.name ?? "")));
      const registered = apiServices.addHandler({ onAdd: onSeen, onUpdate: onSeen, onDelete: onSeen });
      lookAtLocal();
      const task = "registration of an APIService";
      const one = (name: string): Promise<{ againAfterMs: number } | undefined> =>
        work(name, { desired: known.get(name), existedAtStart: existed.has(name) });
      try {
        await runWorkers({ queue, workers: WORKERS, work: one, log, task }, signal);
      } finally {
        await registered.remove();
      }
    },
  };
}

interface Seen {
  readonly desired: LocalGroupVersion | undefined;
  readonly existedAtStart: boolean;
}

function createWork(
  options: RegistrationOptions,
): (name: string, seen: Seen) => Promise<{ againAfterMs: number } | undefined> {
  const { apiServices, client } = options;
  const settled = new Set<string>();
  const waitToDelete = createDeletionDelay(options.clock);
  return async (name, seen) => {
    const current = apiServices.get({ name });
    const step = decideRegistration({ ...seen, current, isSettled: settled.has(name) });
    const isDeleting = step.kind === "delete" && !isElsewhere(options, step.object);
    const leftMs = waitToDelete(name, isDeleting);
    if (leftMs > 0) return { againAfterMs: leftMs };
    if (step.kind !== "delete" || isDeleting) await applyStep(client, step);
    if (current === undefined && seen.desired === undefined && !seen.existedAtStart) settled.delete(name);
    else settled.add(name);
    return undefined;
  };
}

/**
 * Returns the remaining delay before an APIService is deleted. The delay starts when the deletion is first decided, and
 * starts again if the APIService was needed in between.
 */
function createDeletionDelay(clock: Clock): (name: string, isDeleting: boolean) => number {
  const sinceMs = new Map<string, number>();
  return (name, isDeleting) => {
    const nowMs = clock.monotonic();
    const since = sinceMs.get(name) ?? nowMs;
    const leftMs = isDeleting ? Math.max(0, since + DELETE_AFTER_MS - nowMs) : 0;
    if (leftMs > 0) sinceMs.set(name, since);
    else sinceMs.delete(name);
    return leftMs;
  };
}

function isElsewhere({ isServedElsewhere }: RegistrationOptions, { spec = {} }: ApiServiceObject): boolean {
  return isServedElsewhere(stringAt(spec, "group"), stringAt(spec, "version"));
}

/**
 * Rejects if the request fails, or if another writer has changed the object; the APIService is then reconciled again.
 */
async function applyStep(client: Client, step: RegistrationStep): Promise<void> {
  const apiServices = client.resource<ApiServiceObject>(API_SERVICES);
  if (step.kind === "create") await apiServices.create(step.object);
  if (step.kind === "update") await apiServices.replace(step.object);
  if (step.kind === "delete") {
    const { name = "", uid = "", resourceVersion = "" } = step.object.metadata ?? {};
    await apiServices.delete({ name }, { preconditions: { uid, resourceVersion } });
  }
}
