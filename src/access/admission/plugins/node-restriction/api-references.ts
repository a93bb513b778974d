/** Finds references to API objects in a pod. A mirror pod, which a node creates itself, must not have any. */
import { goQuote } from "../../../../meta/go-quote.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { refersToSecrets } from "../secret-references.ts";

const FREE_VOLUMES: readonly string[] = [
  "awsElasticBlockStore",
  "azureDisk",
  "cephfs",
  "cinder",
  "downwardAPI",
  "emptyDir",
  "fc",
  "flexVolume",
  "flocker",
  "gcePersistentDisk",
  "gitRepo",
  "hostPath",
  "image",
  "iscsi",
  "nfs",
  "photonPersistentDisk",
  "portworxVolume",
  "quobyte",
  "rbd",
  "scaleIO",
  "storageos",
  "vsphereVolume",
];
const NEEDY_VOLUMES: readonly (readonly [volume: string, needs: string])[] = [
  ["configMap", "configmaps (via configmap volumes)"],
  ["secret", "secrets (via secret volumes)"],
  ["csi", "csidrivers (via CSI volumes)"],
  ["glusterfs", "endpoints (via glusterFS volumes)"],
  ["persistentVolumeClaim", "persistentvolumeclaims"],
  ["ephemeral", "persistentvolumeclaims (via ephemeral volumes)"],
  ["azureFile", "secrets (via azureFile volumes)"],
];
const NEEDY_SOURCES: readonly (readonly [source: string, needs: string])[] = [
  ["configMap", "configmaps (via projected volumes)"],
  ["secret", "secrets (via projected volumes)"],
  ["serviceAccountToken", "serviceaccounts (via projected volumes)"],
  ["clusterTrustBundle", "clustertrustbundles"],
  ["podCertificate", "podcertificates"],
];

/** The error message about the first such reference; undefined if there is none. */
export function neededObjects(spec: JsonObject, nodeName: string): string | undefined {
  const needs = (what: string): string => `node ${goQuote(nodeName)} can not create pods that reference ${what}`;
  if (stringAt(spec, "serviceAccountName") !== "") return needs("serviceaccounts");
  if (refersToSecrets(spec)) return needs("secrets");
  if (refersToConfigMaps(spec)) return needs("configmaps");
  if (objectsAt(spec, "resourceClaims").length > 0) return needs("resourceclaims");
  for (const volume of objectsAt(spec, "volumes")) {
    const found = neededByVolume(volume);
    if (found === undefined) continue;
    return found.isKnown ? needs(found.what) : `error checking mirror pod for API references: ${found.what}`;
  }
  return undefined;
}

interface Need {
  readonly what: string;
  readonly isKnown: boolean;
}

function neededByVolume(volume: JsonObject): Need | undefined {
  if (FREE_VOLUMES.some((type) => isJsonObject(volume[type]))) return undefined;
  const needy = NEEDY_VOLUMES.find(([type]) => isJsonObject(volume[type]));
  if (needy !== undefined) return { what: needy[1], isKnown: true };
  const name = goQuote(stringAt(volume, "name"));
  if (!isJsonObject(volume["projected"])) return { what: `unknown volume type for volume  ${name}`, isKnown: false };
  for (const source of objectsAt(volume["projected"], "sources")) {
    const found = NEEDY_SOURCES.find(([type]) => isJsonObject(source[type]));
    if (found !== undefined) return { what: found[1], isKnown: true };
    if (!isJsonObject(source["downwardAPI"]))
      return { what: `unknown source for projected volume ${name}`, isKnown: false };
  }
  return undefined;
}

function refersToConfigMaps(spec: JsonObject): boolean {
  const containers = ["initContainers", "containers", "ephemeralContainers"].flatMap((list) => objectsAt(spec, list));
  const isNamed = (reference: JsonObject): boolean => stringAt(reference, "name") !== "";
  return (
    containers.some(
      (container) =>
        objectsAt(container, "envFrom").some((source) => isNamed(objectAt(source, "configMapRef"))) ||
        objectsAt(container, "env").some((one) => isNamed(objectAt(objectAt(one, "valueFrom"), "configMapKeyRef"))),
    ) ||
    objectsAt(spec, "volumes").some(
      (volume) =>
        isNamed(objectAt(volume, "configMap")) ||
        objectsAt(objectAt(volume, "projected"), "sources").some((source) => isNamed(objectAt(source, "configMap"))),
    )
  );
}
