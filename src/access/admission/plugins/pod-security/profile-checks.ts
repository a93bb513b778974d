/** Checks of the profiles that confine containers: AppArmor, seccomp and SELinux. */
import { goQuote } from "../../../../meta/go-quote.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import {
  violatingContainers,
  containersOf,
  containersText,
  contextOf,
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

const APP_ARMOR_PREFIX = "container.apparmor.security.beta.kubernetes.io/";
const SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod";
const SECCOMP_PREFIX = "container.seccomp.security.alpha.kubernetes.io/";
const CONFINED: ReadonlySet<unknown> = new Set(["RuntimeDefault", "Localhost"]);

type ProfileName = "appArmorProfile" | "seccompProfile";

function hasBadProfile(containerOrSpec: JsonObject, name: ProfileName): boolean {
  const profile = contextOf(containerOrSpec)[name];
  return isJsonObject(profile) && !CONFINED.has(profile["type"]);
}

/** The text that names the pod or containers with forbidden profiles, and the types of these profiles. */
function badProfiles(pod: PodLike, name: ProfileName) {
  const isPodBad = hasBadProfile(pod.spec, name);
  const bad = [...(isPodBad ? [pod.spec] : []), ...containersOf(pod).filter((one) => hasBadProfile(one, name))];
  return {
    setters: settersText(
      isPodBad,
      violatingContainers(pod, (container) => hasBadProfile(container, name)),
    ),
    values: sorted(bad.map((one) => stringAt(objectAt(contextOf(one), name), "type"))),
  };
}

function appArmor(pod: PodLike): ReturnType<CheckPod> {
  const { setters, values } = badProfiles(pod, "appArmorProfile");
  const annotations = Object.entries(objectAt(pod.metadata, "annotations"))
    .filter(([key, value]) => key.startsWith(APP_ARMOR_PREFIX) && !isAllowedAppArmor(String(value)))
    .map(([key, value]) => `${key}=${goQuote(String(value))}`)
    .sort();
  const all = [
    ...(setters === undefined ? [] : [setters]),
    ...(annotations.length > 0 ? [plural(annotations.length, "annotation", "annotations")] : []),
  ];
  if (all.length === 0) return undefined;
  const reported = [...values, ...annotations];
  return {
    reason: plural(reported.length, "forbidden AppArmor profile", "forbidden AppArmor profiles"),
    detail: `${all.join(" and ")} must not set AppArmor profile type to ${quoted(reported)}`,
  };
}

function isAllowedAppArmor(value: string): boolean {
  return value === "" || value === "runtime/default" || value.startsWith("localhost/");
}

function seccompAnnotations(pod: PodLike): ReturnType<CheckPod> {
  const annotations = objectAt(pod.metadata, "annotations");
  const keys = [SECCOMP_POD, ...containersOf(pod).map((container) => SECCOMP_PREFIX + stringAt(container, "name"))];
  const forbidden = sorted(
    keys
      .filter((key) => Object.hasOwn(annotations, key) && !isAllowedSeccomp(stringAt(annotations, key)))
      .map((key) => `${key}=${goQuote(stringAt(annotations, key))}`),
  );
  if (forbidden.length === 0) return undefined;
  const noun = plural(forbidden.length, "annotation", "annotations");
  return { reason: "seccompProfile", detail: `forbidden ${noun} ${forbidden.join(", ")}` };
}

function isAllowedSeccomp(value: string): boolean {
  return value === "runtime/default" || value === "docker/default" || value.startsWith("localhost/");
}

function seccomp(pod: PodLike): ReturnType<CheckPod> {
  const { setters, values } = badProfiles(pod, "seccompProfile");
  if (setters === undefined) return undefined;
  return {
    reason: "seccompProfile",
    detail: `${setters} must not set securityContext.seccompProfile.type to ${quoted(values)}`,
  };
}

function seccompRequired(pod: PodLike): ReturnType<CheckPod> {
  const explicit = seccomp(pod);
  if (explicit !== undefined || hasProfile(pod.spec)) return explicit;
  const silent = violatingContainers(pod, (container) => !hasProfile(container));
  if (silent.length === 0) return undefined;
  const detail = `pod or ${containersText(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`;
  return { reason: "seccompProfile", detail };
}

function hasProfile(containerOrSpec: JsonObject): boolean {
  return isJsonObject(contextOf(containerOrSpec)["seccompProfile"]);
}

const SE_LINUX_TYPES: readonly string[] = ["", "container_t", "container_init_t", "container_kvm_t"];

function seLinux(allowedTypes: readonly string[]): CheckPod {
  const allowed = new Set(allowedTypes);
  const optionsOf = (one: JsonObject): JsonObject => objectAt(contextOf(one), "seLinuxOptions");
  const isBad = (one: JsonObject): boolean => {
    const options = optionsOf(one);
    return ["user", "role"].some((key) => stringAt(options, key) !== "") || !allowed.has(stringAt(options, "type"));
  };
  return (pod) => {
    const isPodBad = isBad(pod.spec);
    const setters = settersText(isPodBad, violatingContainers(pod, isBad));
    if (setters === undefined) return undefined;
    const bad = [...(isPodBad ? [pod.spec] : []), ...containersOf(pod).filter(isBad)].map(optionsOf);
    const types = sorted(bad.map((options) => stringAt(options, "type")).filter((type) => !allowed.has(type)));
    const data = [
      ...(types.length > 0 ? [`${plural(types.length, "type", "types")} ${quoted(types)}`] : []),
      ...["user", "role"]
        .filter((key) => bad.some((options) => stringAt(options, key) !== ""))
        .map((key) => `${key} may not be set`),
    ];
    const detail = `${setters} set forbidden securityContext.seLinuxOptions: ${data.join("; ")}`;
    return { reason: "seLinuxOptions", detail };
  };
}

export const PROFILE_CHECKS: readonly PodSecurityCheck[] = [
  { id: "appArmorProfile", level: "baseline", versions: [[0, appArmor]] },
  {
    id: "seLinuxOptions",
    level: "baseline",
    versions: [
      [0, seLinux(SE_LINUX_TYPES)],
      [31, seLinux([...SE_LINUX_TYPES, "container_engine_t"])],
    ],
  },
  {
    id: "seccompProfile_baseline",
    level: "baseline",
    versions: [
      [0, seccompAnnotations],
      [19, seccomp],
    ],
  },
  {
    id: "seccompProfile_restricted",
    level: "restricted",
    overrides: "seccompProfile_baseline",
    versions: [
      [19, seccompRequired],
      [25, unless(isWindows, seccompRequired)],
    ],
  },
];
