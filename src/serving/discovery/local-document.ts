/**
 * The discovery documents of the resources that this server serves itself: one with the built-in resources, and one
 * that also has the resources of CRDs and aggregated API servers.
 */
import { createHash } from "node:crypto";
import type { Catalog, CatalogGroup } from "../../objects/catalog/catalog.ts";
import type { DiscoveryGroup } from "./groups.ts";
import { localGroups } from "./local.ts";

export interface LocalDocument {
  readonly groups: readonly DiscoveryGroup[];
  /** Peers compare it with the ETag of their copy of the document. */
  readonly etag: string;
}

/** Source of the groups that CRDs and aggregated API servers add. All servers of a cluster share these groups. */
interface SharedGroups {
  /** Returns the built-in groups and those of CRDs. Returns the same array until a group changes. */
  catalogGroups(): readonly CatalogGroup[];
  /** Returns `local` and the groups of aggregated API servers. Returns the same array until a group changes. */
  discoveryGroups(local: readonly DiscoveryGroup[]): readonly DiscoveryGroup[];
}

/** The document of the built-in resources, the only one that is sent to peers. */
export function builtInDocument(catalog: Catalog): LocalDocument {
  const groups = localGroups(catalog);
  return localDocument(() => groups);
}

/** The document of all resources, including those of CRDs and aggregated API servers. */
export function shownDocument(shared: SharedGroups): LocalDocument {
  return localDocument(shownGroups(shared));
}

/** Computes the ETag once for each array of groups. */
function localDocument(groups: () => readonly DiscoveryGroup[]): LocalDocument {
  let made: LocalDocument | undefined;
  const current = (): LocalDocument => {
    const shown = groups();
    if (made?.groups !== shown) {
      const etag = createHash("sha256").update(JSON.stringify(shown)).digest("base64url");
      made = { groups: shown, etag };
    }
    return made;
  };
  return {
    get groups() {
      return current().groups;
    },
    get etag() {
      return current().etag;
    },
  };
}

/** Returns the same array until a group changes. */
function shownGroups(shared: SharedGroups): () => readonly DiscoveryGroup[] {
  let made: { readonly from: readonly CatalogGroup[]; readonly groups: readonly DiscoveryGroup[] } | undefined;
  return () => {
    const from = shared.catalogGroups();
    if (made?.from !== from) made = { from, groups: localGroups({ groups: from }) };
    return shared.discoveryGroups(made.groups);
  };
}
