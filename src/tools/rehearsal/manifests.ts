/**
 * Compares the user's manifests with the releases of the plan: finds API versions that are added, removed or stored in
 * another version.
 */
import { must } from "../../base/assert.ts";
import { type ReleaseName, RELEASES } from "../../objects/catalog/release.ts";
import { EMPTY_RUNTIME_CONFIG } from "../../objects/catalog/runtime-config.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { manifestExaminer } from "../upgrade/manifests/examine.ts";
import type { FoundProblem } from "../upgrade/manifests/finding-groups.ts";
import { minorOf } from "../upgrade/manifests/known-apis.ts";
import type { Manifest } from "../upgrade/manifests/read-manifests.ts";
import { changesEncoding, type PathApi } from "./path-apis.ts";

type ManifestFindingKind =
  /** The first release of the plan serves it, but the last one does not. */
  | "vanishes"
  /** The first release of the plan does not serve it, but a later one does. */
  | "appears"
  | "changes-encoding"
  | "deprecated"
  /** Every release of the plan rejects it: an API that an older release removed, an unknown one, or a version of a CRD. */
  | "rejected"
  /** No release of the plan serves it by default: a custom resource, or an API that is off by default. */
  | "not-served";

export interface ManifestFinding {
  readonly kind: ManifestFindingKind;
  readonly file: string;
  readonly apiVersion: string;
  readonly objectKind: string;
  readonly name: string;
  /** The release with the change; null if there is no single one. */
  readonly release: ReleaseName | null;
  /** Replacement, for example "flowcontrol.apiserver.k8s.io/v1 FlowSchema". */
  readonly replacement: string | null;
  readonly sentence: string;
}

export interface ManifestReport {
  readonly objects: number;
  readonly findings: readonly ManifestFinding[];
}

interface UpgradePath {
  readonly apis: readonly PathApi[];
  readonly releases: readonly ReleaseName[];
  readonly way: "up" | "and-back";
}

export function examineManifests(manifests: readonly Manifest[], way: UpgradePath): ManifestReport {
  const byKind = new Map(way.apis.map((api) => [`${formatGroupVersion(api)} ${api.kind}`, api]));
  const releases = { from: undefined, to: way.releases.map(minorOf), runtimeConfig: EMPTY_RUNTIME_CONFIG };
  const problemsOf = manifestExaminer(releases, manifests);
  const findings = manifests.flatMap((manifest) => {
    const { file, apiVersion, kind, name } = manifest;
    const api = byKind.get(`${apiVersion} ${kind}`);
    const found = api === undefined ? problemsOf(manifest).map(notServed) : examineApi(api, way);
    return found.map((finding) => ({ ...finding, file, apiVersion, objectKind: kind, name }));
  });
  return { objects: manifests.length, findings };
}

/** Number of findings for which the rehearsal fails. */
export function countRejected(report: ManifestReport | null): number {
  return report?.findings.filter(({ kind }) => kind === "vanishes" || kind === "rejected").length ?? 0;
}

type Found = Pick<ManifestFinding, "kind" | "release" | "replacement" | "sentence">;

function examineApi(api: PathApi, { apis, releases, way }: UpgradePath): Found[] {
  const { servedBy, storedAs, lifecycle } = api;
  const found: Found[] = [];
  const replacement = replacementOf(api, apis);
  const instead = replacement === null ? "" : `; use ${replacement}`;
  const [first, last] = endsOf(servedBy);
  if (first !== releases[0]) {
    const back = way === "and-back" ? `, and not after the rollback to ${releases[0]}` : "";
    found.push({ kind: "appears", release: first, replacement: null, sentence: `served from ${first} on${back}` });
  }
  if (last !== releases.at(-1)) {
    const release = must(releases[releases.indexOf(last) + 1], "a release follows one that is not the last");
    found.push({ kind: "vanishes", release, replacement, sentence: `not served from ${release} on${instead}` });
  } else if (lifecycle?.deprecated !== undefined) {
    const sentence = `deprecated since ${lifecycle.deprecated}${removal(lifecycle.removed)}${instead}`;
    found.push({ kind: "deprecated", release: null, replacement, sentence });
  }
  if (changesEncoding(api)) {
    const changes = [...storedAs].filter(([, version], index, all) => version !== all[index - 1]?.[1]);
    const versions = changes.map(([release, version]) => `${version} (${release})`).join(", then ");
    found.push({
      kind: "changes-encoding",
      release: changes[1]?.[0] ?? null,
      replacement: null,
      sentence: `stored as ${versions}`,
    });
  }
  return found;
}

function removal(removed: string | undefined): string {
  return removed === undefined ? "" : `, to be removed in ${removed}`;
}

/** The replacement that the API's lifecycle names, or another version of the same kind that the last release serves. */
function replacementOf({ group, resource, version, lifecycle }: PathApi, apis: readonly PathApi[]): string | null {
  const named = lifecycle?.replacement;
  if (named !== undefined) return `${formatGroupVersion(named)} ${named.kind}`;
  const newest = apis.flatMap(({ servedBy }) => servedBy).reduce(laterOf);
  const other = apis.find(
    (api) =>
      api.group === group && api.resource === resource && api.version !== version && api.servedBy.at(-1) === newest,
  );
  return other === undefined ? null : `${formatGroupVersion(other)} ${other.kind}`;
}

function laterOf(left: ReleaseName, right: ReleaseName): ReleaseName {
  return RELEASES.indexOf(left) > RELEASES.indexOf(right) ? left : right;
}

function notServed({ severity, title, fix }: FoundProblem): Found {
  if (severity !== "error") return { kind: "not-served", release: null, replacement: null, sentence: title };
  const [advice] = fix;
  const sentence = advice === undefined ? title : `${title}. ${advice.replace(/\.$/, "")}`;
  return { kind: "rejected", release: null, replacement: null, sentence };
}

function endsOf(servedBy: readonly ReleaseName[]): [first: ReleaseName, last: ReleaseName] {
  const sentence = "some release serves every API of the path";
  return [must(servedBy[0], sentence), must(servedBy.at(-1), sentence)];
}
