/**
 * Ensures that an object of the server exists: creates it if it is missing, and otherwise updates only the fields that
 * the server owns.
 */
import { sleep, type Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { isJsonObject, jsonEquals, objectAt, objectsAt, stringAt, type JsonObject } from "../../meta/json.ts";
import type { InProcessRequest, InProcessResponse } from "../../client/in-process.ts";
import { WriteBackOff } from "../controller-runtime/contested-writes.ts";
import { timestamp } from "../../serving/registry/context.ts";
import type { ServedAt } from "./served-version.ts";

export interface OwnedObject {
  /** The resource and namespace in which the object is created. */
  readonly at: ServedAt;
  /** The complete object, including metadata.name. */
  readonly object: JsonObject;
  /** A condition that is added to the status, unless the status already has a condition of this type. */
  readonly condition?: InitialCondition;
  /** Returns a merge patch if the existing object is outdated; undefined if it is current. */
  readonly correct?: (existing: JsonObject) => JsonObject | undefined;
  /** Whether the existing object cannot be corrected by a patch. It is then deleted and created again. */
  readonly isToBeReplaced?: (existing: JsonObject) => boolean;
}

interface InitialCondition {
  readonly type: string;
  readonly status: "True" | "False";
  readonly reason: string;
  readonly message: string;
  /** Whether an existing object may get the condition. Absent if every object may. */
  readonly appliesTo?: (existing: JsonObject) => boolean;
}

export interface BootstrapPorts {
  readonly call: (request: InProcessRequest) => Promise<InProcessResponse>;
  readonly clock: Clock;
  readonly log: Log;
}

/** The field manager of objects that the server creates, by the name that clients know. */
export const MANAGER = "kube-apiserver";

/** Retry interval while the store cannot be reached. */
export const RETRY_MS = 250;

/** Resolves when each object exists or was permanently rejected, or when the signal aborts. */
export async function ensureAll(
  making: BootstrapPorts,
  objects: readonly OwnedObject[],
  signal: AbortSignal,
): Promise<void> {
  await Promise.all(
    objects.map(async (owned) => {
      while (!signal.aborted && !(await ensureUnlessContested(making, owned)))
        await sleep(making.clock, RETRY_MS, signal);
    }),
  );
}

/** An object that another client overwrites again and again stays as it is until the caller ensures it the next time. */
async function ensureUnlessContested(making: BootstrapPorts, owned: OwnedObject): Promise<boolean> {
  try {
    return await ensure(making, owned);
  } catch (thrown) {
    if (thrown instanceof WriteBackOff) return true;
    throw thrown;
  }
}

/** Resolves to false if the caller should retry. */
async function ensure(making: BootstrapPorts, owned: OwnedObject): Promise<boolean> {
  const { collection } = owned.at;
  const target = `${collection}/${ownedObjectName(owned)}`;
  const found = await answer(making, { method: "GET", target });
  const present =
    found.status === 404 ? await answer(making, { method: "POST", target: collection, body: owned.object }) : found;
  if (present.status === 409) return true;
  if (present.object === undefined) return isPermanentRejection(making, present, target);
  if (owned.isToBeReplaced?.(present.object) === true) {
    const deleted = await answer(making, { method: "DELETE", target, body: deleteOptions(present.object) });
    // If the deletion succeeded, the next attempt creates the object.
    return deleted.object === undefined && deleted.status !== 409 && isPermanentRejection(making, deleted, target);
  }
  const changes = [correction(owned, present.object, target), conditionReport(making, owned, present.object, target)];
  for (const change of changes) {
    if (change === undefined) continue;
    const changed = await answer(making, change);
    if (changed.status === 409) return false;
    if (changed.object === undefined && !isPermanentRejection(making, changed, target)) return false;
  }
  return true;
}

function deleteOptions(existing: JsonObject): JsonObject {
  const { uid } = objectAt(existing, "metadata");
  return { kind: "DeleteOptions", apiVersion: "v1", preconditions: { uid } };
}

interface Response {
  readonly status: number;
  /** Undefined if the request failed. */
  readonly object: JsonObject | undefined;
  readonly message: string;
}

async function answer({ call }: BootstrapPorts, request: InProcessRequest): Promise<Response> {
  const response = await call(request);
  const body = await response.json<JsonObject>();
  const isSuccess = response.status >= 200 && response.status < 300;
  return { status: response.status, object: isSuccess ? body : undefined, message: stringAt(body, "message") };
}

/** Whether a retry cannot help. The rejection is logged, because the server works without the object. */
function isPermanentRejection({ log }: BootstrapPorts, { status, message }: Response, target: string): boolean {
  if (status >= 500 || status === 429) return false;
  log.warn("creating an object of the server failed", { target, status, message });
  return true;
}

function correction({ correct }: OwnedObject, existing: JsonObject, target: string): InProcessRequest | undefined {
  const patch = correct?.(existing);
  return patch === undefined ? undefined : mergePatch(target, patch);
}

function conditionReport(
  { clock }: BootstrapPorts,
  owned: OwnedObject,
  existing: JsonObject,
  target: string,
): InProcessRequest | undefined {
  const reported = withCondition(clock, owned, existing);
  if (reported === undefined) return undefined;
  const { conditions } = objectAt(reported, "status");
  return mergePatch(`${target}/status`, { status: { conditions } });
}

/** Returns the object with the condition added; undefined if it already has one of this type. */
export function withCondition(clock: Clock, { condition }: OwnedObject, existing: JsonObject): JsonObject | undefined {
  if (condition === undefined || condition.appliesTo?.(existing) === false) return undefined;
  const { appliesTo: _appliesTo, ...added } = condition;
  const status = objectAt(existing, "status");
  const conditions = objectsAt(status, "conditions");
  if (conditions.some(({ type }) => type === condition.type)) return undefined;
  const reported = { ...added, lastTransitionTime: timestamp(clock) };
  return { ...existing, status: { ...status, conditions: [...conditions, reported] } };
}

export function ownedObjectName({ object }: OwnedObject): string {
  return stringAt(objectAt(object, "metadata"), "name");
}

function mergePatch(target: string, patch: JsonObject): InProcessRequest {
  return { method: "PATCH", target, headers: { "content-type": "application/merge-patch+json" }, body: patch };
}

/** Returns the patch if it would change the object; otherwise undefined. */
export function ifDifferent(existing: JsonObject, patch: JsonObject): JsonObject | undefined {
  return isCovered(patch, existing) ? undefined : patch;
}

function isCovered(patch: unknown, existing: unknown): boolean {
  if (!isJsonObject(patch) || !isJsonObject(existing)) return jsonEquals(patch, existing);
  return Object.keys(patch).every((key) => isCovered(patch[key], existing[key]));
}
