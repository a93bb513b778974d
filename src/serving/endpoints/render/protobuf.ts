/**
 * Renders objects and their metadata in protobuf. The encoded object is cached with the stored object; single objects,
 * lists and watch events use the same bytes.
 */
import { sleep, type Clock } from "../../../base/clock.ts";
import type { JsonObject } from "../../../meta/json.ts";
import { envelopeHead, ProtobufEncoder, type TypeMeta } from "../../../objects/protobuf/encode.ts";
import type { ProtobufTables } from "../../../objects/protobuf/tables.ts";
import type { Listed } from "../../registry/list.ts";
import { objectIn } from "../../registry/representation.ts";
import type { ServedResource } from "../../registry/resource.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import { metadataIn } from "./partial.ts";
import { listMetadata, type Renderer } from "./renderer.ts";
import { protobufFormat, type Rendered } from "./wire-format.ts";

interface ProtobufSources {
  readonly tables: ProtobufTables;
  readonly clock: Clock;
}

/**
 * Bytes of stored JSON that are encoded before other requests may proceed; encoding them takes about two milliseconds.
 */
const BYTES_PER_TURN = 256 * 1024;

export function protobufRenderer(served: ServedResource, sources: ProtobufSources): Renderer {
  const { apiVersion, kind, listKind } = served;
  return createRenderer(sources, {
    key: `protobuf ${apiVersion}`,
    type: { apiVersion, kind },
    listKind,
    shown: (entry) => objectIn(entry, served),
  });
}

export function protobufPartialRenderer(
  served: ServedResource,
  apiVersion: string,
  sources: ProtobufSources,
): Renderer {
  return createRenderer(sources, {
    key: `protobuf partial ${apiVersion} ${served.apiVersion}`,
    type: { apiVersion, kind: "PartialObjectMetadata" },
    listKind: "PartialObjectMetadataList",
    shown: (entry) => ({ metadata: metadataIn(entry, served) }),
  });
}

interface ProtobufForm {
  /** The cache key of the encoding. */
  readonly key: string;
  readonly type: TypeMeta;
  readonly listKind: string;
  /** Returns the part of the stored object to render. */
  readonly shown: (entry: Entry) => JsonObject;
}

function createRenderer({ tables, clock }: ProtobufSources, { key, type, listKind, shown }: ProtobufForm): Renderer {
  const encoder = new ProtobufEncoder(tables);
  const format = protobufFormat(encoder);
  const head = envelopeHead(type);
  const listType = { apiVersion: type.apiVersion, kind: listKind };
  const made = (object: JsonObject): readonly Buffer[] => [head, encoder.member(object, type)];
  const member = (entry: Entry): Buffer => {
    const known = entry.memo.get(key) as Buffer | undefined;
    if (known !== undefined) return known;
    const bytes = encoder.member(shown(entry), type);
    entry.memo.set(key, bytes);
    return bytes;
  };
  const list = (listed: Listed): Rendered => {
    const items = listed.entries.map(member);
    const bytes = items.reduce((sum, { length }) => sum + length, 0);
    return { format, chunks: [encoder.listHead({ ...listMetadata(listed) }, listType, bytes), ...items] };
  };
  return {
    key,
    format,
    entry: (entry) => ({ format, chunks: [head, member(entry)] }),
    object: (object) => ({ format, chunks: made(object) }),
    async list(listed) {
      let bytes = 0;
      for (const entry of listed.entries) {
        if (entry.memo.has(key)) continue;
        member(entry);
        bytes += entry.item.length;
        if (bytes < BYTES_PER_TURN) continue;
        bytes = 0;
        await sleep(clock, 0);
      }
      return list(listed);
    },
    bookmark: (metadata) => made({ metadata: JSON.parse(metadata) as unknown }),
  };
}
