/**
 * Parses and applies `--runtime-config`, which enables and disables group versions and resources. A more specific entry
 * overrides a less specific one: api/all, then api/ga, api/beta or api/alpha, then a group version, then a resource of
 * a group version.
 */
export interface RuntimeConfig {
  /** Keyed by "api/all", "api/ga", "api/beta", "api/alpha". */
  readonly classes: ReadonlyMap<VersionClassKey, boolean>;
  /** Keyed by group version, such as "batch/v1", or "v1" for the core group. */
  readonly groupVersions: ReadonlyMap<string, boolean>;
  /** Keyed by group version and resource, such as "batch/v1/jobs". */
  readonly resources: ReadonlyMap<string, boolean>;
}

type VersionClassKey = "api/all" | "api/ga" | "api/beta" | "api/alpha";

const VERSION_CLASSES: Readonly<Record<VersionClassKey, RegExp>> = {
  "api/all": /^/,
  "api/ga": /^v\d+$/,
  "api/beta": /^v\d+beta\d+$/,
  "api/alpha": /^v\d+alpha\d+$/,
};

/** As kubernetes: this key has no effect. */
const LEGACY = "api/legacy";

/** The spellings of booleans that kube-apiserver's flag accepts. */
const BOOLEANS: ReadonlyMap<string, boolean> = new Map([
  ...["", "1", "t", "T", "TRUE", "true", "True"].map((text) => [text, true] as const),
  ...["0", "f", "F", "FALSE", "false", "False"].map((text) => [text, false] as const),
]);

export const EMPTY_RUNTIME_CONFIG: RuntimeConfig = Object.freeze({
  classes: new Map(),
  groupVersions: new Map(),
  resources: new Map(),
});

/** Parses comma-separated `key=value` pairs. The last value of a key is used, and a key without a value means true. */
export function parseRuntimeConfig(text: string | readonly string[]): RuntimeConfig {
  const classes = new Map<VersionClassKey, boolean>();
  const groupVersions = new Map<string, boolean>();
  const resources = new Map<string, boolean>();
  for (const [key, value] of splitPairs(text)) {
    const isEnabled = parseValue(key, value);
    if (key === LEGACY) continue;
    if (isVersionClassKey(key)) {
      classes.set(key, isEnabled);
      continue;
    }
    const path = parseKey(key);
    if (path.resource === undefined) groupVersions.set(path.groupVersion, isEnabled);
    else resources.set(`${path.groupVersion}/${path.resource}`, isEnabled);
  }
  if (classes.get("api/all") === false && classes.size + groupVersions.size + resources.size === 1) {
    throw new Error("The runtime config api/all=false alone leaves nothing to serve.");
  }
  return { classes, groupVersions, resources };
}

/** Whether the config enables or disables a resource of a group version; undefined if it does neither. */
export function runtimeConfigState(
  config: RuntimeConfig,
  target: { readonly group: string; readonly version: string; readonly resource: string },
): boolean | undefined {
  const groupVersion = target.group === "" ? target.version : `${target.group}/${target.version}`;
  const byResource = config.resources.get(`${groupVersion}/${target.resource}`);
  return byResource ?? config.groupVersions.get(groupVersion) ?? versionClassState(config, target.version);
}

/**
 * Throws if the config names a group or a version that is not in `known`. An unknown resource of a known group version
 * is accepted, as in kubernetes resourceconfig/helpers.go.
 */
export function checkRuntimeConfig(config: RuntimeConfig, known: ReadonlySet<string>): void {
  const knownGroups = new Set([...known].map(groupOf));
  const named = new Set([...config.groupVersions.keys(), ...[...config.resources.keys()].map(parentOf)]);
  const unknownGroups = [...new Set([...named].map(groupOf))].filter((group) => !knownGroups.has(group));
  if (unknownGroups.length > 0)
    throw new Error(`The runtime config names unknown api groups: ${unknownGroups.join(",")}.`);
  for (const groupVersion of named) {
    if (!known.has(groupVersion)) {
      throw new Error(`The runtime config names group version ${groupVersion}, which has not been registered.`);
    }
  }
}

function versionClassState(config: RuntimeConfig, version: string): boolean | undefined {
  let state: boolean | undefined;
  for (const key of Object.keys(VERSION_CLASSES) as VersionClassKey[]) {
    if (VERSION_CLASSES[key].test(version)) state = config.classes.get(key) ?? state;
  }
  return state;
}

function splitPairs(text: string | readonly string[]): [key: string, value: string][] {
  const parts = (typeof text === "string" ? [text] : text).flatMap((part) => part.split(","));
  const trimmed = parts.map((part) => part.trim()).filter((part) => part !== "");
  return trimmed.map((pair) => {
    const equals = pair.indexOf("=");
    if (equals === -1) return [pair, ""];
    return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
  });
}

function isVersionClassKey(key: string): key is VersionClassKey {
  return Object.hasOwn(VERSION_CLASSES, key);
}

// As kubernetes, the core group may also be written "v1" and "api/v1".
// DIFFERS: "v1/pods" and "api/v1/pods" name the resource; kube-apiserver takes them for the whole group.
function parseKey(key: string): { groupVersion: string; resource: string | undefined } {
  const tokens = key.split("/");
  if (key === "v1") tokens.unshift("");
  if (tokens[0] === "api" && tokens[1] === "v1") tokens[0] = "";
  const [group, version, resource] = tokens;
  if (group === undefined || version === undefined || version === "" || resource === "" || tokens.length > 3) {
    throw new Error(
      `The runtime config key ${JSON.stringify(key)} is neither group/version nor group/version/resource.`,
    );
  }
  if (resource !== undefined && resource !== resource.toLowerCase()) {
    throw new Error(`The runtime config key ${key} must name the resource in lowercase plural, not ${resource}.`);
  }
  return { groupVersion: group === "" ? version : `${group}/${version}`, resource };
}

function parseValue(key: string, value: string): boolean {
  const parsed = BOOLEANS.get(value);
  if (parsed === undefined) throw new Error(`The runtime config value ${key}=${value} is neither true nor false.`);
  return parsed;
}

function groupOf(groupVersion: string): string {
  const slash = groupVersion.indexOf("/");
  return slash === -1 ? "" : groupVersion.slice(0, slash);
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}
