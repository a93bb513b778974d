/** Parses a PodSecurityConfiguration: the policy of namespaces without labels, and the exempt pods. */
import { isJsonObject, type JsonObject } from "../../../../meta/json.ts";
import { dnsLabelErrors, dnsSubdomainErrors } from "../../../../meta/names.ts";
import { parseLevel, parseMinor, UNLIMITED, type LevelVersion, type PodSecurityPolicy } from "./policy.ts";

export interface PodSecurityConfiguration {
  /** The policy of a namespace without labels. */
  readonly defaults: PodSecurityPolicy;
  readonly exemptions: {
    readonly usernames: ReadonlySet<string>;
    readonly namespaces: ReadonlySet<string>;
    readonly runtimeClasses: ReadonlySet<string>;
  };
}

export const NO_POD_SECURITY_CONFIGURATION: PodSecurityConfiguration = {
  defaults: { enforce: UNLIMITED, audit: UNLIMITED, warn: UNLIMITED },
  exemptions: { usernames: new Set(), namespaces: new Set(), runtimeClasses: new Set() },
};

const GROUP = "pod-security.admission.config.k8s.io";
const API_VERSIONS: readonly string[] = ["v1", "v1beta1", "v1alpha1"].map((version) => `${GROUP}/${version}`);
const MODES = ["enforce", "audit", "warn"] as const;

/** Throws an Error with one sentence if the configuration is invalid. As kubernetes, unknown fields are invalid. */
export function parsePodSecurityConfiguration(value: unknown): PodSecurityConfiguration {
  if (!isJsonObject(value)) throw new Error("a PodSecurityConfiguration must be an object");
  const { apiVersion, kind } = value;
  if (kind !== "PodSecurityConfiguration" || !API_VERSIONS.includes(String(apiVersion)))
    throw new Error(`a PodSecurityConfiguration must be of ${API_VERSIONS.join(", ")}, not ${String(apiVersion)}`);
  rejectUnknown(value, "", ["apiVersion", "kind", "defaults", "exemptions"]);
  const defaults = objectIn(value, "defaults", [...MODES, ...MODES.map((mode) => `${mode}-version`)]);
  const exemptions = objectIn(value, "exemptions", ["usernames", "namespaces", "runtimeClasses"]);
  const [enforce, audit, warn] = MODES.map((mode) => levelVersion(defaults, mode)) as [
    LevelVersion,
    LevelVersion,
    LevelVersion,
  ];
  return {
    defaults: { enforce, audit, warn },
    exemptions: {
      usernames: names(exemptions, "usernames", () => []),
      namespaces: names(exemptions, "namespaces", dnsLabelErrors),
      runtimeClasses: names(exemptions, "runtimeClasses", dnsSubdomainErrors),
    },
  };
}

function objectIn(parent: JsonObject, member: string, members: readonly string[]): JsonObject {
  const value = parent[member] ?? {};
  if (!isJsonObject(value)) throw new Error(`${member} must be an object`);
  rejectUnknown(value, `${member}.`, members);
  return value;
}

function rejectUnknown(object: JsonObject, path: string, members: readonly string[]): void {
  const unknown = Object.keys(object).find((member) => !members.includes(member));
  if (unknown !== undefined) throw new Error(`unknown field ${JSON.stringify(`${path}${unknown}`)}`);
}

function levelVersion(defaults: JsonObject, mode: (typeof MODES)[number]): LevelVersion {
  const textOf = (member: string, whenAbsent: string): string => {
    const text = defaults[member] ?? "";
    if (typeof text !== "string") throw new Error(`defaults.${member} must be a string`);
    return text === "" ? whenAbsent : text;
  };
  const level = textOf(mode, "privileged");
  const version = textOf(`${mode}-version`, "latest");
  return {
    level: parseLevel(level) ?? invalid(`defaults.${mode}`, level, "must be one of privileged, baseline, restricted"),
    minor:
      version === "latest"
        ? undefined
        : (parseMinor(version) ?? invalid(`defaults.${mode}-version`, version, 'must be "latest" or "v1.x"')),
  };
}

function names(
  exemptions: JsonObject,
  member: string,
  errorsOf: (name: string) => readonly string[],
): ReadonlySet<string> {
  const list = exemptions[member] ?? [];
  if (!Array.isArray(list)) throw new Error(`exemptions.${member} must be a list`);
  const seen = new Set<string>();
  for (const [index, name] of list.entries()) {
    const field = `exemptions.${member}[${index}]`;
    if (typeof name !== "string" || name === "") return invalid(field, String(name), "must not be empty");
    const [error] = errorsOf(name);
    if (error !== undefined) invalid(field, name, error);
    if (seen.has(name)) invalid(field, name, "is a duplicate");
    seen.add(name);
  }
  return seen;
}

function invalid(field: string, value: string, why: string): never {
  throw new Error(`${field}: invalid value ${JSON.stringify(value.slice(0, 100))}: ${why}`);
}
