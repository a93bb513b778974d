/** What a volume is taken to say when it says nothing. */
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { canonicalQuantity } from "../../../meta/quantity.ts";
import { objectsAt } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import { setSourceDefaults } from "./container-defaults.ts";
import { defaultPullPolicy } from "./image-tag.ts";
import { hasFeature } from "./pod-features.ts";
import { setResourcesDefaults } from "./resource-lists.ts";
import { setWhenEmpty } from "./set-when-empty.ts";

const READABLE_BY_ALL = 0o644;
const HOUR_SECONDS = 3600;
const WITH_MODE = ["secret", "configMap", "downwardAPI", "projected"] as const;

/** In place. */
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
  if (isJsonObject(image) && hasFeature("ImageVolume", context))
    setWhenEmpty(image, "pullPolicy", defaultPullPolicy(stringAt(image, "reference")));
  if (isJsonObject(ephemeral)) setClaimTemplateDefaults(ephemeral);
}

function setClaimTemplateDefaults(ephemeral: JsonObject): void {
  const template = ephemeral["volumeClaimTemplate"];
  if (!isJsonObject(template)) return;
  template["metadata"] ??= {};
  const spec = objectAt(template, "spec");
  spec["volumeMode"] ??= "Filesystem";
  const resources = objectAt(spec, "resources");
  setResourcesDefaults(resources);
  spec["resources"] = resources;
  template["spec"] = spec;
}

function setProjectionDefaults({ downwardAPI, serviceAccountToken }: JsonObject): void {
  if (isJsonObject(downwardAPI)) for (const item of objectsAt(downwardAPI, "items")) setSourceDefaults(item);
  if (isJsonObject(serviceAccountToken)) serviceAccountToken["expirationSeconds"] ??= HOUR_SECONDS;
}

function setRemoteDefaults({ iscsi, rbd, azureDisk, scaleIO }: JsonObject): void {
  if (isJsonObject(iscsi)) setWhenEmpty(iscsi, "iscsiInterface", "default");
  if (isJsonObject(rbd)) {
    setWhenEmpty(rbd, "pool", "rbd");
    setWhenEmpty(rbd, "user", "admin");
    setWhenEmpty(rbd, "keyring", "/etc/ceph/keyring");
  }
  if (isJsonObject(azureDisk)) {
    azureDisk["cachingMode"] ??= "ReadWrite";
    azureDisk["fsType"] ??= "ext4";
    azureDisk["readOnly"] ??= false;
    azureDisk["kind"] ??= "Shared";
  }
  if (isJsonObject(scaleIO)) {
    setWhenEmpty(scaleIO, "storageMode", "ThinProvisioned");
    setWhenEmpty(scaleIO, "fsType", "xfs");
  }
}
