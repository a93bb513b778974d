/** Finds the Secrets that a pod references, and checks that its service account references them too. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";

type ContainerList = "initContainers" | "containers" | "ephemeralContainers";

const LISTS: readonly ContainerList[] = ["initContainers", "containers", "ephemeralContainers"];

/** The volume types that reference a Secret, each with the field that holds the reference. */
const REFERRING_VOLUMES: readonly (readonly [volume: string, reference: string])[] = [
  ["cephfs", "secretRef"],
  ["cinder", "secretRef"],
  ["flexVolume", "secretRef"],
  ["rbd", "secretRef"],
  ["scaleIO", "secretRef"],
  ["iscsi", "secretRef"],
  ["storageos", "secretRef"],
  ["csi", "nodePublishSecretRef"],
];

export function refersToSecrets(spec: JsonObject): boolean {
  return (
    objectsAt(spec, "imagePullSecrets").some((reference) => stringAt(reference, "name") !== "") ||
    LISTS.some((list) => objectsAt(spec, list).some((container) => containerSecrets(container).next().done !== true)) ||
    objectsAt(spec, "volumes").some(isSecretVolume)
  );
}

function isSecretVolume(volume: JsonObject): boolean {
  return (
    stringAt(objectAt(volume, "azureFile"), "secretName") !== "" ||
    stringAt(objectAt(volume, "secret"), "secretName") !== "" ||
    objectsAt(objectAt(volume, "projected"), "sources").some(
      (source) => stringAt(objectAt(source, "secret"), "name") !== "",
    ) ||
    REFERRING_VOLUMES.some(
      ([member, reference]) => stringAt(objectAt(objectAt(volume, member), reference), "name") !== "",
    )
  );
}

function* containerSecrets(container: JsonObject): Generator<string> {
  for (const source of objectsAt(container, "envFrom")) yield* nameOf(source["secretRef"]);
  for (const variable of objectsAt(container, "env")) yield* nameOf(objectAt(variable, "valueFrom")["secretKeyRef"]);
}

function* nameOf(reference: unknown): Generator<string> {
  if (isJsonObject(reference) && stringAt(reference, "name") !== "") yield stringAt(reference, "name");
}

/** Returns why a Secret of the pod may not be used, or undefined if all may. Does not check ephemeral containers. */
export function unmountableReference(spec: JsonObject, account: JsonObject): string | undefined {
  const mountable = new Set(objectsAt(account, "secrets").map((secret) => stringAt(secret, "name")));
  const accountName = stringAt(objectAt(account, "metadata"), "name");
  const end = ` is not allowed because service account ${accountName} does not reference that`;
  for (const volume of objectsAt(spec, "volumes")) {
    const { secret } = volume;
    if (!isJsonObject(secret) || mountable.has(stringAt(secret, "secretName"))) continue;
    return `volume with secret.secretName="${stringAt(secret, "secretName")}"${end} secret`;
  }
  const rejection =
    unmountableInContainers(objectsAt(spec, "initContainers"), "init container", mountable) ??
    unmountableInContainers(objectsAt(spec, "containers"), "container", mountable);
  if (rejection !== undefined) return `${rejection}${end} secret`;
  const pullable = new Set(objectsAt(account, "imagePullSecrets").map((secret) => stringAt(secret, "name")));
  for (const [index, reference] of objectsAt(spec, "imagePullSecrets").entries()) {
    const name = stringAt(reference, "name");
    if (!pullable.has(name)) return `imagePullSecrets[${index}].name="${name}"${end} imagePullSecret`;
  }
  return undefined;
}

/** Returns why a Secret of an ephemeral container may not be used, or undefined if all may. */
export function unmountableEphemeralReference(spec: JsonObject, account: JsonObject): string | undefined {
  const mountable = new Set(objectsAt(account, "secrets").map((secret) => stringAt(secret, "name")));
  const rejection = unmountableInContainers(objectsAt(spec, "ephemeralContainers"), "ephemeral container", mountable);
  const accountName = stringAt(objectAt(account, "metadata"), "name");
  return rejection === undefined
    ? undefined
    : `${rejection} is not allowed because service account ${accountName} does not reference that secret`;
}

function unmountableInContainers(
  containers: readonly JsonObject[],
  label: string,
  mountable: ReadonlySet<string>,
): string | undefined {
  for (const container of containers) {
    const start = `${label} ${stringAt(container, "name")} with`;
    for (const variable of objectsAt(container, "env")) {
      const reference = objectAt(variable, "valueFrom")["secretKeyRef"];
      if (!isJsonObject(reference) || mountable.has(stringAt(reference, "name"))) continue;
      return `${start} envVar ${stringAt(variable, "name")} referencing secret.secretName="${stringAt(reference, "name")}"`;
    }
    for (const { secretRef } of objectsAt(container, "envFrom")) {
      if (!isJsonObject(secretRef) || mountable.has(stringAt(secretRef, "name"))) continue;
      return `${start} envFrom referencing secret.secretName="${stringAt(secretRef, "name")}"`;
    }
  }
  return undefined;
}
