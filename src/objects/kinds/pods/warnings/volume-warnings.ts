/** Warnings about deprecated volume sources and about conflicting files of a volume. */
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { KindContext } from "../../kind.ts";
import { fractionalWarnings } from "./container-warnings.ts";

/**
 * DIFFERS: each path is compared with at most this many other paths of its volume; kubernetes compares it with all of
 * them.
 */
const COMPARED_MAX = 100;

export function* volumeWarnings(spec: JsonObject, at: string, context: KindContext): Generator<string> {
  for (const [index, volume] of objectsAt(spec, "volumes").entries()) {
    const field = `${at}.volumes[${index}]`;
    for (const [member, shown, message] of deprecatedSources(context))
      if (isJsonObject(volume[member])) yield `${field}.${shown}: ${message}`;
    const template = objectAt(objectAt(volume, "ephemeral"), "volumeClaimTemplate");
    const resources = objectAt(objectAt(template, "spec"), "resources");
    for (const amounts of ["requests", "limits"])
      yield* fractionalWarnings(
        objectAt(resources, amounts),
        `${field}.ephemeral.volumeClaimTemplate.spec.resources.${amounts}`,
        ["storage"],
      );
  }
}

type DeprecatedSource = readonly [member: string, shown: string, message: string];

function deprecatedSources({ gates }: KindContext): readonly DeprecatedSource[] {
  const gitRepo = gates.isOn("GitRepoVolumeDriver")
    ? "deprecated in v1.11"
    : "deprecated in v1.11, and disabled by default in v1.33+";
  const since122 = "deprecated in v1.22, non-functional in v1.25+";
  const since128 = gates.isOn("CephVolumePlugins")
    ? "deprecated in v1.28"
    : "deprecated in v1.28, non-functional in v1.31+";
  return [
    ["photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"],
    ["gitRepo", "gitRepo", gitRepo],
    ["scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"],
    ["flocker", "flocker", since122],
    ["storageos", "storageOS", since122],
    ["quobyte", "quobyte", since122],
    ["glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"],
    ["cephfs", "cephfs", since128],
    ["rbd", "rbd", since128],
  ];
}

interface FilePath {
  readonly path: string;
  readonly source: string;
}

export function* overlappingPathWarnings(spec: JsonObject): Generator<string> {
  for (const volume of objectsAt(spec, "volumes")) {
    const name = JSON.stringify(stringAt(volume, "name"));
    for (const [description, files] of plainFilesOf(volume))
      for (const overlap of overlaps(files)) yield `volume ${name} (${description}): overlapping paths: ${overlap}`;
    const sources = objectsAt(objectAt(volume, "projected"), "sources");
    for (const source of sources)
      if (Object.keys(source).length === 0) yield `volume ${name} (Projected) has no sources provided`;
    for (const overlap of overlaps(sources.flatMap(projectedFilesOf)))
      yield `volume ${name} (Projected): overlapping paths: ${overlap}`;
  }
}

function* plainFilesOf({ configMap, secret, downwardAPI }: JsonObject): Generator<[string, FilePath[]]> {
  if (isJsonObject(configMap))
    yield [`ConfigMap ${JSON.stringify(stringAt(configMap, "name"))}`, itemsOf(configMap, "")];
  if (isJsonObject(secret)) yield [`Secret ${JSON.stringify(stringAt(secret, "secretName"))}`, itemsOf(secret, "")];
  if (isJsonObject(downwardAPI)) yield ["DownwardAPI", itemsOf(downwardAPI, "")];
}

function itemsOf(source: JsonObject, description: string): FilePath[] {
  return objectsAt(source, "items").map((item) => ({ path: stringAt(item, "path"), source: description }));
}

function projectedFilesOf(source: JsonObject): FilePath[] {
  const { configMap, secret, downwardAPI, serviceAccountToken, clusterTrustBundle, podCertificate } = source;
  if (isJsonObject(configMap) && configMap["items"] !== undefined)
    return itemsOf(configMap, `ConfigMap ${JSON.stringify(stringAt(configMap, "name"))}`);
  if (isJsonObject(secret) && secret["items"] !== undefined)
    return itemsOf(secret, `Secret ${JSON.stringify(stringAt(secret, "name"))}`);
  if (isJsonObject(downwardAPI) && downwardAPI["items"] !== undefined) return itemsOf(downwardAPI, "DownwardAPI");
  if (isJsonObject(serviceAccountToken))
    return [{ path: stringAt(serviceAccountToken, "path"), source: "ServiceAccountToken" }];
  if (isJsonObject(clusterTrustBundle)) {
    const name = clusterTrustBundle["name"] ?? clusterTrustBundle["signerName"] ?? "";
    return [{ path: stringAt(clusterTrustBundle, "path"), source: `ClusterTrustBundle ${JSON.stringify(name)}` }];
  }
  return isJsonObject(podCertificate) ? certificateFilesOf(podCertificate) : [];
}

function certificateFilesOf(certificate: JsonObject): FilePath[] {
  const files = [
    { path: stringAt(certificate, "certificateChainPath"), source: "PodCertificate chain" },
    { path: stringAt(certificate, "keyPath"), source: "PodCertificate key" },
    { path: stringAt(certificate, "credentialBundlePath"), source: "PodCertificate credential bundle" },
  ];
  return files.filter(({ path }) => path !== "");
}

/** Warns about two files with one path, and about a file whose path is a directory of another file. */
function* overlaps(files: readonly FilePath[]): Generator<string> {
  const seen: FilePath[] = [];
  for (const { path: given, source } of files) {
    const file = { path: given.replace(/\/+$/, ""), source };
    if (file.path === "") continue;
    for (const other of seen)
      if (`${other.path}/`.startsWith(`${file.path}/`) || `${file.path}/`.startsWith(`${other.path}/`))
        yield `${described(file)} with ${described(other)}`;
    if (seen.length < COMPARED_MAX) seen.push(file);
  }
}

function described({ path, source }: FilePath): string {
  return source === "" ? JSON.stringify(path) : `${JSON.stringify(path)} (${source})`;
}
