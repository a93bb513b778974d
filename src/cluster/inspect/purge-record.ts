/** Records a purge: on the namespace while it exists, and in an event that outlives it. */
import { randomUuid } from "../../base/random.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { KubernetesObject, ResourceType } from "../../client/objects.ts";
import { NAMESPACE_TYPE, nameOf } from "../controllers/namespace/objects.ts";
import type { BaseEnv } from "../../base/env.ts";

interface PurgeRecord {
  readonly namespace: KubernetesObject;
  readonly annotation: string;
  /** The text of the record: time, user and counts. */
  readonly what: string;
  /** The time in RFC 3339. */
  readonly at: string;
}

const EVENT_TYPE: ResourceType = { group: "", version: "v1", resource: "events", namespaced: true };
/** As kubernetes: events about cluster-scoped objects are in this namespace. */
const EVENT_NAMESPACE = "default";

/** Writes both records. If that fails, the keys stay removed, and only the log has a record. */
export async function recordPurge(
  { client, env }: { readonly client: Client; readonly env: Pick<BaseEnv, "log" | "random"> },
  record: PurgeRecord,
): Promise<void> {
  const { namespace, annotation, what } = record;
  const name = nameOf(namespace);
  const tasks = [
    client
      .resource(NAMESPACE_TYPE)
      .patch({ name }, { type: "merge", body: { metadata: { annotations: { [annotation]: what } } } }),
    client.resource(EVENT_TYPE).create(eventOf(record, randomUuid(env.random))),
  ];
  for (const result of await Promise.allSettled(tasks))
    if (result.status === "rejected")
      env.log.warn("recording a purge failed", { namespace: name, error: messageOf(result.reason) });
}

function eventOf({ namespace, what, at }: PurgeRecord, id: string): KubernetesObject {
  const name = nameOf(namespace);
  const event = {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.${id}`, namespace: EVENT_NAMESPACE },
    involvedObject: { apiVersion: "v1", kind: "Namespace", name, uid: namespace.metadata?.uid },
    reason: "NamespacePurged",
    type: "Warning",
    message: `Purged at ${what}`,
    source: { component: "evenkeel" },
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
  return event;
}
