/**
 * Maintains the Dangling condition of FlowSchemas, as kube-apiserver does. It says whether the referenced priority
 * level is missing, and tools rely on it. All servers of a cluster compute the same condition, and a server writes it
 * only if the stored one differs.
 */
import type { Clock } from "../../base/clock.ts";
import { Wakeable } from "../../base/wakeable.ts";
import type { InProcessRequest, InProcessResponse } from "../../client/in-process.ts";
import { objectMap } from "./object-map.ts";
import { objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { whenReset, type ObjectTable } from "../../meta/object-table.ts";
import { timestamp } from "../../serving/registry/context.ts";
import { whenOrAborted, type BackgroundTask } from "../../base/background.ts";

const MANAGER = "api-priority-and-fairness-config-consumer-v1";
const DANGLING = "Dangling";
/** Retry delay after a failed write, for example while the server does not accept writes yet. */
const RETRY_MS = 1_000;
const IDLE_MS = 60_000;

export interface FlowSchemaStatusParts {
  readonly clock: Clock;
  /** Sends an in-process request to this server, as the loopback user. */
  readonly call: (request: InProcessRequest) => Promise<InProcessResponse>;
  /** Resolves when the server accepts writes. */
  readonly ready: Promise<void>;
}

interface FlowSchemaStatus {
  readonly schemas: ObjectTable;
  readonly levels: ObjectTable;
  readonly task: BackgroundTask;
}

export function flowSchemaStatus({ clock, call, ready }: FlowSchemaStatusParts): FlowSchemaStatus {
  const due = new Wakeable(clock);
  const schemas = new Map<string, JsonObject>();
  const levels = new Map<string, JsonObject>();
  const loaded = new Set<typeof schemas>();
  const followed = (objects: typeof schemas): ObjectTable =>
    whenReset(
      objectMap(
        objects,
        (object) => object,
        () => due.wake(),
      ),
      () => loaded.add(objects),
    );
  const report = async (schema: JsonObject): Promise<boolean> => {
    const condition = conditionOf(schema, levels);
    return (
      hasCondition(schema, condition) ||
      (await writeCondition(call, schema, { ...condition, lastTransitionTime: timestamp(clock) }))
    );
  };
  return {
    schemas: followed(schemas),
    levels: followed(levels),
    task: {
      name: "flow-schema-status",
      async run(signal) {
        await whenOrAborted(ready, signal);
        while (!signal.aborted) {
          let isAllSaid = true;
          // Until both resources are synced, a priority level that is not cached may exist.
          if (loaded.has(schemas) && loaded.has(levels))
            for (const schema of [...schemas.values()]) isAllSaid = (await report(schema)) && isAllSaid;
          await due.wait(isAllSaid ? IDLE_MS : RETRY_MS, signal);
        }
      },
    },
  };
}

function nameOf(object: JsonObject): string {
  return stringAt(objectAt(object, "metadata"), "name");
}

type Condition = Readonly<Record<"type" | "status" | "reason" | "message", string>>;

function conditionOf(schema: JsonObject, levels: ReadonlyMap<string, JsonObject>): Condition {
  const level = stringAt(objectAt(objectAt(schema, "spec"), "priorityLevelConfiguration"), "name");
  const reference = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)}`;
  return levels.has(level)
    ? { type: DANGLING, status: "False", reason: "Found", message: `${reference} and it exists` }
    : { type: DANGLING, status: "True", reason: "NotFound", message: `${reference} but there is no such object` };
}

function hasCondition(schema: JsonObject, { status, reason, message }: Condition): boolean {
  const said = objectsAt(objectAt(schema, "status"), "conditions").find(({ type }) => type === DANGLING);
  return said?.["status"] === status && said["reason"] === reason && said["message"] === message;
}

/** True if nothing remains to be done: the condition is written, or the FlowSchema was deleted. */
async function writeCondition(
  call: FlowSchemaStatusParts["call"],
  schema: JsonObject,
  condition: JsonObject,
): Promise<boolean> {
  const [apiVersion, name] = [stringAt(schema, "apiVersion"), nameOf(schema)];
  const { status } = await call({
    method: "PATCH",
    target: `/apis/${apiVersion}/flowschemas/${encodeURIComponent(name)}/status?fieldManager=${MANAGER}&force=true`,
    headers: { "content-type": "application/apply-patch+yaml" },
    body: JSON.stringify({ apiVersion, kind: "FlowSchema", metadata: { name }, status: { conditions: [condition] } }),
  });
  return status === 200 || status === 404;
}
