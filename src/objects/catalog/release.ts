/** The Kubernetes releases as which a server can behave. The resources of a release are data, see catalog.ts. */
const GIT_VERSIONS = {
  "1.28": "v1.28.15",
  "1.29": "v1.29.15",
  "1.30": "v1.30.14",
  "1.31": "v1.31.14",
  "1.32": "v1.32.13",
  "1.33": "v1.33.13",
  "1.34": "v1.34.11",
  "1.35": "v1.35.8",
  "1.36": "v1.36.4",
  "1.37": "v1.37.0-rc.1",
} as const;

export type ReleaseName = keyof typeof GIT_VERSIONS;

export interface ReleaseInfo {
  readonly name: ReleaseName;
  readonly major: "1";
  readonly minor: string;
  /** The patch release that the catalog describes, such as "v1.36.4". */
  readonly gitVersion: string;
}

/** Sorted, oldest first. */
export const RELEASES: readonly ReleaseName[] = Object.freeze(Object.keys(GIT_VERSIONS) as ReleaseName[]);

export const DEFAULT_RELEASE: ReleaseName = "1.36";

export function isReleaseName(text: string): text is ReleaseName {
  return Object.hasOwn(GIT_VERSIONS, text);
}

export function releaseInfo(name: ReleaseName): ReleaseInfo {
  return { name, major: "1", minor: name.slice("1.".length), gitVersion: GIT_VERSIONS[name] };
}

/**
 * A value that changes from release to release. Each entry holds the first release with the value, which is valid until
 * the next entry; null means no value.
 */
export type ChangePoints<Value> = readonly (readonly [ReleaseName, Value | null])[];

export function valueIn<Value>(points: ChangePoints<Value>, release: ReleaseName): Value | undefined {
  const minor = minorNumber(release);
  return points.findLast(([since]) => minorNumber(since) <= minor)?.[1] ?? undefined;
}

export function isWithin(range: readonly [first: ReleaseName, last: ReleaseName], release: ReleaseName): boolean {
  const minor = minorNumber(release);
  return minorNumber(range[0]) <= minor && minor <= minorNumber(range[1]);
}

function minorNumber(release: ReleaseName): number {
  return Number(release.slice("1.".length));
}
