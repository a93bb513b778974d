/** Validation of fields that only one operating system supports. */
import { forbiddenField, invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import type { KindContext } from "../../kind.ts";
import { containersWithFields } from "./container-visit.ts";

const OPERATING_SYSTEMS: readonly string[] = ["linux", "windows"];
const CREDENTIAL_SPEC_KIB_MAX = 64;
const DOMAIN_LENGTH_MAX = 256;
const USER_LENGTH_MAX = 104;
const DNS_LABEL = "[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?";
const DNS_DOMAIN = new RegExp(`^${DNS_LABEL}(?:\\.${DNS_LABEL})*$`);
const NETBIOS_DOMAIN = /^[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}$/;
// oxlint-disable-next-line no-control-regex -- the pattern finds control characters
const CONTROL = /[\u0000-\u001f\u007f]/;

export function* windowsOptionsErrors(options: unknown, field: string): Generator<FieldError> {
  if (!isJsonObject(options)) return;
  const name = options["gmsaCredentialSpecName"];
  if (typeof name === "string") yield* nameErrors(name, `${field}.gmsaCredentialSpecName`, dnsSubdomainErrors);
  const credentials = options["gmsaCredentialSpec"];
  if (credentials === "")
    yield invalidValue(`${field}.gmsaCredentialSpec`, "", "gmsaCredentialSpec cannot be an empty string");
  else if (typeof credentials === "string" && credentials.length > CREDENTIAL_SPEC_KIB_MAX * 1024)
    yield invalidValue(
      `${field}.gmsaCredentialSpec`,
      credentials,
      `gmsaCredentialSpec size must be under ${CREDENTIAL_SPEC_KIB_MAX} KiB`,
    );
  const user = options["runAsUserName"];
  if (typeof user === "string")
    for (const why of userNameErrors(user)) yield invalidValue(`${field}.runAsUserName`, user, why);
}

function* userNameErrors(text: string): Generator<string> {
  const parts = text.split("\\");
  if (text === "") yield "runAsUserName cannot be an empty string";
  else if (CONTROL.test(text)) yield "runAsUserName cannot contain control characters";
  else if (parts.length > 2) yield "runAsUserName cannot contain more than one backslash";
  else {
    const domain = parts.length === 2 ? parts[0] : undefined;
    if (domain !== undefined && domain.length >= DOMAIN_LENGTH_MAX)
      yield `runAsUserName's Domain length must be under ${DOMAIN_LENGTH_MAX} characters`;
    if (domain !== undefined && !NETBIOS_DOMAIN.test(domain) && !DNS_DOMAIN.test(domain))
      yield "runAsUserName's Domain doesn't match the NetBios nor the DNS format";
    const user = parts.at(-1) ?? "";
    if (user === "") yield "runAsUserName's User cannot be empty";
    else if (user.length > USER_LENGTH_MAX)
      yield `runAsUserName's User length must not be longer than ${USER_LENGTH_MAX} characters`;
    if (/^[. ]+$/.test(user)) yield "runAsUserName's User cannot contain only periods or spaces";
    if (/["/\\:;|=,+*?<>@[\]]/.test(user))
      yield "runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]";
  }
}

/** Validates HostProcess containers. `field`: the path of the spec. */
export function* hostProcessErrors(
  spec: JsonObject,
  field: string,
  { forbidsPrivileged }: KindContext,
): Generator<FieldError> {
  const ofPod = hostProcessOf(spec);
  let isAny = false;
  let isAll = true;
  for (const { container, field: at } of containersWithFields(spec, field)) {
    const own = hostProcessOf(container);
    if (ofPod !== undefined && own !== undefined && ofPod !== own)
      yield invalidValue(
        `${at}.securityContext.windowsOptions.hostProcess`,
        own,
        `pod hostProcess value must be identical if both are specified, was ${ofPod}`,
      );
    const isHostProcess = own ?? ofPod ?? false;
    isAny ||= isHostProcess;
    isAll &&= isHostProcess;
  }
  if (!isAny) return;
  if (!isAll)
    yield invalidValue(
      field,
      "",
      "If pod contains any hostProcess containers then all containers must be HostProcess containers",
    );
  if (spec["hostNetwork"] !== true)
    yield invalidValue(
      `${field}.hostNetwork`,
      false,
      "hostNetwork must be true if pod contains any hostProcess containers",
    );
  if (forbidsPrivileged === true)
    yield forbiddenField(field, "hostProcess containers are disallowed by cluster policy");
}

function hostProcessOf(parent: JsonObject): boolean | undefined {
  const value = objectAt(objectAt(parent, "securityContext"), "windowsOptions")["hostProcess"];
  return typeof value === "boolean" ? value : undefined;
}

/** Rejects fields that the operating system of the pod does not support. */
export function* operatingSystemErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const { os } = spec;
  if (!isJsonObject(os)) return;
  const name = stringAt(os, "name");
  if (name === "") yield required(`${field}.os.name`);
  else if (!OPERATING_SYSTEMS.includes(name)) yield unsupportedValue(`${field}.os`, name, OPERATING_SYSTEMS);
  else if (name === "linux") yield* onlyLinuxErrors(spec, field);
  else yield* onlyWindowsErrors(spec, field);
}

function* onlyLinuxErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const all = [{ container: spec, field }, ...containersWithFields(spec, field)];
  for (const { container, field: at } of all)
    if (objectAt(container, "securityContext")["windowsOptions"] !== undefined)
      yield forbiddenField(`${at}.securityContext.windowsOptions`, "windows options cannot be set for a linux pod");
}

const NOT_FOR_WINDOWS = "cannot be set for a windows pod";
/**
 * Fields of a pod that Windows does not support, in the order in which Kubernetes checks them. Fields of the spec
 * itself begin with a dot.
 */
const POD_MEMBERS: readonly string[] = [
  "appArmorProfile",
  "seLinuxOptions",
  ".hostUsers",
  ".hostPID",
  ".hostIPC",
  "seccompProfile",
  "fsGroup",
  "fsGroupChangePolicy",
  "sysctls",
  ".shareProcessNamespace",
  "runAsUser",
  "runAsGroup",
  "supplementalGroups",
  "supplementalGroupsPolicy",
  "seLinuxChangePolicy",
];
const CONTAINER_MEMBERS: readonly string[] = [
  "appArmorProfile",
  "seLinuxOptions",
  "seccompProfile",
  "capabilities",
  "readOnlyRootFilesystem",
  "privileged",
  "allowPrivilegeEscalation",
  "procMount",
  "runAsUser",
  "runAsGroup",
];

function* onlyWindowsErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const security = objectAt(spec, "securityContext");
  for (const member of POD_MEMBERS) {
    const isOfSpec = member.startsWith(".");
    const value = isOfSpec ? spec[member.slice(1)] : security[member];
    const isSet = member === ".hostPID" || member === ".hostIPC" ? value === true : value !== undefined;
    if (isSet)
      yield forbiddenField(isOfSpec ? `${field}${member}` : `${field}.securityContext.${member}`, NOT_FOR_WINDOWS);
  }
  for (const { container, field: at } of containersWithFields(spec, field)) {
    const own = objectAt(container, "securityContext");
    for (const member of CONTAINER_MEMBERS)
      if (own[member] !== undefined) yield forbiddenField(`${at}.securityContext.${member}`, NOT_FOR_WINDOWS);
  }
}
