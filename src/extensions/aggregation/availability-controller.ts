/**
 * Checks the availability of every APIService. Each server checks which aggregated servers it can reach itself, and
 * proxies only to these. One server also writes its results to the status of the objects.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { MetricsRegistry } from "../../base/metrics.ts";
import type { Random } from "../../base/random.ts";
import { WorkQueue } from "../../base/work-queue.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import { isReason } from "../../meta/status-error.ts";
import { jsonEquals } from "../../meta/json.ts";
import { timestampAt } from "../../meta/timestamp.ts";
import {
  API_SERVICES,
  BY_SERVICE,
  isLocalApiService,
  LOCAL_CONDITION,
  remoteApiService,
  statusWith,
  type ApiServiceObject,
  type ApiServiceCondition,
} from "./api-service.ts";
import type { CallServer } from "./call-server.ts";
import { discoveryCheck, unavailableCondition } from "./availability.ts";
import type { ResolveService } from "./proxy.ts";
import type { ServiceDirectory } from "../../access/webhook-client/service-directory.ts";
import type { ServiceOverrides } from "../../access/webhook-client/service-resolver.ts";
import { runWorkers } from "./workers.ts";

interface AvailabilityOptions {
  readonly client: Client;
  /** Must have the index `BY_SERVICE`. */
  readonly apiServices: Informer<ApiServiceObject>;
  readonly directory: ServiceDirectory;
  readonly overrides: ServiceOverrides;
  readonly resolve: ResolveService;
  readonly ask: CallServer;
  /** Whether this server writes the conditions of APIServices. */
  readonly mayWrite: () => boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  readonly metrics: MetricsRegistry;
}

export interface Availability {
  /** The result of this server's last check; undefined before the first check. */
  condition(name: string): ApiServiceCondition | undefined;
  /** Checks the APIService again soon, because its availability may have changed. */
  recheck(name: string): void;
  /** Calls the handler with the name of an APIService when the status of its availability changes. */
  onChange(handler: (name: string) => void): void;
  /** Runs until the signal aborts. */
  run(signal: AbortSignal): Promise<void>;
}

const CHECK_AGAIN_MS = 30_000;
const RETRY_MS_MAX = 30_000;
const WORKERS = 5;

export function createAvailability(options: AvailabilityOptions): Availability {
  const { apiServices, clock, random, log } = options;
  const queue = new WorkQueue({ clock, random, retryMsMax: RETRY_MS_MAX });
  const judged = new Map<string, ApiServiceCondition>();
  const handlers: ((name: string) => void)[] = [];
  const record = createRecorder(options.metrics);
  followChanges(options, (name) => queue.add(name));

  const settle = (name: string, condition: ApiServiceCondition | undefined): void => {
    const before = judged.get(name);
    if (condition === undefined) judged.delete(name);
    else judged.set(name, condition);
    record(name, before, condition);
    if (before?.status !== condition?.status) for (const tell of handlers) tell(name);
  };

  const work = async (name: string, signal: AbortSignal): Promise<{ againAfterMs: number } | undefined> => {
    const object = apiServices.get({ name });
    const condition = object && (await checkAvailability(options, object, signal));
    if (signal.aborted) return undefined;
    settle(name, condition);
    if (object === undefined || condition === undefined) return undefined;
    if (options.mayWrite()) await write(options, object, condition);
    if (condition.reason === "FailedDiscoveryCheck") throw new Error(condition.message);
    return isLocalApiService(object) ? undefined : { againAfterMs: CHECK_AGAIN_MS };
  };

  return {
    condition: (name) => judged.get(name),
    recheck: (name) => queue.add(name),
    onChange: (handler) => void handlers.push(handler),
    run: (signal) =>
      runWorkers({ queue, workers: WORKERS, work, log, task: "availability check of an APIService" }, signal),
  };
}

/** Returns undefined if the APIService need not be checked, or if the server is shutting down. */
async function checkAvailability(
  { directory, overrides, resolve, ask }: AvailabilityOptions,
  object: ApiServiceObject,
  signal: AbortSignal,
): Promise<ApiServiceCondition | undefined> {
  if (isLocalApiService(object)) return LOCAL_CONDITION;
  const apiService = remoteApiService(object);
  if (apiService === undefined || !(await directory.ready(signal))) return undefined;
  return (
    unavailableCondition(apiService, directory, overrides) ??
    discoveryCheck(apiService, { ask, resolution: resolve(apiService.service), signal })
  );
}

async function write(
  { client, clock }: AvailabilityOptions,
  object: ApiServiceObject,
  found: ApiServiceCondition,
): Promise<void> {
  const status = statusWith(object, found, timestampAt(clock.now()));
  if (status === undefined) return;
  try {
    await client.resource<ApiServiceObject>(API_SERVICES).replaceStatus({ ...object, status });
  } catch (thrown) {
    if (!isReason(thrown, "NotFound")) throw thrown;
  }
}

function followChanges({ apiServices, directory }: AvailabilityOptions, look: (name: string) => void): void {
  const lookAt = ({ metadata }: ApiServiceObject): void => look(metadata?.name ?? "");
  apiServices.addHandler({
    onAdd: lookAt,
    onUpdate(object, before) {
      // Ignores changes of the status, because the checks themselves write it.
      if (!jsonEquals(object.spec, before.spec)) lookAt(object);
    },
    onDelete: lookAt,
  });
  directory.onChange((namespace, name) => {
    for (const object of apiServices.byIndex(BY_SERVICE, `${namespace}/${name}`)) lookAt(object);
  });
}

function createRecorder(
  metrics: MetricsRegistry,
): (name: string, before: ApiServiceCondition | undefined, now: ApiServiceCondition | undefined) => void {
  const unavailable = metrics.gauge({
    name: "aggregator_unavailable_apiservice",
    help: "Gauge of APIServices which are marked as unavailable broken down by APIService name.",
    labels: ["name"],
  });
  const total = metrics.counter({
    name: "aggregator_unavailable_apiservice_total",
    help: "Counter of APIServices which are marked as unavailable broken down by APIService name and reason.",
    labels: ["name", "reason"],
  });
  return (name, before, now) => {
    if (now === undefined && before === undefined) return;
    const isUnavailable = now !== undefined && now.status !== "True";
    unavailable.with(name).set(isUnavailable ? 1 : 0);
    if (isUnavailable && before?.status === "True") total.with(name, now.reason).inc();
  };
}
