/** Discovery documents of what this server serves by itself: what is built in, and what all servers share. */
import { createHash } from "node:crypto";
import type { Catalogue, CatalogueGroup } from "../../objects/catalogue/catalogue.ts";
import type { DiscoveryGroup } from "./groups.ts";
import { localGroups } from "./local.ts";

export interface LocalDocument {
  readonly groups: readonly DiscoveryGroup[];
  /** Tells peers whether what they know of it is still true. */
  readonly etag: string;
}

/** The groups that custom resource definitions and aggregated API servers add. */
interface SharedGroups {
  /** Built-in groups with those of custom resource definitions; the same array while nothing changes. */
  catalogueGroups(): readonly CatalogueGroup[];
  /** With those of aggregated API servers; the same array while nothing changes. */
  discoveryGroups(local: readonly DiscoveryGroup[]): readonly DiscoveryGroup[];
}

/** The document of what is built in, which is all that peers are sent. */
export function builtInDocument(catalogue: Catalogue): LocalDocument {
  const groups = localGroups(catalogue);
  return localDocument(() => groups);
}

/** With what custom resource definitions and aggregated API servers add to it. */
export function shownDocument(shared: SharedGroups): LocalDocument {
  return localDocument(shownGroups(shared));
}

/** Made anew when there are other groups. */
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
  let made: { readonly from: readonly CatalogueGroup[]; readonly groups: readonly DiscoveryGroup[] } | undefined;
  return () => {
    const from = shared.catalogueGroups();
    if (made?.from !== from) made = { from, groups: localGroups({ groups: from }) };
    return shared.discoveryGroups(made.groups);
  };
}
