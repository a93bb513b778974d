/** Checks of the privileges of a pod's processes, and of its volume types. */
import { isJsonObject, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../../meta/json.ts";
import {
  violatingContainers,
  containersOf,
  containersText,
  contextOf,
  hasUserNamespace,
  isWindows,
  plural,
  quoted,
  settersText,
  sorted,
  unless,
  type PodSecurityCheck,
  type CheckPod,
  type PodLike,
} from "./check.ts";

function privileged(pod: PodLike): ReturnType<CheckPod> {
  const names = violatingContainers(pod, (container) => contextOf(container)["privileged"] === true);
  if (names.length === 0) return undefined;
  return { reason: "privileged", detail: `${containersText(names)} must not set securityContext.privileged=true` };
}

function allowPrivilegeEscalation(pod: PodLike): ReturnType<CheckPod> {
  const names = violatingContainers(pod, (container) => contextOf(container)["allowPrivilegeEscalation"] !== false);
  if (names.length === 0) return undefined;
  return {
    reason: "allowPrivilegeEscalation != false",
    detail: `${containersText(names)} must set securityContext.allowPrivilegeEscalation=false`,
  };
}

const CAPABILITIES: ReadonlySet<string> = new Set([
  "AUDIT_WRITE",
  "CHOWN",
  "DAC_OVERRIDE",
  "FOWNER",
  "FSETID",
  "KILL",
  "MKNOD",
  "NET_BIND_SERVICE",
  "SETFCAP",
  "SETGID",
  "SETPCAP",
  "SETUID",
  "SYS_CHROOT",
]);
const NET_BIND_SERVICE: ReadonlySet<string> = new Set(["NET_BIND_SERVICE"]);

function addedCapabilities(pod: PodLike, allowed: ReadonlySet<string>): string | undefined {
  const addedBy = (container: JsonObject): string[] =>
    stringsAt(objectAt(contextOf(container), "capabilities"), "add").filter((name) => !allowed.has(name));
  const names = violatingContainers(pod, (container) => addedBy(container).length > 0);
  if (names.length === 0) return undefined;
  const added = quoted(sorted(containersOf(pod).flatMap(addedBy)));
  return `${containersText(names)} must not include ${added} in securityContext.capabilities.add`;
}

function capabilities(pod: PodLike): ReturnType<CheckPod> {
  const detail = addedCapabilities(pod, CAPABILITIES);
  return detail === undefined ? undefined : { reason: "non-default capabilities", detail };
}

function droppedCapabilities(pod: PodLike): ReturnType<CheckPod> {
  const keeping = violatingContainers(
    pod,
    (container) => !stringsAt(objectAt(contextOf(container), "capabilities"), "drop").includes("ALL"),
  );
  const added = addedCapabilities(pod, NET_BIND_SERVICE);
  const details = [
    ...(keeping.length > 0 ? [`${containersText(keeping)} must set securityContext.capabilities.drop=["ALL"]`] : []),
    ...(added === undefined ? [] : [added]),
  ];
  return details.length === 0 ? undefined : { reason: "unrestricted capabilities", detail: details.join("; ") };
}

function procMount(pod: PodLike): ReturnType<CheckPod> {
  const mountOf = (container: JsonObject): string => stringAt(contextOf(container), "procMount") || "Default";
  const bad = containersOf(pod).filter((container) => mountOf(container) !== "Default");
  if (bad.length === 0) return undefined;
  const names = containersText(bad.map((container) => stringAt(container, "name")));
  return {
    reason: "procMount",
    detail: `${names} must not set securityContext.procMount to ${quoted(sorted(bad.map(mountOf)))}`,
  };
}

function runAsNonRoot(pod: PodLike): ReturnType<CheckPod> {
  const reason = "runAsNonRoot != true";
  const said = (one: JsonObject): unknown => contextOf(one)["runAsNonRoot"];
  const setters = settersText(
    said(pod.spec) === false,
    violatingContainers(pod, (container) => said(container) === false),
  );
  if (setters !== undefined) return { reason, detail: `${setters} must not set securityContext.runAsNonRoot=false` };
  if (said(pod.spec) === true) return undefined;
  const silent = violatingContainers(pod, (container) => said(container) !== true);
  if (silent.length === 0) return undefined;
  return { reason, detail: `pod or ${containersText(silent)} must set securityContext.runAsNonRoot=true` };
}

function runAsUser(pod: PodLike): ReturnType<CheckPod> {
  const isRoot = (one: JsonObject): boolean => contextOf(one)["runAsUser"] === 0;
  const setters = settersText(isRoot(pod.spec), violatingContainers(pod, isRoot));
  return setters === undefined ? undefined : { reason: "runAsUser=0", detail: `${setters} must not set runAsUser=0` };
}

const ALLOWED_VOLUMES: readonly string[] = [
  "configMap",
  "csi",
  "downwardAPI",
  "emptyDir",
  "ephemeral",
  "image",
  "persistentVolumeClaim",
  "projected",
  "secret",
];
const RESTRICTED_VOLUMES: readonly string[] = [
  "hostPath",
  "gcePersistentDisk",
  "awsElasticBlockStore",
  "gitRepo",
  "nfs",
  "iscsi",
  "glusterfs",
  "rbd",
  "flexVolume",
  "cinder",
  "cephfs",
  "flocker",
  "fc",
  "azureFile",
  "vsphereVolume",
  "quobyte",
  "azureDisk",
  "photonPersistentDisk",
  "portworxVolume",
  "scaleIO",
  "storageos",
];

function restrictedVolumes({ spec }: PodLike): ReturnType<CheckPod> {
  const bad = objectsAt(spec, "volumes").filter(
    (volume) => !ALLOWED_VOLUMES.some((type) => isJsonObject(volume[type])),
  );
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map((volume) => RESTRICTED_VOLUMES.find((type) => isJsonObject(volume[type])) ?? "unknown"));
  const names = `${plural(bad.length, "volume", "volumes")} ${quoted(bad.map((volume) => stringAt(volume, "name")))}`;
  const noun = plural(types.length, "restricted volume type", "restricted volume types");
  return {
    reason: "restricted volume types",
    detail: `${names} ${plural(bad.length, "uses", "use")} ${noun} ${quoted(types)}`,
  };
}

