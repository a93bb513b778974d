/** Validation of the security contexts of pods and containers. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  tooLong,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import {
  isJsonObject,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  stringsAt,
  type JsonObject,
} from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { descendingPathErrors, idErrors } from "./formats.ts";
import type { SpecContext } from "./spec-context.ts";
import { windowsOptionsErrors } from "./windows-rules.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

const PROC_MOUNTS: readonly string[] = ["Default", "Unmasked"];
const PROFILE_TYPES: readonly string[] = ["Localhost", "RuntimeDefault", "Unconfined"];
const FS_GROUP_POLICIES: readonly string[] = ["Always", "OnRootMismatch"];
const GROUPS_POLICIES: readonly string[] = ["Merge", "Strict"];
/** The policy MountOption needs a feature gate that is off by default. */
const SELINUX_POLICIES: readonly string[] = ["Recursive"];
const SELINUX_POLICIES_KEPT: readonly string[] = ["MountOption", "Recursive"];
const PROFILE_PATH_MAX = 4095;
const SYSCTL_LENGTH_MAX = 253;
const SYSCTL_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?";
const SYSCTL = `^(${SYSCTL_SEGMENT}[\\./])*${SYSCTL_SEGMENT}$`;
const SYSCTL_PATTERN = new RegExp(SYSCTL);
const IPC_SYSCTLS: ReadonlySet<string> = new Set([
  ...["sem", "shmall", "shmmax", "shmmni", "shm_rmid_forced", "shm"].map((name) => `kernel.${name}`),
  ...["msgmax", "msgmnb", "msgmni", "msg"].map((name) => `kernel.${name}`),
]);

/** Validates the security context of a container and its combination with the host settings of the pod. */
export function* containerSecurityErrors(
  container: JsonObject,
  field: string,
  context: SpecContext & { readonly hasHostUsers: boolean },
): Generator<FieldError> {
  const security = container["securityContext"];
  if (!isJsonObject(security)) return;
  if (security["privileged"] === true && context.forbidsPrivileged === true)
    yield forbiddenField(`${field}.privileged`, "disallowed by cluster policy");
  yield* idErrors(numberAt(security, "runAsUser"), `${field}.runAsUser`);
  yield* idErrors(numberAt(security, "runAsGroup"), `${field}.runAsGroup`);
  yield* procMountErrors(security["procMount"], `${field}.procMount`, context.hasHostUsers);
  yield* seccompErrors(security["seccompProfile"], `${field}.seccompProfile`);
  yield* escalationErrors(security, field, context);
  yield* windowsOptionsErrors(security["windowsOptions"], `${field}.windowsOptions`);
  yield* appArmorErrors(security["appArmorProfile"], `${field}.appArmorProfile`);
}

function* procMountErrors(mount: unknown, field: string, hasHostUsers: boolean): Generator<FieldError> {
  if (mount === undefined) return;
  if (!PROC_MOUNTS.includes(String(mount))) yield unsupportedValue(field, mount, PROC_MOUNTS);
  if (hasHostUsers && mount === "Unmasked")
    yield invalidValue(field, mount, "`hostUsers` must be false to use `Unmasked`");
}

