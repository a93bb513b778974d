/**
 * Renders PartialObjectMetadata as slices of the stored bytes, because the garbage collector and the namespace and
 * quota controllers list and watch all objects in this form.
 */
import { objectAt, type JsonObject } from "../../../meta/json.ts";
import { membersIn, objectIn } from "../../registry/representation.ts";
import type { ServedResource } from "../../registry/resource.ts";
import type { Entry } from "../../../storage/watch-cache/entry.ts";
import { listMetadata, type Renderer } from "./renderer.ts";
import { jsonRendered, JSON_FORMAT } from "./wire-format.ts";

const CLOSE = Buffer.from("}");
const LIST_TAIL = Buffer.from("]}");

export function partialRenderer(served: ServedResource, metaVersion: string): Renderer {
  const apiVersion = JSON.stringify(metaVersion);
  const head = Buffer.from(`{"kind":"PartialObjectMetadata","apiVersion":${apiVersion},`);
  const nextHead = Buffer.concat([Buffer.from(","), head]);
  return {
    key: `partial ${metaVersion} ${served.apiVersion}`,
    format: JSON_FORMAT,
    entry: (entry) => jsonRendered([head, metadataMember(entry, served), CLOSE]),
    object: (object) => jsonRendered([head, encodeMetadata(object), CLOSE]),
    value(entry, decoded) {
      const isServedVersion = entry.apiVersion === served.apiVersion;
      const stored =
        decoded !== undefined && isServedVersion ? objectAt(decoded, "metadata") : metadataIn(entry, served);
      const { managedFields: _managedFields, ...metadata } = stored;
      metadata["resourceVersion"] = String(entry.modRevision);
      return { kind: "PartialObjectMetadata", apiVersion: metaVersion, metadata };
    },
    list(listed) {
      const chunks: Buffer[] = [
        Buffer.from(
          `{"kind":"PartialObjectMetadataList","apiVersion":${apiVersion},"metadata":${JSON.stringify(listMetadata(listed))},"items":[`,
        ),
      ];
      for (const entry of listed.entries)
        chunks.push(chunks.length === 1 ? head : nextHead, metadataMember(entry, served), CLOSE);
      chunks.push(LIST_TAIL);
      return jsonRendered(chunks);
    },
    bookmark: (metadata) => [head, Buffer.from(`"metadata":${metadata}}`)],
  };
}

const METADATA_HEAD = Buffer.from('"metadata":{');

/** Parses only the metadata of the object. */
export function metadataIn(entry: Entry, served: ServedResource): JsonObject {
  return objectAt(JSON.parse(`{${metadataMember(entry, served).toString()}}`) as JsonObject, "metadata");
}

/** Returns `"metadata":{…}` from the encoded fields of the object, which almost always begin with the metadata. */
function metadataMember(entry: Entry, served: ServedResource): Buffer {
  const members = membersIn(entry, served);
  if (!members.subarray(0, METADATA_HEAD.length).equals(METADATA_HEAD)) return encodeMetadata(objectIn(entry, served));
  const memoKey = `metadata end ${served.apiVersion}`;
  let end = entry.memo.get(memoKey) as number | undefined;
  if (end === undefined) entry.memo.set(memoKey, (end = endOfObject(members, METADATA_HEAD.length - 1)));
  return members.subarray(0, end);
}

function encodeMetadata(object: JsonObject): Buffer {
  return Buffer.from(`"metadata":${JSON.stringify(objectAt(object, "metadata"))}`);
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const OPEN = 0x7b;
const CLOSED = 0x7d;

/** Returns the index after the brace that closes the brace at `start`. The text must be valid JSON. */
export function endOfObject(bytes: Buffer, start: number): number {
  let depth = 0;
  for (let at = start; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      do at = bytes.indexOf(QUOTE, at + 1);
      while (isEscaped(bytes, at));
    } else if (byte === OPEN) depth++;
    else if (byte === CLOSED && --depth === 0) return at + 1;
  }
  return bytes.length;
}

function isEscaped(bytes: Buffer, at: number): boolean {
  let backslashes = 0;
  while (bytes[at - 1 - backslashes] === BACKSLASH) backslashes++;
  return backslashes % 2 === 1;
}
