/** What this server serves by itself: what is built in, and what everybody shares. */
import { createHash } from "node:crypto";
import type { Catalogue, CatalogueGroup } from "../objects/catalogue/catalogue.ts";
import type { DiscoveryGroup } from "../serving/discovery/groups.ts";
import { localGroups } from "../serving/discovery/local.ts";
import type { Shared } from "./shared-resources.ts";

export interface LocalDocument {
  readonly groups: readonly DiscoveryGroup[];
  /** Tells peers whether what they know of it is still true. */
  readonly etag: string;
}

export interface LocalDocuments {
  /** What is built in. */
  readonly local: LocalDocument;
  /** With what definitions and aggregated servers add to it. */
  readonly shown: LocalDocument;
}

export function localDocuments(catalogue: Catalogue, shared: Shared): LocalDocuments {
  const builtIn = localGroups(catalogue);
  return { local: localDocument(() => builtIn), shown: localDocument(shownGroups(shared)) };
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
function shownGroups(shared: Shared): () => readonly DiscoveryGroup[] {
  let made: { readonly from: readonly CatalogueGroup[]; readonly groups: readonly DiscoveryGroup[] } | undefined;
  return () => {
    const from = shared.custom.groups();
    if (made?.from !== from) made = { from, groups: localGroups({ groups: from }) };
    return shared.discoveryGroups(made.groups);
  };
}
