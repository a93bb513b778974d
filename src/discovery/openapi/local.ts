/** The documents of this server alone: made when first asked for, then kept. */
import type { Catalogue, CatalogueGroup } from "../../catalogue/catalogue.ts";
import { apiResourceList } from "../document.ts";
import { digest, encodeIndex, withHash, type Encoded, type OpenApiDocuments } from "./documents.ts";
import { openApiV2Document } from "./v2.ts";
import { encodeOpenApiV2 } from "./v2-protobuf.ts";
import { openApiV3Document } from "./v3.ts";

/** Part of every hash: raised when documents come to look different for the same catalogue. */
const FORMAT = 1;

export interface LocalDocuments extends OpenApiDocuments {
  /** Of the OpenAPI 3 documents, by path. */
  readonly hashes: ReadonlyMap<string, string>;
  document(path: string): Encoded | undefined;
}

export function createLocalDocuments(catalogue: Catalogue): LocalDocuments {
  const made = new Map<string, Encoded>();
  const once = (key: string, make: () => Encoded): Encoded => {
    let known = made.get(key);
    if (known === undefined) made.set(key, (known = make()));
    return known;
  };
  const sources = new Map(
    catalogue.groups.flatMap((group) =>
      group.versions.map((version) => [pathOf(group, version), { group, version }] as const),
    ),
  );
  const hashes = new Map(
    Array.from(sources, ([path, { group, version }]) => [path, hashOf(catalogue, group, version)] as const),
  );
  const document = (path: string): Encoded | undefined => {
    const [source, hash] = [sources.get(path), hashes.get(path)];
    if (source === undefined || hash === undefined) return undefined;
    return once(path, () => {
      const value = openApiV3Document(catalogue, source.group, source.version);
      return { bytes: Buffer.from(JSON.stringify(value)), hash };
    });
  };
  return {
    hashes,
    document,
    index: async () => once("v3", () => encodeIndex(hashes)),
    async find(path, asked) {
      const hash = hashes.get(path);
      if (hash !== undefined && asked !== undefined && asked !== hash) return { kind: "moved", hash };
      const found = document(path);
      return found === undefined ? { kind: "unknown" } : { kind: "document", document: found };
    },
    v2: async () => once("v2", () => withHash(Buffer.from(JSON.stringify(openApiV2Document(catalogue))))),
    v2Protobuf: async () => once("v2 protobuf", () => withHash(encodeOpenApiV2(openApiV2Document(catalogue)))),
  };
}

/** Known without making the document: of everything that decides what it says. */
function hashOf(catalogue: Catalogue, group: CatalogueGroup, version: string): string {
  // Shared models name the kinds of all groups they serve.
  const served = catalogue.groups.map(({ name, versions }) => [name, versions]);
  return digest(JSON.stringify([FORMAT, catalogue.release, served, apiResourceList(group, version)]));
}

function pathOf(group: CatalogueGroup, version: string): string {
  return group.name === "" ? `api/${version}` : `apis/${group.name}/${version}`;
}