function* escalationErrors(security: JsonObject, field: string, context: SpecContext): Generator<FieldError> {
  if (security["allowPrivilegeEscalation"] !== false) return;
  const whole = (): unknown => internalValue(security, "SecurityContext", context);
  if (security["privileged"] === true)
    yield invalidValue(field, whole(), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true");
  for (const capability of stringsAt(objectAt(security, "capabilities"), "add"))
    if (capability === "CAP_SYS_ADMIN")
      yield invalidValue(
        field,
        whole(),
        "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN",
      );
}

function* seccompErrors(profile: unknown, field: string): Generator<FieldError> {
  if (!isJsonObject(profile)) return;
  const type = stringAt(profile, "type");
  if (type === "") yield required(`${field}.type`, "type is required when seccompProfile is set");
  else if (!PROFILE_TYPES.includes(type)) yield unsupportedValue(`${field}.type`, type, PROFILE_TYPES);
  const path = profile["localhostProfile"];
  if (type === "Localhost") {
    if (path === undefined) yield required(`${field}.localhostProfile`, "must be set when seccomp type is Localhost");
    else yield* descendingPathErrors(String(path), `${field}.localhostProfile`);
  } else if (path !== undefined)
    yield invalidValue(
      `${field}.localhostProfile`,
      { Type: type, LocalhostProfile: path },
      "can only be set when seccomp type is Localhost",
    );
}

function* appArmorErrors(profile: unknown, field: string): Generator<FieldError> {
  if (!isJsonObject(profile)) return;
  const type = stringAt(profile, "type");
  const path = profile["localhostProfile"];
  if (type === "") yield required(`${field}.type`, "type is required when appArmorProfile is set");
  else if (!PROFILE_TYPES.includes(type)) yield unsupportedValue(`${field}.type`, type, PROFILE_TYPES);
  else if (type !== "Localhost") {
    if (path !== undefined)
      yield invalidValue(`${field}.localhostProfile`, path, "can only be set when AppArmor type is Localhost");
  } else yield* appArmorPathErrors(typeof path === "string" ? path : "", `${field}.localhostProfile`);
}

function* appArmorPathErrors(path: string, field: string): Generator<FieldError> {
  if (path.trim() !== path) yield invalidValue(field, path, "must not be padded with whitespace");
  else if (path === "") yield required(field, "must be set when AppArmor type is Localhost");
  if (path.length > PROFILE_PATH_MAX) yield tooLong(field, PROFILE_PATH_MAX);
}

/** Validates the security context of a pod. `field`: the path of the spec. */
export function* podSecurityErrors(
  spec: JsonObject,
  field: string,
  { before = {} }: SpecContext,
): Generator<FieldError> {
  const security = objectAt(spec, "securityContext");
  const at = `${field}.securityContext`;
  for (const name of ["fsGroup", "runAsUser", "runAsGroup"] as const)
    yield* idErrors(numberAt(security, name), `${at}.${name}`);
  const groups = security["supplementalGroups"];
  if (Array.isArray(groups))
    for (const [index, group] of groups.entries()) yield* idErrors(Number(group), `${at}.supplementalGroups[${index}]`);
  if (spec["shareProcessNamespace"] === true && spec["hostPID"] === true)
    yield invalidValue(`${at}.shareProcessNamespace`, true, "ShareProcessNamespace and HostPID cannot both be enabled");
  yield* sysctlErrors(spec, `${at}.sysctls`);
  yield* policyErrors(security["fsGroupChangePolicy"], `${at}.fsGroupChangePolicy`, FS_GROUP_POLICIES);
  yield* seccompErrors(security["seccompProfile"], `${at}.seccompProfile`);
  yield* windowsOptionsErrors(security["windowsOptions"], `${at}.windowsOptions`);
  yield* appArmorErrors(security["appArmorProfile"], `${at}.appArmorProfile`);
  yield* policyErrors(security["supplementalGroupsPolicy"], `${at}.supplementalGroupsPolicy`, GROUPS_POLICIES);
  const hadPolicy = objectAt(before, "securityContext")["seLinuxChangePolicy"] !== undefined;
  const relabellings = hadPolicy ? SELINUX_POLICIES_KEPT : SELINUX_POLICIES;
  yield* policyErrors(security["seLinuxChangePolicy"], `${at}.seLinuxChangePolicy`, relabellings);
}

function* policyErrors(policy: unknown, field: string, supported: readonly string[]): Generator<FieldError> {
  if (policy !== undefined && !supported.includes(String(policy))) yield unsupportedValue(field, policy, supported);
}

function* sysctlErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const names = new Set<string>();
  for (const [index, sysctl] of objectsAt(objectAt(spec, "securityContext"), "sysctls").entries()) {
    const at = `${field}[${index}].name`;
    const name = stringAt(sysctl, "name");
    if (name === "") yield required(at);
    else if (name.length > SYSCTL_LENGTH_MAX || !SYSCTL_PATTERN.test(name))
      yield invalidValue(at, name, `must have at most ${SYSCTL_LENGTH_MAX} characters and match regex ${SYSCTL}`);
    else if (names.has(name)) yield duplicateValue(at, name);
    const kernelSpace = kernelSpaceOf(name);
    if (spec["hostNetwork"] === true && kernelSpace === "net")
      yield invalidValue(at, name, "may not be specified when 'hostNetwork' is true");
    else if (spec["hostIPC"] === true && kernelSpace === "ipc")
      yield invalidValue(at, name, "may not be specified when 'hostIPC' is true");
    names.add(name);
  }
}

/** The kernel namespace of a sysctl that pods can set; undefined for every other sysctl. */
function kernelSpaceOf(sysctl: string): "net" | "ipc" | undefined {
  const separator = /[./]/.exec(sysctl)?.[0];
  const dotted = separator === "/" ? sysctl.replace(/[./]/g, (mark) => (mark === "/" ? "." : "/")) : sysctl;
  const [name = ""] = dotted.split("*");
  if (name.startsWith("net.")) return "net";
  return IPC_SYSCTLS.has(name) || name.startsWith("fs.mqueue.") ? "ipc" : undefined;
}

/**
 * Rejects a pod with its own user namespace (hostUsers: false) that shares other namespaces with the host or has raw
 * block devices. `field`: the path of the spec.
 */
export function* hostUsersErrors(spec: JsonObject, field: string): Generator<FieldError> {
  if (spec["hostUsers"] !== false) return;
  const why = "when `hostUsers` is false";
  if (spec["hostNetwork"] === true) yield forbiddenField(`${field}.hostNetwork`, why);
  // As kubernetes: these two names are capitalized.
  if (spec["hostPID"] === true) yield forbiddenField(`${field}.HostPID`, why);
  if (spec["hostIPC"] === true) yield forbiddenField(`${field}.HostIPC`, why);
  for (const list of ["initContainers", "containers", "ephemeralContainers"])
    for (const [index, container] of objectsAt(spec, list).entries())
      if (objectsAt(container, "volumeDevices").length > 0)
        yield forbiddenField(`${field}.${list}[${index}].volumeDevices`, why);
}
