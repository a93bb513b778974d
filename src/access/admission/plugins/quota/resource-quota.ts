/** Enforces ResourceQuotas: charges each admitted write to the quotas of its namespace before the object is stored. */
import { must } from "../../../../base/assert.ts";
import type { StoreEpoch } from "../../../../base/store-epoch.ts";
import type { GroupResource } from "../../../../meta/group-version.ts";
import { objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { ObjectReader } from "../../../../meta/object-table.ts";
import { conflict } from "../../../../meta/status-error.ts";
import type { AdmissionPlugin, Attributes } from "../../admission.ts";
import { amountsObject, isSameAmounts } from "../../../../meta/amounts.ts";
import { checkRequest, RESOURCE_QUOTAS, runningQuota, type RunningQuota } from "./check-request.ts";
import type { UsageEvaluator } from "./evaluator.ts";
import { createEvaluators, isUnlimited } from "./evaluators.ts";
import type { PodEvaluatorPorts } from "./pod-evaluator.ts";
import { createRecentQuotas, type RecentQuotas } from "./recent-quotas.ts";

/**
 * Replaces the status of the quota if it still has this revision. Resolves to the stored quota, or to undefined if the
 * quota was changed or deleted.
 */
export type ChargeQuota = (quota: JsonObject, status: JsonObject) => Promise<JsonObject | undefined>;

interface ResourceQuotaPorts extends PodEvaluatorPorts {
  readonly reader: ObjectReader;
  readonly chargeQuota: ChargeQuota;
  /** Absent if the history of the store never changes. */
  readonly epoch?: StoreEpoch | undefined;
}

const UPDATES: Readonly<Record<string, readonly string[]>> = {
  pods: ["", "resize"],
  services: [""],
  persistentvolumeclaims: ["", "status"],
};
const RETRIES = 3;
const MODIFIED = "the object has been modified; please apply your changes to the latest version and try again";

/** A write that waits to be admitted or rejected. */
interface Waiter {
  readonly attributes: Attributes;
  readonly evaluator: UsageEvaluator;
  readonly admit: () => void;
  readonly reject: (thrown: unknown) => void;
}

interface QuotaState {
  readonly ports: ResourceQuotaPorts;
  readonly recent: RecentQuotas;
}

export function resourceQuota(ports: ResourceQuotaPorts): AdmissionPlugin {
  const books: QuotaState = { ports, recent: createRecentQuotas(ports.epoch) };
  const evaluators = createEvaluators(ports);
  const waiting = new Map<string, Waiter[]>();
  return {
    name: "ResourceQuota",
    handles: (operation, { groupVersion, resource, subresource }) => {
      const about = { group: groupVersion.group, resource };
      if (isUnlimited(about)) return false;
      if (operation === "CREATE") return subresource === "";
      return operation === "UPDATE" && isCountedUpdate(about, subresource);
    },
    async validate(attributes) {
      const { groupVersion, resource, namespace } = attributes;
      if (namespace === "" || (groupVersion.group === "" && resource === "namespaces")) return;
      if (ports.reader.list(RESOURCE_QUOTAS, namespace).length === 0) return;
      const evaluator = evaluators.of({ group: groupVersion.group, resource });
      if (!evaluator.handles(attributes)) return;
      await new Promise<void>((admit, reject) => {
        const waiter = { attributes, evaluator, admit, reject };
        const others = waiting.get(namespace);
        if (others === undefined) {
          waiting.set(namespace, [waiter]);
          void serve(books, namespace, waiting);
        } else others.push(waiter);
      });
    },
  };
}

function isCountedUpdate({ group, resource }: GroupResource, subresource: string): boolean {
  if (group === "resource.k8s.io") return resource === "resourceclaims" && subresource === "";
  return group === "" && Object.hasOwn(UPDATES, resource) && UPDATES[resource]?.includes(subresource) === true;
}

/**
 * Decides the writes of a namespace in batches, one batch at a time. Writes that arrive during a batch form the next
 * batch.
 */
async function serve(books: QuotaState, namespace: string, waiting: Map<string, Waiter[]>): Promise<void> {
  for (;;) {
    const batch = waiting.get(namespace) ?? [];
    if (batch.length === 0) {
      waiting.delete(namespace);
      return;
    }
    waiting.set(namespace, []);
    try {
      const known = books.ports.reader.list(RESOURCE_QUOTAS, namespace);
      await decide(
        books,
        batch,
        known.map((quota) => runningQuota(books.recent.newer(quota))),
        RETRIES,
      );
    } catch (thrown) {
      for (const { reject } of batch) reject(thrown);
    }
  }
}

async function decide(
  books: QuotaState,
  batch: readonly Waiter[],
  quotas: readonly RunningQuota[],
  retriesLeft: number,
): Promise<void> {
  const { pending, wanted } = decideWaiting(batch, quotas);
  if (pending.length === 0) return;
  const stale: RunningQuota[] = [];
  for (const [index, quota] of wanted.entries()) {
    if (isSameAmounts(quota.used, must(quotas[index], "each quota was checked").used)) continue;
    if (!(await charge(books, quota))) stale.push(quota);
  }
  const [first] = stale;
  if (first === undefined) for (const { admit } of pending) admit();
  else if (retriesLeft === 0) throw conflict(RESOURCE_QUOTAS, first.name, MODIFIED);
  else await decide(books, pending, await newestOf(books, stale), retriesLeft - 1);
}

/**
 * Rejects writes that exceed a quota, and admits dry runs and writes that use no quota. The other writes are pending
 * until their quotas are charged.
 */
function decideWaiting(
  batch: readonly Waiter[],
  quotas: readonly RunningQuota[],
): { readonly pending: readonly Waiter[]; readonly wanted: readonly RunningQuota[] } {
  const pending: Waiter[] = [];
  let wanted = quotas;
  for (const waiter of batch) {
    const { attributes, evaluator, admit, reject } = waiter;
    try {
      const next = checkRequest(wanted, attributes, evaluator);
      const isFree = next.every((quota, index) => quota === wanted[index]);
      if (isFree || attributes.dryRun) admit();
      else {
        pending.push(waiter);
        wanted = next;
      }
    } catch (thrown) {
      reject(thrown);
    }
  }
  return { pending, wanted };
}

async function charge({ ports, recent }: QuotaState, { object, used }: RunningQuota): Promise<boolean> {
  const status = { ...objectAt(object, "status"), used: amountsObject(used) };
  const stored = await ports.chargeQuota(object, status);
  if (stored === undefined) return false;
  recent.remember(stored);
  return true;
}

/** Reads the quotas from the store. Deleted quotas are omitted. */
async function newestOf({ ports }: QuotaState, stale: readonly RunningQuota[]): Promise<RunningQuota[]> {
  const newest = await Promise.all(
    stale.map(({ name, object }) =>
      ports.reader.newest(RESOURCE_QUOTAS, stringAt(objectAt(object, "metadata"), "namespace"), name),
    ),
  );
  return newest.filter((quota) => quota !== undefined).map(runningQuota);
}
