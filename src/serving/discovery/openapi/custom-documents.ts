/**
 * Adds the documents of custom resources, as this server reads them from the store, to documents of built-in resources.
 * The documents of peers contribute only built-in resources: a peer's documents would have to be fetched again after
 * every change of a CRD, and until then deleted custom resources would be listed.
 */
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { compareNames } from "../order.ts";
import { createByteCache } from "./byte-cache.ts";
import type { CustomGroupVersion, CustomOpenApi } from "./custom.ts";
import {
  createIndex,
  decodeV2Document,
  formatGroupVersionPath,
  type OpenApiIndex,
  type V2Document,
} from "./decode-peer-response.ts";
import { digest, type EncodedOpenApi, type OpenApiDocuments } from "./documents.ts";
import { documentHash } from "./local.ts";
import { mergeV3 } from "./merge-documents.ts";
import { V3_CACHE_BYTES_MAX } from "./openapi-limits.ts";
import { customV2 } from "./v2.ts";
import { encodeV2Json, encodeV2Protobuf, type RunInNextTurn } from "./v2-encode.ts";
import { mergeV2Sources, sourceOf, type V2Source } from "./v2-source.ts";
import { customV3Document } from "./v3.ts";

interface CustomDocumentOptions {
  readonly custom: CustomOpenApi;
  /** The catalog whose models the custom resources reference. Returns the same catalog until it changes. */
  readonly catalog: () => Catalog;
  readonly nextTurn?: RunInNextTurn | undefined;
}

/** The custom resources until a CRD or the catalog changes. */
interface Snapshot {
  readonly generation: number;
  readonly catalog: Catalog;
  readonly groupVersions: readonly CustomGroupVersion[];
  /** Keyed by path, sorted. */
  readonly documents: ReadonlyMap<string, CustomDocument>;
}

interface CustomDocument {
  readonly hash: string;
  /** Builds the document of the custom resources alone. */
  readonly value: () => JsonObject;
}

export function withCustomDocuments(base: OpenApiDocuments, options: CustomDocumentOptions): OpenApiDocuments {
  const current = createSnapshots(options);
  const v2 = createCustomV2(base, current, options.nextTurn);
  const encoded = createEncodedDocuments();
  let last: { readonly snapshot: Snapshot; readonly of: OpenApiIndex; readonly index: OpenApiIndex } | undefined;
  return {
    async index() {
      const of = await base.index();
      const snapshot = current();
      if (snapshot.documents.size === 0) return of;
      if (last?.snapshot !== snapshot || last.of.digest !== of.digest)
        last = { snapshot, of, index: addToIndex(of, snapshot) };
      return last.index;
    },
    async find(path, asked) {
      const custom = current().documents.get(path);
      if (custom === undefined) return base.find(path, asked);
      // A document of this hash has no built-in resources, so the documents of peers are not needed.
      if (asked === custom.hash) return { kind: "document", document: encoded(path, asked, custom.value) };
      const builtInHash = (await base.index()).hashes.get(path);
      const hash = builtInHash === undefined ? custom.hash : joinedHash(builtInHash, custom.hash);
      if (asked !== undefined && asked !== hash) return { kind: "moved", hash };
      if (builtInHash === undefined) return { kind: "document", document: encoded(path, hash, custom.value) };
      const found = await base.find(path, builtInHash);
      if (found.kind !== "document") return found;
      const { bytes, hash: foundHash } = found.document;
      const merged = (): JsonObject => mergeV3(JSON.parse(bytes.toString("utf8")) as JsonObject, custom.value());
      return { kind: "document", document: encoded(path, joinedHash(foundHash, custom.hash), merged) };
    },
    v2: async () => (await v2())?.json ?? base.v2(),
    v2Protobuf: async () => (await v2())?.protobuf() ?? base.v2Protobuf(),
  };
}

function createSnapshots({ custom, catalog: currentCatalog }: CustomDocumentOptions): () => Snapshot {
  let last: Snapshot | undefined;
  return () => {
    const [generation, catalog] = [custom.generation(), currentCatalog()];
    if (last?.generation === generation && last.catalog === catalog) return last;
    const groupVersions = custom.groupVersions();
    const documents = groupVersions
      .map((one) => [formatGroupVersionPath(one), customDocument(catalog, one)] as const)
      .sort(([left], [right]) => compareNames(left, right));
    last = { generation, catalog, groupVersions, documents: new Map(documents) };
    return last;
  };
}

function customDocument(catalog: Catalog, custom: CustomGroupVersion): CustomDocument {
  let hash: string | undefined;
  return {
    get hash() {
      return (hash ??= documentHash(catalog, custom.hash()));
    },
    value: () => customV3Document(catalog, custom),
  };
}

/** Encodes each document once, and keeps the documents that were used last. */
function createEncodedDocuments(): (path: string, hash: string, make: () => JsonObject) => EncodedOpenApi {
  const cache = createByteCache(V3_CACHE_BYTES_MAX);
  return (path, hash, make) => {
    const known = cache.get(`${path} ${hash}`);
    if (known !== undefined) return known;
    const document = { bytes: encodeJson(make()), hash };
    cache.set(`${path} ${hash}`, document);
    return document;
  };
}

function addToIndex({ hashes }: OpenApiIndex, { documents }: Snapshot): OpenApiIndex {
  const all = new Map(hashes);
  for (const [path, { hash }] of documents) {
    const builtInHash = hashes.get(path);
    all.set(path, builtInHash === undefined ? hash : joinedHash(builtInHash, hash));
  }
  return createIndex(all);
}

/** The hash of the document of a group version that has built-in and custom resources. */
function joinedHash(builtInHash: string, customHash: string): string {
  return digest(`${builtInHash} ${customHash}`);
}

interface Whole {
  readonly snapshot: Snapshot;
  readonly baseHash: string;
  readonly json: Promise<EncodedOpenApi>;
  protobuf(): Promise<EncodedOpenApi>;
}

/** Returns undefined if there are no custom resources. */
function createCustomV2(
  base: OpenApiDocuments,
  current: () => Snapshot,
  nextTurn: RunInNextTurn | undefined,
): () => Promise<Whole | undefined> {
  let decoded: { readonly hash: string; readonly document: V2Document } | undefined;
  let last: Whole | undefined;
  return async () => {
    const builtIn = await base.v2();
    const snapshot = current();
    if (snapshot.groupVersions.length === 0) return undefined;
    if (last?.snapshot === snapshot && last.baseHash === builtIn.hash) return last;
    // The built-in document is kept, because CRDs change more often than releases, and decoding takes most of the time.
    if (decoded?.hash !== builtIn.hash) decoded = { hash: builtIn.hash, document: decodeV2Document(builtIn.bytes) };
    const { document } = decoded;
    const source = (): V2Source =>
      mergeV2Sources([sourceOf(document), customV2(snapshot.catalog, snapshot.groupVersions)]);
    let protobuf: Promise<EncodedOpenApi> | undefined;
    last = {
      snapshot,
      baseHash: builtIn.hash,
      json: encodeV2Json(source(), nextTurn),
      protobuf: () => (protobuf ??= encodeV2Protobuf(source(), nextTurn)),
    };
    return last;
  };
}

function encodeJson(value: JsonObject): Buffer {
  return Buffer.from(JSON.stringify(value));
}
