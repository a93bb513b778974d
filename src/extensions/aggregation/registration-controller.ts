/** Sees to it that local group versions have their APIServices. Runs on every server: each knows what it serves. */
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
  /** What this server serves by itself and what definitions say; without the group of APIServices. */
  readonly localGroupVersions: () => readonly LocalGroupVersion[];
  /** Another server of this cluster serves it: then its APIService is not this server's to delete. */
  readonly isServedElsewhere: (group: string, version: string) => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
}

export interface Registration {
  /** What is served locally may be something else now. */
  localChanged(): void;
  /** APIServices of built-in group versions that have not been seen available yet. Ends as an empty list, for good. */
  missing(): readonly string[];
  /** Until the signal aborts. Definitions must be known before, or what they brought would be taken for gone. */
  run(signal: AbortSignal): Promise<void>;
}

const WORKERS = 5;
/**
 * What this server does not know, another may have seen a moment before: two that differ would create and delete by
 * turns. DIFFERS: kube-apiserver deletes at once.
 */
const DELETE_AFTER_MS = 2_000;

export function createRegistration(options: RegistrationOptions): Registration {
  const { apiServices, clock, random, log } = options;
  const queue = new WorkQueue({ clock, random });
  const builtIn = options.localGroupVersions().filter(({ isCustom }) => !isCustom);
  const pending = new Set<string>(builtIn.map(apiServiceName));
  const work = createWork(options);
  let known = new Map<string, LocalGroupVersion>();

  const lookAtLocal = (): void => {
    const before = known;
    known = new Map(options.localGroupVersions().map((local) => [apiServiceName(local), local]));
    for (const name of new Set([...before.keys(), ...known.keys()])) queue.add(name);
  };
  const onSeen = (object: ApiServiceObject): void => {
    const { name = "" } = object.metadata ?? {};
    // One that leads elsewhere is somebody else's, and must not keep this server from starting.
    if (availableCondition(object)?.status === "True" || !isLocalApiService(object)) pending.delete(name);
    queue.add(name);
  };

  return {
    localChanged: lookAtLocal,
    missing: () => [...pending],
    async run(signal) {
      if (!(await apiServices.waitForSync(signal))) return;
      const atStart = new Set(apiServices.list().map(({ metadata }) => metadata?.name ?? ""));
      apiServices.addHandler({ onAdd: onSeen, onUpdate: onSeen, onDelete: onSeen });
      lookAtLocal();
      const task = "the registration of an APIService";
      const one = (name: string): Promise<{ againAfterMs: number } | undefined> =>
        work(name, { desired: known.get(name), wasThereAtStart: atStart.has(name) });
      await runWorkers({ queue, workers: WORKERS, work: one, log, task }, signal);
    },
  };
}

interface Seen {
  readonly desired: LocalGroupVersion | undefined;
  readonly wasThereAtStart: boolean;
}

function createWork(
  options: RegistrationOptions,
): (name: string, seen: Seen) => Promise<{ againAfterMs: number } | undefined> {
  const { apiServices, client } = options;
  const settled = new Set<string>();
  const waitToDelete = createPatience(options.clock);
  return async (name, seen) => {
    const current = apiServices.get({ name });
    const step = decideRegistration({ ...seen, current, isSettled: settled.has(name) });
    const isDeleting = step.kind === "delete" && !isElsewhere(options, step.object);
    const leftMs = waitToDelete(name, isDeleting);
    if (leftMs > 0) return { againAfterMs: leftMs };
    if (step.kind !== "delete" || isDeleting) await take(client, step);
    if (current === undefined && seen.desired === undefined && !seen.wasThereAtStart) settled.delete(name);
    else settled.add(name);
    return undefined;
  };
}

/** How long the deletion of a name must still wait, from when it was wanted first and ever since. */
function createPatience(clock: Clock): (name: string, isDeleting: boolean) => number {
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

/** Rejects when somebody was quicker, too: then it is looked at again. */
async function take(client: Client, step: RegistrationStep): Promise<void> {
  const apiServices = client.resource<ApiServiceObject>(API_SERVICES);
  if (step.kind === "create") await apiServices.create(step.object);
  if (step.kind === "update") await apiServices.replace(step.object);
  if (step.kind === "delete") {
    const { name = "", uid = "", resourceVersion = "" } = step.object.metadata ?? {};
    await apiServices.delete({ name }, { preconditions: { uid, resourceVersion } });
  }
}
