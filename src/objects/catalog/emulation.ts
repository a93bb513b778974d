/**
 * Emulates an earlier release, as kube-apiserver does with --emulated-version: decides which API versions a server
 * serves although they are newer than that release, and in which version it writes objects.
 */
import { must } from "../../base/assert.ts";
import { parseGroupVersion } from "../../meta/group-version.ts";
import { gatesOf } from "./release-gates.ts";
import type { RuntimeConfig } from "./runtime-config.ts";
import { valueIn, type ReleaseName } from "./release.ts";
import { chooseStorageVersion, type StorageCandidate, type StorageVersionRule } from "./storage-version-choice.ts";
import type { ResourceHistory } from "./stored-format.ts";

export interface Emulation {
  /** The release of the code; not earlier than the release as which the server behaves. */
  readonly binary: ReleaseName;
  /** The release whose servers must be able to decode all objects that this server writes. */
  readonly minCompatibility: ReleaseName;
  /** Whether later versions of served resources are served too. */
  readonly isForwardCompatible: boolean;
  /** Whether later versions that --runtime-config names are served. */
  readonly isRuntimeConfigForwardCompatible: boolean;
}

interface EmulatedStorage {
  readonly storageVersion: string;
  readonly decodableVersions: readonly string[];
}

/**
 * The server decodes every version that the binary can decode, so that it can read all stored objects; the versions
 * that the emulated release prefers come first. It writes the version that the binary chooses. Undefined if the binary
 * does not store the resource.
 */
export function emulatedStorage(
  stored: ResourceHistory,
  release: ReleaseName,
  { binary, minCompatibility }: Emulation,
): EmulatedStorage | undefined {
  const { storageOverride = [], decodable = [] } = stored;
  const readable = valueIn(decodable, binary) ?? [];
  const chosen = chooseStorageVersion(
    readable.map((groupVersion) => candidate(stored, groupVersion, binary)),
    { rule: storageVersionRule(binary), minCompatibility, emulated: release },
  );
  // As kubernetes: the binary writes the version of an override whatever release it emulates.
  const storageVersion = valueIn(storageOverride, binary) ?? chosen;
  if (storageVersion === undefined) return undefined;
  const preferred = (valueIn(decodable, release) ?? []).filter((version) => readable.includes(version));
  return { storageVersion, decodableVersions: [...new Set([...preferred, ...readable])] };
}

function candidate({ versions }: ResourceHistory, groupVersion: string, binary: ReleaseName): StorageCandidate {
  const lifecycle = versions[parseGroupVersion(groupVersion).version]?.lifecycle ?? [];
  return {
    groupVersion,
    introduced: lifecycle.findLast(([, state]) => state !== null)?.[1]?.introduced,
    isReplaced: valueIn(lifecycle, binary)?.replacement !== undefined,
  };
}

function storageVersionRule(binary: ReleaseName): StorageVersionRule {
  const gates = gatesOf(binary);
  return {
    isTwoPass: gates.isOn("StorageVersionInTwoPasses"),
    skipsReplaced: gates.isOn("StorageVersionSkipsReplaced"),
  };
}

interface EmulatedAt {
  readonly release: ReleaseName;
  readonly emulation: Emulation;
  readonly runtimeConfig: RuntimeConfig;
  readonly isGateOpen: (gate: string | undefined) => boolean;
}

/**
 * The versions of a resource that a forward-compatible server adds to the versions in `served`, although they are newer
 * than the emulated release. As kubernetes deleted_kinds.go: a later version is added if the server serves a less
 * preferred version of the same resource that is not alpha, or if the runtime config enables the version and
 * --runtime-config-emulation-forward-compatible is set.
 */
