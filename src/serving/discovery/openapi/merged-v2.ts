/** The OpenAPI 2 document of the whole cluster. It is built once for each set of source documents. */
import type { EncodedOpenApi } from "./documents.ts";
import type { LocalOpenApi } from "./local.ts";
import { decodeV2Document } from "./decode-peer-response.ts";
import type { PeerV2Documents } from "./peer-documents.ts";
import type { PeerSource } from "./peer-indexes.ts";
import { keyOf, type RankedSources, type SharedDocuments } from "./sources.ts";
import { encodeV2Json, encodeV2Protobuf, type RunInNextTurn } from "./v2-encode.ts";
import { mergeV2Sources, sourceOf } from "./v2-source.ts";

interface MergedV2 {
  json(): Promise<EncodedOpenApi>;
  protobuf(): Promise<EncodedOpenApi>;
}

interface Whole {
  /** The sources from which the document was built. */
  readonly key: string;
  readonly json: Promise<EncodedOpenApi>;
  protobuf: Promise<EncodedOpenApi> | undefined;
}

export function createMergedV2(options: {
  readonly local: LocalOpenApi;
  readonly peerDocuments: PeerV2Documents;
  readonly sources: RankedSources;
  readonly nextTurn: RunInNextTurn | undefined;
}): MergedV2 {
  const { local, peerDocuments, nextTurn } = options;
  let last: Whole | undefined;

  /**
   * Returns undefined if the local document is the only source. A source that is unavailable is omitted until it is
   * available.
   */
  const current = async (): Promise<Whole | undefined> => {
    const sources = await options.sources();
    if (sources.length === 1) return undefined;
    if (last?.key === keyOf(sources)) return last;
    const documents = new Map(await peerDocuments.load(sources.flatMap(toPeerSources)));
    const own = await local.v2();
    for (const { isLocal, index } of sources) if (isLocal) documents.set(index.digest, own);
    const present = sources.filter(({ index }) => documents.has(index.digest));
    if (present.length === 1) return undefined;
    const key = keyOf(present);
    if (last?.key === key) return last;
    const decoded = present.map(({ index }) =>
      sourceOf(decodeV2Document(documents.get(index.digest)?.bytes ?? own.bytes)),
    );
    last = { key, json: encodeV2Json(mergeV2Sources(decoded), nextTurn), protobuf: undefined };
    return last;
  };

  return {
    json: async () => (await current())?.json ?? local.v2(),
    async protobuf() {
      const whole = await current();
      if (whole === undefined) return local.v2Protobuf();
      const { bytes } = await whole.json;
      return (whole.protobuf ??= encodeV2Protobuf(sourceOf(decodeV2Document(bytes)), nextTurn));
    },
  };
}

function toPeerSources({ isLocal, index, peers }: SharedDocuments): PeerSource[] {
  return isLocal ? [] : peers.map((peer) => ({ peer, index }));
}
