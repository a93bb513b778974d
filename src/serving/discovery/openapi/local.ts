/** The documents of this server alone: built on first request, then cached until their content changes. */
import type { Catalog, CatalogGroup } from "../../../objects/catalog/catalog.ts";
import { apiResourceList } from "../document.ts";
import { compareNames } from "../order.ts";
import type { CustomGroupVersion, CustomOpenApi } from "./custom.ts";
import { digest, encodeIndex, withHash, type EncodedOpenApi, type OpenApiDocuments } from "./documents.ts";
import { createIndex, type OpenApiIndex } from "./decode-peer-response.ts";
import { openApiV2Document } from "./v2.ts";
import { encodeOpenApiV2 } from "./v2-protobuf.ts";
import { openApiV3Document } from "./v3.ts";

/** Part of every hash. Increase it when a code change changes the documents of the same catalog. */
const FORMAT = 1;

export interface LocalOpenApi extends OpenApiDocuments {
  /** Hashes of the OpenAPI 3 documents by path. A current snapshot: custom resources may change. */
  readonly hashes: ReadonlyMap<string, string>;
  /** The same hashes as other servers see them. */
  hashIndex(): OpenApiIndex;
  document(path: string): EncodedOpenApi | undefined;
}

interface DocumentSource {
  readonly group: CatalogGroup | undefined;
  readonly version: string;
  readonly custom?: CustomGroupVersion;
}

/** Everything that stays valid while no custom resource changes. */
interface Snapshot {
  readonly generation: number;
  readonly custom: readonly CustomGroupVersion[];
  readonly sources: ReadonlyMap<string, DocumentSource>;
  readonly hashes: ReadonlyMap<string, string>;
  readonly index: OpenApiIndex;
  /** By path. */
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

/** Keeps documents that would not change. */
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

/** Computed from all inputs of the document, without building it. */
function hashOf(catalog: Catalog, { group, version, custom }: DocumentSource): string {
  // Shared models list the kinds of all groups that they serve.
  const served = catalog.groups.map(({ name, versions }) => [name, versions]);
  const said = [FORMAT, catalog.release, served, group === undefined ? [] : apiResourceList(group, version)];
  return digest(JSON.stringify(custom === undefined ? said : [...said, custom.hash()]));
}

function pathOf(group: string, version: string): string {
  return group === "" ? `api/${version}` : `apis/${group}/${version}`;
}
