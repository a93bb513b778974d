/** Default values of volumes. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { canonicalQuantity } from "../../../meta/quantity.ts";
import type { KindContext } from "../kind.ts";
import { setSourceDefaults } from "./container-defaults.ts";
import { defaultPullPolicy } from "./image-tag.ts";
import { setEmpty, setMissing, setRoundedRequirements, structAt } from "../defaults.ts";

const READABLE_BY_ALL = 0o644;
const HOUR_SECONDS = 3600;
const WITH_MODE = ["secret", "configMap", "downwardAPI", "projected"] as const;

/** Sets defaults in place. */
export function setVolumeDefaults(volume: JsonObject, context: KindContext): void {
  if (Object.values(volume).every((member) => !isJsonObject(member))) volume["emptyDir"] = {};
  for (const name of WITH_MODE) {
    const source = volume[name];
    if (isJsonObject(source)) source["defaultMode"] ??= READABLE_BY_ALL;
  }
  setSpecialDefaults(volume, context);
  for (const item of objectsAt(objectAt(volume, "downwardAPI"), "items")) setSourceDefaults(item);
  for (const source of objectsAt(objectAt(volume, "projected"), "sources")) setProjectionDefaults(source);
  setRemoteDefaults(volume);
}

function setSpecialDefaults({ emptyDir, hostPath, image, ephemeral }: JsonObject, context: KindContext): void {
  if (isJsonObject(emptyDir) && emptyDir["sizeLimit"] !== undefined)
    emptyDir["sizeLimit"] = canonicalQuantity(String(emptyDir["sizeLimit"]));
  if (isJsonObject(hostPath)) hostPath["type"] ??= "";
  if (isJsonObject(image) && context.gates.isOn("ImageVolume"))
    setEmpty(image, { pullPolicy: defaultPullPolicy(stringAt(image, "reference")) });
  if (isJsonObject(ephemeral)) setClaimTemplateDefaults(ephemeral);
}

function setClaimTemplateDefaults(ephemeral: JsonObject): void {
  const template = ephemeral["volumeClaimTemplate"];
  if (!isJsonObject(template)) return;
  template["metadata"] ??= {};
  const spec = structAt(template, "spec");
  spec["volumeMode"] ??= "Filesystem";
  setRoundedRequirements(structAt(spec, "resources"));
}

function setProjectionDefaults({ downwardAPI, serviceAccountToken }: JsonObject): void {
  if (isJsonObject(downwardAPI)) for (const item of objectsAt(downwardAPI, "items")) setSourceDefaults(item);
  if (isJsonObject(serviceAccountToken)) serviceAccountToken["expirationSeconds"] ??= HOUR_SECONDS;
}

/** Sets in place the defaults of sources that pods and PersistentVolumes share. */
export function setRemoteDefaults({ iscsi, rbd, azureDisk, scaleIO }: JsonObject): void {
  if (isJsonObject(iscsi)) setEmpty(iscsi, { iscsiInterface: "default" });
  if (isJsonObject(rbd)) setEmpty(rbd, { pool: "rbd", user: "admin", keyring: "/etc/ceph/keyring" });
  if (isJsonObject(azureDisk))
    setMissing(azureDisk, { cachingMode: "ReadWrite", fsType: "ext4", readOnly: false, kind: "Shared" });
  if (isJsonObject(scaleIO)) setEmpty(scaleIO, { storageMode: "ThinProvisioned", fsType: "xfs" });
}
