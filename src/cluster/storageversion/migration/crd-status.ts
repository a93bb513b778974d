/**
 * Updates the CRD of a migrated custom resource. Its status.storedVersions are reduced to the storage version only if
 * three facts are proven:
 *
 * - Every object is stored in the agreed version.
 * - The agreement was the same before and after the objects were checked.
 * - The CRD did not change for a while before the agreement was last read, nor until its status is written.
 *
 * The wait is necessary because some servers see a changed CRD late: without it, the agreement could refer to an
 * earlier state of the CRD.
 */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { Client } from "../../../client/client.ts";
import type { KubernetesObject, ResourceType } from "../../../client/objects.ts";
import type { ResourceClient } from "../../../client/resource-client.ts";
import { formatGroupResource, formatGroupVersion } from "../../../meta/group-version.ts";
import { jsonEquals, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { isReason } from "../../../meta/status-error.ts";
import { timestampAt } from "../../../meta/timestamp.ts";
import { storageVersionResource } from "../objects.ts";
import { isSameAgreement, type AgreedVersion } from "./agreed-version.ts";
import { readAgreement } from "./agreement-watch.ts";
import { DEFINITION_SETTLED_MS, REQUEST_TIMEOUT_MS, STATE_RACES_MAX } from "./migration-limits.ts";

const DEFINITIONS: ResourceType = {
  group: "apiextensions.k8s.io",
  version: "v1",
  resource: "customresourcedefinitions",
  namespaced: false,
};
const STORAGE_MIGRATING = "StorageMigrating";
/** The field manager of kubernetes' controller. */
const FIELD_MANAGER = "migration-runner-controller";

interface CrdObject extends KubernetesObject {
  readonly spec?: JsonObject;
  readonly status?: JsonObject;
}

/** The identity and generation of a CRD. */
export interface SeenCrd {
  readonly uid: string;
  readonly generation: number;
}

/** A CRD, and the time since which it is known in this state. */
export interface BegunCrd {
  readonly is: SeenCrd;
  readonly atMs: number;
}

export interface CrdPlace {
  readonly client: Client;
  readonly clock: Clock;
  /** The name of the StorageVersion object. */
  readonly name: string;
  readonly signal: AbortSignal;
}

/**
 * Sets the condition StorageMigrating of the CRD to True. Resolves to undefined for a built-in resource, which has no
 * CRD. A resumed migration continues with the generation for which its condition was set. DIFFERS: kubernetes sets the
 * condition only from 1.36 on.
 */
export async function beginInCrd(place: CrdPlace, migration: string): Promise<BegunCrd | undefined> {
  const { clock } = place;
  const message = `Migration ${migration} is running`;
  let begun: BegunCrd | undefined;
  await changeCrd(place, async (object) => {
    const { uid, generation } = seen(object);
    const known = conditionOf(object);
    const isOurs = known?.["status"] === "True" && known["message"] === message;
    const observed = known?.["observedGeneration"];
    const is = { uid, generation: isOurs && typeof observed === "number" ? observed : generation };
    begun = { is, atMs: clock.monotonic() };
    if (isOurs) return undefined;
    return withCondition(object, { status: "True", reason: "MigrationRunning", message }, clock);
  });
  return begun;
}

interface EndedMigration {
  readonly begun: BegunCrd | undefined;
  /**
   * The agreement under which every object was found migrated; undefined if the servers did not agree, so that nothing
   * is proven.
   */
  readonly agreed: AgreedVersion | undefined;
}

/** Records the success in the CRD. Resolves to false if the controller was stopped while it waited. */
export async function succeedInCrd(place: CrdPlace, { begun, agreed }: EndedMigration): Promise<boolean> {
  if (begun === undefined) return true;
  const { clock, signal } = place;
  const seenAtMs = clock.now();
  const leftMs = begun.atMs + DEFINITION_SETTLED_MS - clock.monotonic();
  if (leftMs > 0 && !(await sleep(clock, leftMs, signal))) return false;
  await changeCrd(place, async (object) => {
    const isSame = jsonEquals(seen(object), begun.is);
    const isProven = isSame && agreed !== undefined && (await isStillAgreed(place, object, { agreed, seenAtMs }));
    const shrunk = isProven ? withStoredVersions(object) : object;
    const said = `The migration has succeeded${storedVersionsText({ isSame, isProven })}`;
    return withCondition(shrunk, { status: "False", reason: "MigrationSucceeded", message: said }, clock);
  });
  return true;
}

function storedVersionsText({ isSame, isProven }: { readonly isSame: boolean; readonly isProven: boolean }): string {
  if (isProven) return " and the stored versions have been updated";
  return isSame
    ? " but the stored versions have not been updated: not all servers agree on the storage version"
    : " but the stored versions have not been updated due to a generation mismatch";
}

/** Records the failure in the CRD. DIFFERS: kubernetes drops the old stored versions even after a failure. */
export async function failInCrd(place: CrdPlace): Promise<void> {
  const said = { status: "False", reason: "MigrationFailed", message: "The migration has failed" } as const;
  await changeCrd(place, async (object) =>
    conditionOf(object)?.["status"] === "True" ? withCondition(object, said, place.clock) : undefined,
  );
}

export interface FoundCrd {
  readonly is: SeenCrd;
  /** The versions in which objects may be stored, according to the CRD. */
  readonly storedVersions: readonly string[];
}

/** Undefined for a built-in resource, which has no CRD. */
export async function findCrd(place: CrdPlace): Promise<FoundCrd | undefined> {
  let found: FoundCrd | undefined;
  await changeCrd(place, async (object) => {
    const { spec = {}, status = {} } = object;
    const group = stringAt(spec, "group");
    const toText = (version: string): string => formatGroupVersion({ group, version });
    found = { is: seen(object), storedVersions: stringsAt(status, "storedVersions").map(toText) };
    return undefined;
  });
  return found;
}

/** Reduces the stored versions after an automatic migration, which sets no condition. */
export async function shrinkStoredVersions(
  place: CrdPlace,
  { is, agreed }: { readonly is: SeenCrd; readonly agreed: AgreedVersion },
): Promise<void> {
  const seenAtMs = place.clock.now();
  await changeCrd(place, async (object) => {
    const isProven = jsonEquals(seen(object), is) && (await isStillAgreed(place, object, { agreed, seenAtMs }));
    return isProven ? withStoredVersions(object) : undefined;
  });
}

function seen({ metadata }: CrdObject): SeenCrd {
  return { uid: metadata?.uid ?? "", generation: metadata?.generation ?? 0 };
}

/**
 * Whether the servers still agree. The CRD was read before the agreement is read here, and is written only if it has
 * not changed since.
 */
async function isStillAgreed(
  { client, name, signal }: CrdPlace,
  object: CrdObject,
  { agreed, seenAtMs }: { readonly agreed: AgreedVersion; readonly seenAtMs: number },
): Promise<boolean> {
  if (storageVersionOf(object) !== agreed.version) return false;
  const now = await readAgreement(client, name, signal);
  return now.kind === "agreed" && isSameAgreement(agreed, now.agreed, seenAtMs);
}

function storageVersion({ spec = {} }: CrdObject): string {
  return stringAt(objectsAt(spec, "versions").find(({ storage }) => storage === true) ?? {}, "name");
}

function storageVersionOf(object: CrdObject): string {
  return formatGroupVersion({ group: stringAt(object.spec ?? {}, "group"), version: storageVersion(object) });
}

function withStoredVersions(object: CrdObject): CrdObject {
  const status = object.status ?? {};
  const storedVersions = [storageVersion(object)];
  return jsonEquals(stringsAt(status, "storedVersions"), storedVersions)
    ? object
    : { ...object, status: { ...status, storedVersions } };
}

function conditionsOf({ status = {} }: CrdObject): readonly JsonObject[] {
  return objectsAt(status, "conditions");
}

function conditionOf(object: CrdObject): JsonObject | undefined {
  return conditionsOf(object).find(({ type }) => type === STORAGE_MIGRATING);
}

function withCondition(
  object: CrdObject,
  said: { readonly status: "True" | "False"; readonly reason: string; readonly message: string },
  clock: Clock,
): CrdObject {
  const known = conditionOf(object);
  const lastTransitionTime = known?.["status"] === said.status ? known["lastTransitionTime"] : timestampAt(clock.now());
  const observedGeneration = object.metadata?.generation;
  const condition = { type: STORAGE_MIGRATING, ...said, lastTransitionTime, observedGeneration };
  const others = conditionsOf(object);
  const conditions =
    known === undefined ? [...others, condition] : others.map((one) => (one === known ? condition : one));
  return { ...object, status: { ...objectAt({ status: object.status }, "status"), conditions } };
}

/** Does nothing if there is no CRD, because the resource is built in or the CRD was deleted meanwhile. */
async function changeCrd(
  { client, name, signal }: CrdPlace,
  change: (object: CrdObject) => Promise<CrdObject | undefined>,
): Promise<void> {
  const objects: ResourceClient<CrdObject> = client.resource(DEFINITIONS);
  const key = { name: formatGroupResource(storageVersionResource(name)) };
  const options = { signal, timeoutMs: REQUEST_TIMEOUT_MS };
  for (let race = 1; ; race++) {
    try {
      const next = await change(await objects.get(key, options));
      if (next !== undefined) await objects.replaceStatus(next, { ...options, fieldManager: FIELD_MANAGER });
      return;
    } catch (thrown) {
      if (isReason(thrown, "NotFound")) return;
      if (!isReason(thrown, "Conflict") || race >= STATE_RACES_MAX) throw thrown;
    }
  }
}
