/**
 * Adds the OpenAPI documents of aggregated servers to those of the cluster. OpenAPI v3 documents are returned
 * unchanged. OpenAPI v2 is one document, into which the paths of all aggregated group versions are merged. The last
 * good v2 document and v3 hash of each server are kept until they are replaced, so a request for the index or for the
 * v2 document waits for a server only if that server has never responded. A v3 document is returned from the cache only
 * if the request names its hash.
 */
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import { messageOf } from "../../base/within.ts";
import { createByteCache } from "../../serving/discovery/openapi/byte-cache.ts";
import {
  INDEX_TARGET,
  V2_TARGET,
  withHash,
  type EncodedOpenApi,
  type FoundOpenApi,
  type OpenApiDocuments,
} from "../../serving/discovery/openapi/documents.ts";
import {
  checkV3Document,
  createIndex,
  decodeIndex,
  decodeV2Document,
  parseGroupVersionPath,
} from "../../serving/discovery/openapi/decode-peer-response.ts";
import { withPathsWhere } from "../../serving/discovery/openapi/v2-part.ts";
import { encodeV2Json, encodeV2Protobuf, type RunInNextTurn } from "../../serving/discovery/openapi/v2-encode.ts";
import { encodeOpenApiV2 } from "../../serving/discovery/openapi/v2-protobuf.ts";
import { mergeV2Sources, sourceOf, type V2Source } from "../../serving/discovery/openapi/v2-source.ts";
import { formatGroupVersion } from "../../meta/group-version.ts";
import type { RemoteApiService } from "./api-service.ts";
import type { CallService } from "./call-server.ts";
import type { FindApiService, KnownApiService } from "./decide.ts";
import { createRefreshed, type Refreshed } from "./refreshed-value.ts";

interface AggregatedOpenApiOptions {
  /** All aggregated APIServices that exist now. */
  readonly apiServices: () => readonly KnownApiService[];
  readonly find: FindApiService;
  readonly ask: CallService;
  readonly clock: Clock;
  readonly log: Log;
  readonly nextTurn?: RunInNextTurn | undefined;
}

const RESPONSE_TIMEOUT_MS = 5_000;
const DOCUMENT_BYTES_MAX = 16 * 1024 * 1024;
const V3_CACHE_BYTES_MAX = 32 * 1024 * 1024;

/** Returns the documents of the cluster, including those of aggregated servers. */
export function withAggregatedOpenApi(base: OpenApiDocuments, options: AggregatedOpenApiOptions): OpenApiDocuments {
  const v3 = createV3(options);
  const v2 = createV2(base, options);
  return {
    async index() {
      const hashes = await v3.hashes();
      const own = await base.index();
      return hashes.size === 0 ? own : createIndex(new Map([...own.hashes, ...hashes]));
    },
    find(path, asked) {
      const groupVersion = parseGroupVersionPath(path);
      const known = groupVersion && options.find(groupVersion.group, groupVersion.version);
      return known === undefined ? base.find(path, asked) : v3.find(known, path, asked);
    },
    v2: async () => (await v2()).json,
    v2Protobuf: async () => (await v2()).protobuf(),
  };
}

interface V3 {
  /** Document hashes by OpenAPI path, for the group versions whose server has a document. */
  hashes(): Promise<ReadonlyMap<string, string>>;
  find(known: KnownApiService, path: string, asked: string | undefined): Promise<FoundOpenApi>;
}

function createV3(options: AggregatedOpenApiOptions): V3 {
  const cache = createByteCache(V3_CACHE_BYTES_MAX);
  const ofPath = createRefreshed<string>(options.clock);
  const ask = createAsk(options);

  const fetchDocument = async (apiService: RemoteApiService): Promise<EncodedOpenApi | undefined> => {
    const path = pathOf(apiService);
    return ask(apiService, `${INDEX_TARGET}/${path}`, (response) => {
      const document = { bytes: response.body, hash: checkV3Document(response.body, response.header("etag")) };
      cache.set(`${path} ${document.hash}`, document);
      return document;
    });
  };
  const fetchHash = (apiService: RemoteApiService): Promise<string | undefined> =>
    ask(apiService, INDEX_TARGET, ({ body }) => decodeIndex(body).hashes.get(pathOf(apiService)));

  return {
    async hashes() {
      const entries = await ofEach(options, ofPath, fetchHash);
      return new Map(entries.map(([apiService, hash]) => [pathOf(apiService), hash]));
    },
    async find({ apiService, isAvailable }, path, asked) {
      const atHand = asked === undefined ? undefined : cache.get(`${path} ${asked}`);
      if (atHand !== undefined) return { kind: "document", document: atHand };
      const document = isAvailable ? await fetchDocument(apiService) : undefined;
      if (document !== undefined) return { kind: "document", document };
      return {
        kind: "unavailable",
        message: `the server of ${formatGroupVersion(apiService)} does not return its OpenAPI document`,
      };
    },
  };
}

