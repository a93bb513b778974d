/**
 * Reduces the documents of a peer to the group versions that its discovery document lists without custom and aggregated
 * resources. A kube-apiserver also has documents of these, but this server adds them itself from the shared store.
 */
import { createIndex, parseGroupVersionPath, type OpenApiIndex, type V2Document } from "./decode-peer-response.ts";
import type { OpenApiPeer } from "./peers.ts";
import { withPathsWhere } from "./v2-part.ts";

type ServedGroupVersions = Pick<OpenApiPeer, "hasGroupVersion">;

/** Returns the index itself if nothing is removed. */
export function servedIndex(index: OpenApiIndex, peer: ServedGroupVersions): OpenApiIndex {
  const kept = [...index.hashes].filter(([path]) => isServed(path, peer));
  return kept.length === index.hashes.size ? index : createIndex(new Map(kept));
}

/** Returns the document itself if nothing is removed. */
export function servedV2Document(document: V2Document, peer: ServedGroupVersions): V2Document {
  const isKept = (path: string): boolean => {
    const [, groupVersion] = GROUP_VERSION.exec(path) ?? [];
    return groupVersion === undefined || isServed(groupVersion, peer);
  };
  return Object.keys(document.paths).every(isKept) ? document : withPathsWhere(document, isKept);
}

/** Also matches the paths below a group version. */
const GROUP_VERSION = /^\/(apis\/[^/]+\/[^/]+)(?:\/|$)/;

function isServed(path: string, peer: ServedGroupVersions): boolean {
  const groupVersion = parseGroupVersionPath(path);
  return groupVersion !== undefined && peer.hasGroupVersion(groupVersion.group, groupVersion.version);
}
