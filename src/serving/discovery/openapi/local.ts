/** The documents of the built-in resources of this server. Each document is built at its first request and cached. */
import type { Catalog } from "../../../objects/catalog/catalog.ts";
import { digest, type EncodedOpenApi, type OpenApiDocuments } from "./documents.ts";
import { createIndex, type OpenApiIndex } from "./decode-peer-response.ts";
import { documentSources } from "./document-sources.ts";
import { builtInV2 } from "./v2.ts";
import { encodeV2Json, encodeV2Protobuf, type RunInNextTurn } from "./v2-encode.ts";
import { openApiV3Document } from "./v3.ts";

/** Part of every hash. Increase it whenever a change of this code changes the documents of a catalog. */
const FORMAT = 2;

export interface LocalOpenApi extends OpenApiDocuments {
  readonly hashIndex: OpenApiIndex;
  document(path: string): EncodedOpenApi | undefined;
}

export function createLocalDocuments(catalog: Catalog, nextTurn?: RunInNextTurn): LocalOpenApi {
  const sources = documentSources(catalog);
  const hashIndex = createIndex(
    new Map(Array.from(sources, ([path, { content }]) => [path, documentHash(catalog, content)])),
  );
  const documents = new Map<string, EncodedOpenApi>();
  const document = (path: string): EncodedOpenApi | undefined => {
    const [source, hash] = [sources.get(path), hashIndex.hashes.get(path)];
    if (source === undefined || hash === undefined) return undefined;
    return once(documents, path, () => {
      const value = openApiV3Document(catalog, source);
      return { bytes: Buffer.from(JSON.stringify(value)), hash };
    });
  };
  let v2: Promise<EncodedOpenApi> | undefined;
  let v2Protobuf: Promise<EncodedOpenApi> | undefined;
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
    v2: () => (v2 ??= encodeV2Json(builtInV2(catalog), nextTurn)),
    v2Protobuf: () => (v2Protobuf ??= encodeV2Protobuf(builtInV2(catalog), nextTurn)),
  };
}

function once(made: Map<string, EncodedOpenApi>, key: string, make: () => EncodedOpenApi): EncodedOpenApi {
  let known = made.get(key);
  if (known === undefined) made.set(key, (known = make()));
  return known;
}

/** Computes the hash of an OpenAPI 3 document from all its inputs, without building the document. */
export function documentHash({ release }: Catalog, content: unknown): string {
  return digest(JSON.stringify([FORMAT, release, content]));
}
