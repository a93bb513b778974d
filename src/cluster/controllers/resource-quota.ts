/**
 * Updates the usage in the status of quotas. Admission adds created objects to the usage; this controller subtracts
 * deleted ones.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { ObjectKey, ResourceType, UnstructuredObject } from "../../client/objects.ts";
import { formatGroupResource, type GroupResource } from "../../meta/group-version.ts";
import { objectAt, type JsonObject } from "../../meta/json.ts";
import { isReason } from "../../meta/status-error.ts";
import type { ClusterResources } from "./cluster-resources.ts";
import { isAbsent, isMethodNotAllowed, isOutOfReach } from "./namespace/failures.ts";
import { informerSource, type ReconcileResult, type KeySource } from "../controller-runtime/controller.ts";

/** The calculation of quotas, shared with admission. */
interface QuotaCalculation {
  countedResources(quota: JsonObject): readonly GroupResource[];
  /**
   * `objects` is keyed by resource, as formatGroupResource formats it. Resources that could not be listed are absent.
   */
  statusOf(quota: JsonObject, objects: ReadonlyMap<string, readonly JsonObject[]>): JsonObject;
  isOutdated(quota: JsonObject, status: JsonObject): boolean;
}

interface ResourceQuotaControllerOptions {
  readonly client: Client;
  /** The client that requests only the metadata of objects. */
  readonly metadata: Client;
  readonly clock: Clock;
  readonly log: Log;
  readonly resources: Pick<ClusterResources, "served">;
  readonly calculation: QuotaCalculation;
}

interface ResourceQuotaController {
  readonly name: "resourcequota-controller";
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;
  sources(): readonly KeySource[];
}

const QUOTAS: ResourceType = { group: "", version: "v1", resource: "resourcequotas", namespaced: true };
/** Resources whose usage depends on the spec of their objects, not only on their number. */
const MEASURED: ReadonlySet<string> = new Set([
  "pods",
  "services",
  "persistentvolumeclaims",
  "resourceclaims.resource.k8s.io",
]);
/**
 * DIFFERS: kubernetes watches all objects to notice deletions. This controller periodically lists the counted resources
 * of the few namespaces that have quotas.
 */
const LOOK_AGAIN_MS = 5_000;
/** Time after which every object that admission has charged is stored. */
const SETTLE_MS = 500;

export function createResourceQuotaController(options: ResourceQuotaControllerOptions): ResourceQuotaController {
  const { client, clock, log, calculation } = options;
  const quotas = client.resource<UnstructuredObject>(QUOTAS);
  const onError = (thrown: unknown): void => log.warn("resource quota watch failed", { error: messageOf(thrown) });
  return {
    name: "resourcequota-controller",
    sources: () => [informerSource(client.informer(QUOTAS, { onError }))],
    async reconcile(text, signal) {
      const key = toKey(text);
      const quota = await present(quotas.get(key, { signal }));
      if (quota === undefined) return undefined;
      // An object that admission has charged may not be stored yet, so count again after SETTLE_MS. If admission
      // charges another object meanwhile, the write fails with a conflict.
      const isFirst = objectAt(quota, "status")["used"] === undefined;
      if (!isFirst && !(await isChanged(options, quota, signal))) return { requeueAfterMs: LOOK_AGAIN_MS };
      if (!isFirst && !(await sleep(clock, SETTLE_MS, signal))) return undefined;
      const status = calculation.statusOf(quota, await countedObjects(options, quota, signal));
      const isStale =
        calculation.isOutdated(quota, status) &&
        !(await isStored(quotas.replaceStatus({ ...quota, status }, { signal })));
      return { requeueAfterMs: isStale ? SETTLE_MS : LOOK_AGAIN_MS };
    },
  };
}

async function isChanged(
  options: ResourceQuotaControllerOptions,
  quota: UnstructuredObject,
  signal: AbortSignal,
): Promise<boolean> {
  const objects = await countedObjects(options, quota, signal);
  return options.calculation.isOutdated(quota, options.calculation.statusOf(quota, objects));
}

async function countedObjects(
  { client, metadata, resources, calculation }: ResourceQuotaControllerOptions,
  quota: UnstructuredObject,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, readonly JsonObject[]>> {
  const namespace = quota.metadata?.namespace ?? "";
  const objects = new Map<string, readonly JsonObject[]>();
  for (const counted of calculation.countedResources(quota)) {
    const type = servedType(resources, counted);
    if (type === undefined) continue;
    const name = formatGroupResource(counted);
    const reading = MEASURED.has(name) ? client : metadata;
    try {
      objects.set(name, (await reading.resource<UnstructuredObject>(type).listAll({ namespace, signal })).items);
    } catch (thrown) {
      if (!isOutOfReach(thrown) && !isMethodNotAllowed(thrown)) throw thrown;
    }
  }
  return objects;
}

function servedType(resources: Pick<ClusterResources, "served">, counted: GroupResource): ResourceType | undefined {
  const served = resources
    .served()
    .find(({ group, resource }) => group === counted.group && resource === counted.resource);
  const version = served?.versions[0];
  if (served === undefined || version === undefined || !served.namespaced) return undefined;
  return { ...counted, version, namespaced: true };
}

function toKey(text: string): ObjectKey {
  const [name = "", namespace = ""] = text.split("/").toReversed();
  return { namespace, name };
}

async function present<T>(asked: Promise<T>): Promise<T | undefined> {
  try {
    return await asked;
  } catch (thrown) {
    if (isAbsent(thrown)) return undefined;
    throw thrown;
  }
}

/** Resolves to false if another client changed or deleted the quota first. */
async function isStored(write: Promise<unknown>): Promise<boolean> {
  try {
    await write;
    return true;
  } catch (thrown) {
    if (isReason(thrown, "Conflict") || isAbsent(thrown)) return false;
    throw thrown;
  }
}
