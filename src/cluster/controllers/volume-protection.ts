/**
 * Keeps PersistentVolumeClaims, PersistentVolumes and VolumeAttributesClasses that were deleted while in use, until
 * they are unused. Each of them has a finalizer, which this controller removes.
 */
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import type { Client } from "../../client/client.ts";
import type { Informer } from "../../client/informer.ts";
import type { ObjectKey, ResourceType, UnstructuredObject } from "../../client/objects.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { isAbsent } from "./namespace/failures.ts";
import { informerSource, type ReconcileResult, type KeySource } from "../controller-runtime/controller.ts";

interface VolumeProtectionOptions {
  readonly client: Client;
  /** The client that requests only the metadata of objects. */
  readonly metadata: Client;
  readonly log: Log;
}

type ProtectionName =
  | "persistentvolumeclaim-protection-controller"
  | "persistentvolume-protection-controller"
  | "volumeattributesclass-protection-controller";

interface Protection {
  readonly name: ProtectionName;
  readonly type: ResourceType;
  readonly finalizer: string;
  isInUse(object: UnstructuredObject, client: Client, signal: AbortSignal): Promise<boolean>;
}

interface VolumeProtectionController {
  readonly name: ProtectionName;
  readonly reconcile: (key: string, signal: AbortSignal) => Promise<ReconcileResult | undefined>;
  sources(): readonly KeySource[];
}

/**
 * Interval at which an object that is in use is checked again. Watching all pods for the few objects that wait would
 * cost more.
 */
const LOOK_AGAIN_MS = 5_000;

const PODS: ResourceType = { group: "", version: "v1", resource: "pods", namespaced: true };
const CLAIMS: ResourceType = { group: "", version: "v1", resource: "persistentvolumeclaims", namespaced: true };
const VOLUMES: ResourceType = { group: "", version: "v1", resource: "persistentvolumes", namespaced: false };
const ATTRIBUTES_CLASSES: ResourceType = {
  group: "storage.k8s.io",
  version: "v1",
  resource: "volumeattributesclasses",
  namespaced: false,
};

const CLAIM_PROTECTION: Protection = {
  name: "persistentvolumeclaim-protection-controller",
  type: CLAIMS,
  finalizer: "kubernetes.io/pvc-protection",
  async isInUse({ metadata = {} }, client, signal) {
    const { namespace = "", name = "" } = metadata;
    const { items } = await client.resource<UnstructuredObject>(PODS).listAll({ namespace, signal });
    return items.some((pod) => usesClaim(pod, name));
  },
};

const VOLUME_PROTECTION: Protection = {
  name: "persistentvolume-protection-controller",
  type: VOLUMES,
  finalizer: "kubernetes.io/pv-protection",
  isInUse: (volume) => Promise.resolve(stringAt(objectAt(volume, "status"), "phase") === "Bound"),
};

const ATTRIBUTES_CLASS_PROTECTION: Protection = {
  name: "volumeattributesclass-protection-controller",
  type: ATTRIBUTES_CLASSES,
  finalizer: "kubernetes.io/vac-protection",
  async isInUse({ metadata = {} }, client, signal) {
    const { name = "" } = metadata;
    const volumes = await client.resource<UnstructuredObject>(VOLUMES).listAll({ signal });
    if (volumes.items.some((volume) => objectAt(volume, "spec")["volumeAttributesClassName"] === name)) return true;
    const claims = await client.resource<UnstructuredObject>(CLAIMS).listAll({ signal });
    return claims.items.some((claim) => attributesClassesOf(claim).includes(name));
  },
};

/**
 * Creates the controllers. VolumeAttributesClasses are protected only if the release serves them in a version that has
 * the finalizer.
 */
export function createVolumeProtection(
  options: VolumeProtectionOptions & { readonly hasAttributesClasses: boolean },
): VolumeProtectionController[] {
  const protections = [CLAIM_PROTECTION, VOLUME_PROTECTION];
  if (options.hasAttributesClasses) protections.push(ATTRIBUTES_CLASS_PROTECTION);
  return protections.map((protection) => createProtection(protection, options));
}

function createProtection(
  protection: Protection,
  { client, metadata, log }: VolumeProtectionOptions,
): VolumeProtectionController {
  const { name, type, finalizer } = protection;
  const objects = client.resource<UnstructuredObject>(type);
  const onError = (thrown: unknown): void => log.warn(`${type.resource} watch failed`, { error: messageOf(thrown) });
  let seen: Informer | undefined;
  return {
    name,
    sources() {
      seen = metadata.informer(type, { onError });
      return [informerSource(seen)];
    },
    async reconcile(text, signal) {
      const key = toKey(text);
      if (!isHeldBy(finalizer, seen?.get(key))) return undefined;
      const object = await present(objects.get(key, { signal }));
      if (object === undefined || !isHeldBy(finalizer, object)) return undefined;
      if (await protection.isInUse(object, client, signal)) return { requeueAfterMs: LOOK_AGAIN_MS };
      await present(objects.patch(key, withoutFinalizer(object, finalizer), { signal }));
      return undefined;
    },
  };
}

function toKey(text: string): ObjectKey {
  const [name = "", namespace] = text.split("/").toReversed();
  return namespace === undefined ? { name } : { namespace, name };
}

function isHeldBy(finalizer: string, object: Pick<UnstructuredObject, "metadata"> | undefined): boolean {
  const { deletionTimestamp, finalizers = [] } = object?.metadata ?? {};
  return deletionTimestamp !== undefined && finalizers.includes(finalizer);
}

/** A patch that applies only to the resourceVersion that was read. If the object was changed, it is examined again. */
function withoutFinalizer(
  { metadata = {} }: UnstructuredObject,
  finalizer: string,
): { readonly type: "merge"; readonly body: JsonObject } {
  const { uid, resourceVersion, finalizers = [] } = metadata;
  const left = finalizers.filter((other) => other !== finalizer);
  return { type: "merge", body: { metadata: { uid, resourceVersion, finalizers: left } } };
}

async function present<T>(response: Promise<T>): Promise<T | undefined> {
  try {
    return await response;
  } catch (thrown) {
    if (isAbsent(thrown)) return undefined;
    throw thrown;
  }
}

/**
 * As kubernetes: a pod that is not assigned to a node does not count, because it will not be started with a claim that
 * is being deleted.
 */
function usesClaim(pod: UnstructuredObject, claim: string): boolean {
  const spec = objectAt(pod, "spec");
  if (stringAt(spec, "nodeName") === "") return false;
  const { volumes } = spec;
  if (!Array.isArray(volumes)) return false;
  return volumes.filter(isJsonObject).some((volume) => {
    if (stringAt(objectAt(volume, "persistentVolumeClaim"), "claimName") === claim) return true;
    return volume["ephemeral"] !== undefined && `${pod.metadata?.name}-${stringAt(volume, "name")}` === claim;
  });
}

function attributesClassesOf(claim: UnstructuredObject): unknown[] {
  const status = objectAt(claim, "status");
  return [
    objectAt(claim, "spec")["volumeAttributesClassName"],
    status["currentVolumeAttributesClassName"],
    objectAt(status, "modifyVolumeStatus")["targetVolumeAttributesClassName"],
  ];
}
