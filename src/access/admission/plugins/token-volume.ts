/**
 * Adds the volume with the service account token to a pod, and mounts it at the path where clients expect the token.
 */
import type { Random } from "../../../base/random.ts";
import { objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { generatedName } from "./generated-name.ts";

const VOLUME_PREFIX = "kube-api-access-";
const MOUNT_PATH = "/var/run/secrets/kubernetes.io/serviceaccount";
/**
 * As kubernetes: an hour and seven seconds. The seven seconds distinguish such a token from one that a client requested
 * for an hour.
 */
const EXPIRATION_SECONDS = 3607;
const FILE_MODE = 0o644;

/**
 * Mounts the token volume in every container that mounts nothing at this path. Adds the volume if a container needs it
 * and the pod does not have it.
 */
export function withTokenVolume(spec: JsonObject, random: Random): JsonObject {
  const volumes = objectsAt(spec, "volumes");
  const existing = volumes.map((volume) => stringAt(volume, "name")).find((name) => name.startsWith(VOLUME_PREFIX));
  const name = existing ?? generatedName(VOLUME_PREFIX, random);
  const mounting: JsonObject = { ...spec };
  let isNeeded = false;
  for (const list of ["initContainers", "containers"]) {
    const containers = objectsAt(spec, list);
    if (containers.every(isMounting)) continue;
    isNeeded = true;
    mounting[list] = containers.map((container) => (isMounting(container) ? container : withMount(container, name)));
  }
  if (isNeeded && existing === undefined) mounting["volumes"] = [...volumes, { name, projected: tokenSource() }];
  return mounting;
}

function isMounting(container: JsonObject): boolean {
  return objectsAt(container, "volumeMounts").some((mount) => stringAt(mount, "mountPath") === MOUNT_PATH);
}

function withMount(container: JsonObject, name: string): JsonObject {
  const mount = { name, readOnly: true, mountPath: MOUNT_PATH };
  return { ...container, volumeMounts: [...objectsAt(container, "volumeMounts"), mount] };
}

function tokenSource(): JsonObject {
  return {
    sources: [
      { serviceAccountToken: { expirationSeconds: EXPIRATION_SECONDS, path: "token" } },
      { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
      {
        downwardAPI: {
          items: [{ path: "namespace", fieldRef: { apiVersion: "v1", fieldPath: "metadata.namespace" } }],
        },
      },
    ],
    defaultMode: FILE_MODE,
  };
}
