/** The documents of the built-in resources of this server. Each document is built at its first request and cached. */
import type { Catalog, CatalogGroup } from "../../../objects/catalog/catalog.ts";
import { apiResourceList } from "../document.ts";
import type { CustomGroupVersion } from "./custom.ts";
import { digest, withHash, type EncodedOpenApi, type OpenApiDocuments } from "./documents.ts";
import { createIndex, formatGroupVersionPath, type OpenApiIndex } from "./decode-peer-response.ts";
import { openApiV2Document } from "./v2.ts";
import { encodeOpenApiV2 } from "./v2-protobuf.ts";
import { openApiV3Document } from "./v3.ts";

/** Part of every hash. Increase it whenever a change of this code changes the documents of a catalog. */
const FORMAT = 1;

export interface LocalOpenApi extends OpenApiDocuments {
  readonly hashIndex: OpenApiIndex;
  document(path: string): EncodedOpenApi | undefined;
}

export function createLocalDocuments(catalog: Catalog): LocalOpenApi {
  const sources = new Map(
    catalog.groups.flatMap((group) =>
      group.versions.map((version) => [formatGroupVersionPath({ group: group.name, version }), { group, version }]),
    ),
  );
  const hashIndex = createIndex(
    new Map(Array.from(sources, ([path, { group, version }]) => [path, documentHash(catalog, { group, version })])),
  );
  const documents = new Map<string, EncodedOpenApi>();
  const document = (path: string): EncodedOpenApi | undefined => {
    const [source, hash] = [sources.get(path), hashIndex.hashes.get(path)];
    if (source === undefined || hash === undefined) return undefined;
    return once(documents, path, () => {
      const value = openApiV3Document(catalog, source.group, source.version);
      return { bytes: Buffer.from(JSON.stringify(value)), hash };
    });
  };
  return {
    hashIndex,
    document,
    index: async () => hashIndex,
    async find(path, asked) {
      const hash = hashIndex.hashes.get(path);
      if (hash !== undefined && asked !== undefined && asked !== hash) return { kind: "moved", hash };
      const found = document(path);
      return found === undefined ? { kind: "unknown" } : { kind: "document", document: found };
    },
    async v2() {
      return once(documents, "v2", () => withHash(Buffer.from(JSON.stringify(openApiV2Document(catalog)))));
    },
    async v2Protobuf() {
      return once(documents, "v2 protobuf", () => withHash(encodeOpenApiV2(openApiV2Document(catalog))));
    },
  };
}

function once(made: Map<string, EncodedOpenApi>, key: string, make: () => EncodedOpenApi): EncodedOpenApi {
  let known = made.get(key);
  if (known === undefined) made.set(key, (known = make()));
  return known;
}

/** Computes the hash of an OpenAPI 3 document from all its inputs, without building the document. */
export function documentHash(
  catalog: Catalog,
  of: { readonly group: CatalogGroup; readonly version: string } | { readonly custom: CustomGroupVersion },
): string {
  // The definition of a shared model, such as DeleteOptions, lists an x-kubernetes-group-version-kind for each group.
  // So every document depends on the names and versions of all groups.
  const served = catalog.groups.map(({ name, versions }) => [name, versions]);
  const content = "custom" in of ? [[], of.custom.hash()] : [apiResourceList(of.group, of.version)];
  return digest(JSON.stringify([FORMAT, catalog.release, served, ...content]));
}
