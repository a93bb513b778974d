/**
 * The framing of bodies and watch events in JSON and in protobuf, which is the same for objects, metadata and Tables.
 */
import type { Status } from "../../../meta/status-error.ts";
import { envelopeHead, encodeWatchEvent, type ProtobufEncoder } from "../../../objects/protobuf/encode.ts";
import { PROTOBUF_MEDIA_TYPE } from "../../../objects/protobuf/decode.ts";

export interface WireFormat {
  readonly contentType: string;
  /** The content type of a watch. */
  readonly streamContentType: string;
  /** Frames the content as a whole body. */
  document(shown: readonly Buffer[]): readonly Buffer[];
  /** Frames the content as one watch event. */
  event(type: string, shown: readonly Buffer[]): Buffer;
  status(status: Status): readonly Buffer[];
}

/** Content together with the format that frames it. */
export interface Rendered {
  readonly format: WireFormat;
  readonly chunks: readonly Buffer[];
}

const NEWLINE = Buffer.from("\n");
const EVENT_TAIL = Buffer.from("}\n");

export const JSON_FORMAT: WireFormat = Object.freeze({
  contentType: "application/json",
  streamContentType: "application/json",
  document: (shown: readonly Buffer[]) => [...shown, NEWLINE],
  event: (type: string, shown: readonly Buffer[]) =>
    Buffer.concat([Buffer.from(`{"type":"${type}","object":`), ...shown, EVENT_TAIL]),
  status: (status: Status) => [Buffer.from(JSON.stringify(status))],
});

export function jsonRendered(chunks: readonly Buffer[]): Rendered {
  return { format: JSON_FORMAT, chunks };
}

export function protobufFormat(encoder: ProtobufEncoder): WireFormat {
  return {
    contentType: PROTOBUF_MEDIA_TYPE,
    streamContentType: `${PROTOBUF_MEDIA_TYPE};stream=watch`,
    document: (shown) => shown,
    event: encodeWatchEvent,
    status: (status) => [envelopeHead(status), encoder.member({ ...status }, status)],
  };
}
