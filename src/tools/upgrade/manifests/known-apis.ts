/**
 * Every API that Kubernetes has served since 1.16, with the releases that serve it: the catalog for the APIs of 1.28 and
 * newer releases, and removed-apis.ts for those that are older.
 */
import { formatGroupVersion, parseGroupVersion } from "../../../meta/group-version.ts";
import { decodedOnce, storedResources } from "../../../objects/catalog/data-files.ts";
import { RELEASES, valueIn, type ReleaseName } from "../../../objects/catalog/release.ts";
import { runtimeConfigState, type RuntimeConfig } from "../../../objects/catalog/runtime-config.ts";
import type { ResourceHistory, StoredLifecycle, StoredVersion } from "../../../objects/catalog/stored-format.ts";
import { introducedBeforeCatalog, removedApis, type Minor } from "./removed-apis.ts";

/** "off": only a server with --runtime-config serves it. */
type ServedState = "on" | "off" | "not yet" | "removed";

export interface KnownApi {
  readonly group: string;
  readonly version: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Undefined for a kind of a subresource. */
  readonly resource: string | undefined;
  /** The first release that serves it; 0 if it is older than the facts. */
  readonly introduced: Minor;
  readonly deprecated: Minor | undefined;
  /** The first release that does not serve it, also if that release is not out yet. */
  readonly removed: Minor | undefined;
  /** The feature gate that must be open, too. */
  readonly gate: string | undefined;
  /** An API of another group or kind that replaces it. */
  readonly replacement: { readonly apiVersion: string; readonly kind: string } | undefined;
  stateIn(release: Minor, runtimeConfig: RuntimeConfig): ServedState;
}

export const OLDEST_KNOWN: Minor = 16;
const OLDEST_OF_CATALOG = minorOf(RELEASES[0] ?? "1.28");
export const NEWEST_KNOWN: Minor = minorOf(RELEASES.at(-1) ?? "1.28");

export function minorOf(release: string): Minor {
  return Number(release.slice("1.".length));
}

export function releaseOfMinor(minor: Minor): `1.${number}` {
  return `1.${minor}`;
}

/** Undefined if no release since 1.16 has served this kind in this version. */
export function findKnownApi(apiVersion: string, kind: string): KnownApi | undefined {
  return index().byName.get(`${apiVersion} ${kind}`);
}

/** The versions of a kind in all groups, the newest first. */
export function apisOfKind(kind: string): readonly KnownApi[] {
  return index().byKind.get(kind) ?? [];
}

/** Whether Kubernetes itself serves or served this group. */
export function isKubernetesGroup(group: string): boolean {
  return index().groups.has(group);
}

export function kubernetesKinds(): readonly string[] {
  return [...index().byKind.keys()];
}

interface Index {
  readonly byName: ReadonlyMap<string, KnownApi>;
  readonly byKind: ReadonlyMap<string, readonly KnownApi[]>;
  readonly groups: ReadonlySet<string>;
}

function index(): Index {
  return decodedOnce("known-apis", () => {
    const apis = [...catalogApis(), ...oldApis()];
    const byKind = Map.groupBy(
      apis.toSorted((left, right) => right.introduced - left.introduced),
      ({ kind }) => kind,
    );
    return {
      byName: new Map(apis.map((api) => [`${api.apiVersion} ${api.kind}`, api])),
      byKind,
      groups: new Set(apis.map(({ group }) => group)),
    };
  });
}

function oldApis(): KnownApi[] {
  return removedApis().map(({ apiVersion, kind, introduced = 0, deprecated, removed, replacement }) => {
    const { group, version } = parseGroupVersion(apiVersion);
    return {
      ...{ group, version, apiVersion, kind, introduced, deprecated, removed },
      resource: undefined,
      gate: undefined,
      replacement: replacement === undefined ? undefined : { apiVersion: replacement, kind },
      stateIn(release) {
        if (release >= removed) return "removed";
        if (release < introduced) return "not yet";
        return isAlpha(version) ? "off" : "on";
      },
    };
  });
}

function catalogApis(): KnownApi[] {
  return storedResources().resources.flatMap((history) =>
    Object.entries(history.versions).map(([version, stored]) => toKnownApi(history, version, stored)),
  );
}

function toKnownApi({ group, resource }: ResourceHistory, version: string, stored: StoredVersion): KnownApi {
  const { kind, gate } = stored;
  const apiVersion = formatGroupVersion({ group, version });
  const target = { group, version, resource };
  const lifecycle = newestLifecycle(stored);
  const introduced = introducedIn(apiVersion, stored, lifecycle);
  const removed = removedIn(stored) ?? plannedRemoval(lifecycle);
  const { replacement } = lifecycle;
  return {
    ...{ group, version, apiVersion, kind, resource, introduced, removed, gate },
    deprecated: lifecycle.deprecated === undefined ? undefined : minorOf(lifecycle.deprecated),
    replacement:
      replacement === undefined ? undefined : { apiVersion: formatGroupVersion(replacement), kind: replacement.kind },
    stateIn(release, runtimeConfig) {
      if (release < introduced) return "not yet";
      const byDefault = defaultStateIn(stored, release);
      if (byDefault === undefined) return "removed";
      const chosen = runtimeConfigState(runtimeConfig, target);
      return chosen === undefined ? byDefault : chosen ? "on" : "off";
    },
  };
}

/** A release that is older than the catalog serves beta and stable versions as the oldest release of the catalog does. */
function defaultStateIn({ served }: StoredVersion, release: Minor): "on" | "off" | undefined {
  const name = releaseOfMinor(Math.max(release, OLDEST_OF_CATALOG)) as ReleaseName;
  return valueIn(served, name);
}

function introducedIn(apiVersion: string, { kind, served }: StoredVersion, { introduced }: StoredLifecycle): Minor {
  const first = served.find(([, state]) => state !== null)?.[0];
  const firstOfCatalog = first === undefined ? OLDEST_OF_CATALOG : minorOf(first);
  if (firstOfCatalog > OLDEST_OF_CATALOG) return firstOfCatalog;
  return (
    introducedBeforeCatalog(apiVersion, kind) ?? (introduced === undefined ? OLDEST_OF_CATALOG : minorOf(introduced))
  );
}

function removedIn({ served }: StoredVersion): Minor | undefined {
  const [release, state] = served.at(-1) ?? [];
  return release !== undefined && state === null ? minorOf(release) : undefined;
}

/** The planned release, which is after the newest one; Kubernetes may have postponed it. */
function plannedRemoval({ removed }: StoredLifecycle): Minor | undefined {
  return removed === undefined ? undefined : Math.max(minorOf(removed), NEWEST_KNOWN + 1);
}

function newestLifecycle({ lifecycle = [] }: StoredVersion): StoredLifecycle {
  return lifecycle.findLast(([, value]) => value !== null)?.[1] ?? {};
}

export function isAlpha(version: string): boolean {
  return /^v\d+alpha\d+$/.test(version);
}