export const PRIVILEGE_CHECKS: readonly PodSecurityCheck[] = [
  { id: "capabilities_baseline", level: "baseline", versions: [[0, capabilities]] },
  { id: "privileged", level: "baseline", versions: [[0, privileged]] },
  {
    id: "procMount",
    level: "baseline",
    versions: [
      [0, procMount],
      [35, unless(hasUserNamespace, procMount)],
    ],
  },
  {
    id: "allowPrivilegeEscalation",
    level: "restricted",
    versions: [
      [8, allowPrivilegeEscalation],
      [25, unless(isWindows, allowPrivilegeEscalation)],
    ],
  },
  {
    id: "capabilities_restricted",
    level: "restricted",
    overrides: "capabilities_baseline",
    versions: [
      [22, droppedCapabilities],
      [25, unless(isWindows, droppedCapabilities)],
    ],
  },
  { id: "procMount_restricted", level: "restricted", overrides: "procMount", versions: [[35, procMount]] },
  { id: "restrictedVolumes", level: "restricted", overrides: "hostPathVolumes", versions: [[0, restrictedVolumes]] },
  {
    id: "runAsNonRoot",
    level: "restricted",
    versions: [
      [0, runAsNonRoot],
      [35, unless(hasUserNamespace, runAsNonRoot)],
    ],
  },
  {
    id: "runAsUser",
    level: "restricted",
    versions: [
      [23, runAsUser],
      [35, unless(hasUserNamespace, runAsUser)],
    ],
  },
];
