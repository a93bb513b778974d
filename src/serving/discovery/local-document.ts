/**
 * Discovery documents of the resources that this server serves itself: the built-in ones, and those that all servers
 * share.
 */
import { createHash } from "node:crypto";
import type { Catalog, CatalogGroup } from "../../objects/catalog/catalog.ts";
import type { DiscoveryGroup } from "./groups.ts";
import { localGroups } from "./local.ts";

export interface LocalDocument {
  readonly groups: readonly DiscoveryGroup[];
  /** Lets peers check whether their copy is current. */
  readonly etag: string;
}

/** The groups that CRDs and aggregated API servers add. */
interface SharedGroups {
  /** Built-in groups with those of CRDs; the same array while nothing changes. */
  catalogGroups(): readonly CatalogGroup[];
  /** With those of aggregated API servers; the same array while nothing changes. */
  discoveryGroups(local: readonly DiscoveryGroup[]): readonly DiscoveryGroup[];
}

/** The document of the built-in resources; peers receive no others. */
export function builtInDocument(catalog: Catalog): LocalDocument {
  const groups = localGroups(catalog);
  return localDocument(() => groups);
}

/** The document including CRDs and aggregated API servers. */
export function shownDocument(shared: SharedGroups): LocalDocument {
  return localDocument(shownGroups(shared));
}

/** Rebuilt when the groups change. */
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

/** The same array while nothing changes. */
function shownGroups(shared: SharedGroups): () => readonly DiscoveryGroup[] {
  let made: { readonly from: readonly CatalogGroup[]; readonly groups: readonly DiscoveryGroup[] } | undefined;
  return () => {
    const from = shared.catalogGroups();
    if (made?.from !== from) made = { from, groups: localGroups({ groups: from }) };
    return shared.discoveryGroups(made.groups);
  };
}
