/**
 * Selects the release whose models the documents of custom resources use, such as ObjectMeta. All servers of a cluster
 * must select the same one, because otherwise the same custom resource would have another document on each server, and
 * servers behind one load balancer would redirect a client from one hash to the other.
 */
import { openCatalog, type Catalog } from "../../../objects/catalog/catalog.ts";
import { isReleaseName } from "../../../objects/catalog/release.ts";
import { newestFirst, type Candidate } from "../newest.ts";
import { compareRanks, rankOf, type Ranked } from "../rank.ts";
import type { OpenApiPeers } from "./peers.ts";

/**
 * The catalog of the release of the server with the highest rank, without the flags of that server. Releases that this
 * server does not know are skipped.
 */
export function createModelCatalog(options: {
  readonly self: Ranked & { readonly release: Catalog["release"]["name"] };
  readonly mode: "merged" | "newest";
  readonly peers: Pick<OpenApiPeers, "list">;
}): () => Catalog {
  const { self, mode, peers } = options;
  let last: Catalog | undefined;
  return () => {
    const servers: Candidate[] = [{ ...self, isReachable: true }, ...peers.list()];
    const ranked =
      mode === "newest"
        ? newestFirst(servers)
        : servers.sort((left, right) => compareRanks(rankOf(left), rankOf(right)));
    const release = ranked.flatMap((server) => knownRelease(server) ?? []).at(0) ?? self.release;
    if (last?.release.name !== release) last = openCatalog({ release, extensions: true });
    return last;
  };
}

function knownRelease({ release = "" }: Ranked): Catalog["release"]["name"] | undefined {
  return isReleaseName(release) ? release : undefined;
}
