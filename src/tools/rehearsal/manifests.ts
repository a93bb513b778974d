/**
 * Compares the user's manifests with the releases of the plan: finds API versions that are added, removed or stored in
 * another version.
 */
import { must } from "../../base/assert.ts";
import { type ReleaseName, RELEASES } from "../../objects/catalog/release.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../meta/json.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import { parseYaml, YamlError } from "../../objects/yaml/yaml.ts";
import { changesEncoding, pathApis, type PathApi } from "./path-apis.ts";

export interface Manifest {
  readonly file: string;
  readonly object: JsonObject;
}

export interface ManifestFile {
  readonly path: string;
  readonly text: string;
}

type ManifestFindingKind =
  /** The first release of the plan serves it, but the last one does not. */
  | "vanishes"
  /** The first release of the plan does not serve it, but a later one does. */
  | "appears"
  | "changes-encoding"
  | "deprecated"
  /** No release of the plan serves it: a custom resource, or an older version. */
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

const SEPARATOR = /^---(?:[ \t].*)?$/m;
/** A directory with more files is probably the wrong one, and is not read to its end. */
export const MANIFESTS_MAX = 20_000;

/**
 * Returns every object of the files, with lists split into items; or one sentence about the first file that cannot be
 * read.
 */
export function readManifests(files: readonly ManifestFile[]): Manifest[] | string {
  const manifests: Manifest[] = [];
  for (const { path, text } of files) {
    try {
      for (const object of readObjects(text)) manifests.push({ file: path, object });
    } catch (thrown) {
      if (!(thrown instanceof YamlError || thrown instanceof SyntaxError)) throw thrown;
      return `${path} cannot be read: ${thrown.message}`;
    }
    if (manifests.length > MANIFESTS_MAX) return `there are more than ${MANIFESTS_MAX} manifests`;
  }
  return manifests;
}

function readObjects(text: string): JsonObject[] {
  const isJson = /^\s*[[{]/.test(text);
  const documents = isJson ? [JSON.parse(text) as unknown] : text.split(SEPARATOR).map((part) => parseYaml(part).value);
  return documents.flatMap(toObjects);
}

/** Skips values that are not objects, for example empty documents. */
function toObjects(value: unknown): JsonObject[] {
  if (Array.isArray(value)) return value.filter(isJsonObject);
  if (!isJsonObject(value)) return [];
  const isList = stringAt(value, "kind").endsWith("List") && Array.isArray(value["items"]);
  if (isList) return (value["items"] as unknown[]).filter(isJsonObject);
  return stringAt(value, "apiVersion") === "" || stringAt(value, "kind") === "" ? [] : [value];
}

export function examineManifests(manifests: readonly Manifest[], way: UpgradePath): ManifestReport {
  const byKind = new Map(way.apis.map((api) => [`${formatGroupVersion(api)} ${api.kind}`, api]));
  const findings = manifests.flatMap(({ file, object }) => {
    const [apiVersion, objectKind] = [stringAt(object, "apiVersion"), stringAt(object, "kind")];
    const api = byKind.get(`${apiVersion} ${objectKind}`);
    const found = api === undefined ? notServed(apiVersion, objectKind) : examineApi(api, way);
    const name = stringAt(objectAt(object, "metadata"), "name");
    return found.map((finding) => ({ ...finding, file, apiVersion, objectKind, name }));
  });
  return { objects: manifests.length, findings };
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

function notServed(apiVersion: string, kind: string): Found[] {
  const known = pathApis(RELEASES).find((api) => formatGroupVersion(api) === apiVersion && api.kind === kind);
  const sentence =
    known === undefined
      ? "not an API of any known release, possibly a custom resource"
      : `served by ${span(known.servedBy)} only`;
  return [{ kind: "not-served", release: null, replacement: null, sentence }];
}

function span(releases: readonly ReleaseName[]): string {
  const [first, last] = endsOf(releases);
  return first === last ? first : `${first} to ${last}`;
}

function endsOf(servedBy: readonly ReleaseName[]): [first: ReleaseName, last: ReleaseName] {
  const sentence = "some release serves every API of the path";
  return [must(servedBy[0], sentence), must(servedBy.at(-1), sentence)];
}