interface Whole {
  /** The hashes of the merged documents. */
  readonly key: string;
  readonly json: Promise<EncodedOpenApi>;
  protobuf(): Promise<EncodedOpenApi>;
}

function createV2(base: OpenApiDocuments, options: AggregatedOpenApiOptions): () => Promise<Whole> {
  const parts = createRefreshed<EncodedOpenApi>(options.clock);
  const ask = createAsk(options);
  let last: Whole | undefined;

  const fetchPart = (apiService: RemoteApiService): Promise<EncodedOpenApi | undefined> =>
    ask(apiService, V2_TARGET, ({ body }) => {
      const root = `/apis/${formatGroupVersion(apiService)}/`;
      const part = withPathsWhere(decodeV2Document(body), (path) => `${path}/`.startsWith(root));
      // Throws here if the part cannot be encoded, so that it does not break the merged document.
      encodeOpenApiV2(part);
      return withHash(Buffer.from(JSON.stringify(part)));
    });

  return async () => {
    const present = (await ofEach(options, parts, fetchPart)).map(([, part]) => part);
    const own = await base.v2();
    if (present.length === 0) return { key: own.hash, json: Promise.resolve(own), protobuf: () => base.v2Protobuf() };
    const key = [own, ...present].map(({ hash }) => hash).join(" ");
    if (last?.key !== key) last = merged(key, [own, ...present], options.nextTurn);
    return last;
  };
}

function merged(key: string, parts: readonly EncodedOpenApi[], nextTurn: RunInNextTurn | undefined): Whole {
  const source = (): V2Source => mergeV2Sources(parts.map(({ bytes }) => sourceOf(decodeV2Document(bytes))));
  let protobuf: Promise<EncodedOpenApi> | undefined;
  return {
    key,
    json: encodeV2Json(source(), nextTurn),
    protobuf: () => (protobuf ??= encodeV2Protobuf(source(), nextTurn)),
  };
}

/** Fetches the value of each APIService, or takes it from the cache; omits APIServices without a value. */
async function ofEach<T>(
  { apiServices }: AggregatedOpenApiOptions,
  values: Refreshed<T>,
  fetch: (apiService: RemoteApiService) => Promise<T | undefined>,
): Promise<(readonly [RemoteApiService, T])[]> {
  const known = apiServices();
  values.retain(new Set(known.map(({ apiService }) => keyOf(apiService))));
  const found = known.map(async ({ apiService, isAvailable }) => {
    const value = await values.get(keyOf(apiService), isAvailable ? () => fetch(apiService) : undefined);
    return value === undefined ? [] : [[apiService, value] as const];
  });
  return (await Promise.all(found)).flat();
}

/** Names the aggregated server: an APIService that is changed to another Service has other documents. */
function keyOf({ name, service }: RemoteApiService): string {
  return `${name} ${service.namespace}/${service.name}:${service.port}`;
}

type Ask = <T>(
  apiService: RemoteApiService,
  target: string,
  read: (answer: Awaited<ReturnType<CallService>>) => T,
) => Promise<T | undefined>;

/** The returned function never rejects. It returns undefined and logs the reason if there is no usable response. */
function createAsk({ ask, log }: AggregatedOpenApiOptions): Ask {
  const headers = ["Accept", "application/json"];
  const bounds = { timeoutMs: RESPONSE_TIMEOUT_MS, bytesMax: DOCUMENT_BYTES_MAX };
  return async (apiService, target, read) => {
    try {
      const response = await ask(apiService, { target, headers, ...bounds });
      if (response.status !== 200) throw new Error(`unexpected status ${response.status}`);
      return read(response);
    } catch (thrown) {
      const why = messageOf(thrown);
      log.debug("failed to fetch the OpenAPI document of an aggregated server", {
        apiService: apiService.name,
        target,
        why,
      });
      return undefined;
    }
  };
}

function pathOf(apiService: RemoteApiService): string {
  return `apis/${formatGroupVersion(apiService)}`;
}
