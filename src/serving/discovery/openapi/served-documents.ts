/**
 * Reduces the documents of a peer to the group versions that its discovery document lists without custom and aggregated
 * resources. A kube-apiserver also has documents of these, but this server adds them itself from the shared store.
 */
import {
  createIndex,
  parseGroupPath,
  parseGroupVersionPath,
  type OpenApiIndex,
  type V2Document,
} from "./decode-peer-response.ts";
import type { OpenApiPeer } from "./peers.ts";
import { withPathsWhere } from "./v2-part.ts";

type ServedGroupVersions = Pick<OpenApiPeer, "hasGroupVersion">;

/** Returns the index itself if nothing is removed. */
export function servedIndex(index: OpenApiIndex, peer: ServedGroupVersions): OpenApiIndex {
  const served = servedPaths([...index.hashes.keys()], peer);
  const kept = [...index.hashes].filter(([path]) => served.has(path));
  return kept.length === index.hashes.size ? index : createIndex(new Map(kept));
}

/** Returns the document itself if nothing is removed. */
export function servedV2Document(document: V2Document, peer: ServedGroupVersions): V2Document {
  const paths = Object.keys(document.paths);
  const documentPaths = new Set(paths.map(documentPathOf));
  const served = servedPaths([...documentPaths], peer);
  if (served.size === documentPaths.size) return document;
  return withPathsWhere(document, (path) => served.has(documentPathOf(path)));
}

/** The path of the OpenAPI 3 document that has this path of the API. */
function documentPathOf(path: string): string {
  return GROUP_OR_VERSION.exec(path)?.[1] ?? "";
}

/** A group, or a group version, and everything below. */
const GROUP_OR_VERSION = /^\/(apis\/[^/]+(?:\/[^/]+)?)(?:\/|$)/;

/** Paths without a group are always served; a group is served if one of its versions is. */
function servedPaths(paths: readonly string[], peer: ServedGroupVersions): ReadonlySet<string> {
  const groups = new Set<string>();
  const served = paths.filter((path) => {
    const groupVersion = parseGroupVersionPath(path);
    if (groupVersion === undefined) return !path.startsWith("apis/");
    const { group, version } = groupVersion;
    if (!peer.hasGroupVersion(group, version)) return false;
    groups.add(group);
    return true;
  });
  return new Set([...served, ...paths.filter((path) => groups.has(parseGroupPath(path) ?? ""))]);
}