export function laterVersions(stored: ResourceHistory, served: readonly string[], at: EmulatedAt): string[] {
  const { isForwardCompatible, isRuntimeConfigForwardCompatible } = at.emulation;
  const enabled = new Set(served.filter((version) => !isAlpha(version)));
  const found: string[] = [];
  const later = Object.keys(stored.versions).filter((version) => isLater(stored, version, at));
  for (const version of later.sort(compareVersions)) {
    if (!at.isGateOpen(versionOf(stored, version).gate)) continue;
    const groupVersion = joined(stored.group, version);
    const byResource = at.runtimeConfig.resources.get(`${groupVersion}/${stored.resource}`);
    const said = byResource ?? at.runtimeConfig.groupVersions.get(groupVersion);
    const isBeyond = (lower: string): boolean => compareVersions(lower, version) < 0;
    const isFollowing = isForwardCompatible && said !== false && [...enabled].some(isBeyond);
    if (!isFollowing && byResource === true && !isRuntimeConfigForwardCompatible)
      throw new Error(
        `cannot enable resource ${groupVersion}, Resource=${stored.resource} in runtime-config because it is introduced at ${introducedAt(stored, version)} after the current version ${at.release}. Consider setting --runtime-config-emulation-forward-compatible=true`,
      );
    if (!isFollowing && !(said === true && isRuntimeConfigForwardCompatible)) continue;
    found.push(version);
    if (!isAlpha(version)) enabled.add(version);
  }
  return found;
}

/**
 * Throws for a group version that the runtime config enables although all of its resources are newer than the emulated
 * release.
 */
export function rejectLaterGroupVersions(
  resources: readonly ResourceHistory[],
  at: EmulatedAt,
  isServed: (groupVersion: string) => boolean,
): void {
  if (at.emulation.isRuntimeConfigForwardCompatible) return;
  for (const [groupVersion, isOn] of at.runtimeConfig.groupVersions) {
    if (!isOn || isServed(groupVersion)) continue;
    const isAllLater = resources.some(
      (stored) =>
        groupVersion.startsWith(joined(stored.group, "")) &&
        Object.keys(stored.versions).some(
          (version) => joined(stored.group, version) === groupVersion && isLater(stored, version, at),
        ),
    );
    if (isAllLater)
      throw new Error(
        `cannot enable version ${groupVersion} in runtime-config because all the resources have been introduced after the current version ${at.release}. Consider setting --runtime-config-emulation-forward-compatible=true`,
      );
  }
}

/** Whether the binary still has a version that the emulated release serves. */
export function isKnownToBinary(
  stored: ResourceHistory,
  version: string,
  { binary }: Pick<Emulation, "binary">,
): boolean {
  const groupVersion = joined(stored.group, version);
  const isServable = valueIn(stored.versions[version]?.served ?? [], binary) !== undefined;
  return isServable || (valueIn(stored.decodable ?? [], binary) ?? []).includes(groupVersion);
}

function isLater(stored: ResourceHistory, version: string, { release, emulation }: EmulatedAt): boolean {
  const { served } = versionOf(stored, version);
  return valueIn(served, release) === undefined && valueIn(served, emulation.binary) !== undefined;
}

function versionOf({ versions }: ResourceHistory, version: string): ResourceHistory["versions"][string] {
  return must(versions[version], "the resource has the version");
}

function introducedAt(stored: ResourceHistory, version: string): string {
  return versionOf(stored, version).served.find(([, state]) => state !== null)?.[0] ?? "";
}

function joined(group: string, version: string): string {
  return group === "" ? version : `${group}/${version}`;
}

const VERSION = /^v(\d{1,9})(?:(alpha|beta)(\d{1,9}))?$/;

function isAlpha(version: string): boolean {
  return VERSION.exec(version)?.[2] === "alpha";
}

/** Least preferred first: v1alpha1, v1beta1, v2beta1, v1, v2. */
function compareVersions(left: string, right: string): number {
  const [stage, major, minor] = rank(left);
  const [otherStage, otherMajor, otherMinor] = rank(right);
  return stage - otherStage || major - otherMajor || minor - otherMinor;
}

function rank(version: string): [stage: number, major: number, minor: number] {
  const [, major = "0", stage, minor = "0"] = VERSION.exec(version) ?? [];
  return [stage === undefined ? 2 : stage === "beta" ? 1 : 0, Number(major), Number(minor)];
}
