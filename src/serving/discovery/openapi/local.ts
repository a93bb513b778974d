/**
 * The documents of this server alone. Each document is built at its first request and cached until its content changes.
 */
import type { Catalog, CatalogGroup } from "../../../objects/catalog/catalog.ts";
import { apiResourceList } from "../document.ts";
import { compareNames } from "../order.ts";
import type { CustomGroupVersion, CustomOpenApi } from "./custom.ts";
import { digest, encodeIndex, withHash, type EncodedOpenApi, type OpenApiDocuments } from "./documents.ts";
import { createIndex, type OpenApiIndex } from "./decode-peer-response.ts";
import { openApiV2Document } from "./v2.ts";
import { encodeOpenApiV2 } from "./v2-protobuf.ts";
import { openApiV3Document } from "./v3.ts";

/** Part of every hash. Increase it whenever a change of this code changes the documents of a catalog. */
const FORMAT = 1;

export interface LocalOpenApi extends OpenApiDocuments {
  /**
   * The current hashes of the OpenAPI 3 documents, keyed by path. Read them for each request, because custom resources
   * may change.
   */
  readonly hashes: ReadonlyMap<string, string>;
  /** The same hashes as an index, in the form in which the indexes of peers are decoded. */
  hashIndex(): OpenApiIndex;
  document(path: string): EncodedOpenApi | undefined;
}

interface DocumentSource {
  readonly group: CatalogGroup | undefined;
  readonly version: string;
  readonly custom?: CustomGroupVersion;
}

/** Everything that is valid until a custom resource changes. */
interface Snapshot {
  readonly generation: number;
  readonly custom: readonly CustomGroupVersion[];
  readonly sources: ReadonlyMap<string, DocumentSource>;
  readonly hashes: ReadonlyMap<string, string>;
  readonly index: OpenApiIndex;
  /** The OpenAPI 3 documents, keyed by path. */
  readonly documents: Map<string, EncodedOpenApi>;
  /** The index and the OpenAPI 2 documents. */
  readonly whole: Map<string, EncodedOpenApi>;
}

export function createLocalDocuments(catalog: Catalog, custom?: CustomOpenApi): LocalOpenApi {
  let last: Snapshot | undefined;
  const current = (): Snapshot => {
    const generation = custom?.generation() ?? 0;
    if (last?.generation !== generation)
      last = takeSnapshot(catalog, custom?.groupVersions() ?? [], { generation, last });
    return last;
  };
  const document = (path: string): EncodedOpenApi | undefined => {
    const { sources, hashes, documents } = current();
    const [source, hash] = [sources.get(path), hashes.get(path)];
    if (source === undefined || hash === undefined) return undefined;
    return once(documents, path, () => {
      const value = openApiV3Document(catalog, source.group, source.version, source.custom);
      return { bytes: Buffer.from(JSON.stringify(value)), hash };
    });
  };
  return {
    get hashes() {
      return current().hashes;
    },
    hashIndex: () => current().index,
    document,
    async index() {
      const { whole, hashes } = current();
      return once(whole, "v3", () => encodeIndex(hashes));
    },
    async find(path, asked) {
      const hash = current().hashes.get(path);
      if (hash !== undefined && asked !== undefined && asked !== hash) return { kind: "moved", hash };
      const found = document(path);
      return found === undefined ? { kind: "unknown" } : { kind: "document", document: found };
    },
    async v2() {
      const { whole, custom: shown } = current();
      return once(whole, "v2", () => withHash(Buffer.from(JSON.stringify(openApiV2Document(catalog, shown)))));
    },
    async v2Protobuf() {
      const { whole, custom: shown } = current();
      return once(whole, "v2 protobuf", () => withHash(encodeOpenApiV2(openApiV2Document(catalog, shown))));
    },
  };
}

function once(made: Map<string, EncodedOpenApi>, key: string, make: () => EncodedOpenApi): EncodedOpenApi {
  let known = made.get(key);
  if (known === undefined) made.set(key, (known = make()));
  return known;
}

/** Keeps the documents whose hash is unchanged. */
function takeSnapshot(
  catalog: Catalog,
  custom: readonly CustomGroupVersion[],
  { generation, last }: { readonly generation: number; readonly last: Snapshot | undefined },
): Snapshot {
  const sources = new Map<string, DocumentSource>();
  for (const group of catalog.groups)
    for (const version of group.versions) sources.set(pathOf(group.name, version), { group, version });
  const ordered = custom
    .map((one) => ({ path: pathOf(one.group, one.version), custom: one }))
    .sort((left, right) => compareNames(left.path, right.path));
  for (const { path, custom: one } of ordered)
    sources.set(path, { group: sources.get(path)?.group, version: one.version, custom: one });
  const hashes = new Map(Array.from(sources, ([path, source]) => [path, hashOf(catalog, source)] as const));
  const kept = [...(last?.documents ?? [])].filter(([path, { hash }]) => hashes.get(path) === hash);
  const index = createIndex(hashes);
  return { generation, custom, sources, hashes, index, documents: new Map(kept), whole: new Map() };
}

/** Computes the hash from all inputs of the document, without building the document. */
function hashOf(catalog: Catalog, { group, version, custom }: DocumentSource): string {
  // The definition of a shared model, such as DeleteOptions, lists an x-kubernetes-group-version-kind for each group.
  // So every document depends on the names and versions of all groups.
  const served = catalog.groups.map(({ name, versions }) => [name, versions]);
  const said = [FORMAT, catalog.release, served, group === undefined ? [] : apiResourceList(group, version)];
  return digest(JSON.stringify(custom === undefined ? said : [...said, custom.hash()]));
}

function pathOf(group: string, version: string): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}
