/**
 * One stored object as the watch cache keeps it: as bytes. `item` is a comma and then the object, without kind and
 * apiVersion but with its resourceVersion:
 *
 *   ,{"metadata":{"resourceVersion":"42","name":"web",…},"spec":…}
 *
 * These bytes are served without parsing or serializing them again: a list item is the buffer itself, a GET response is
 * a shared head and a slice of the buffer, and a watch event is a shared head, a slice and a shared tail.
 */
import { isJsonObject, objectAt, type JsonObject } from "../../meta/json.ts";
import type { Labels } from "../../meta/label-selector.ts";
import { Memo } from "./memo.ts";

const ITEM_HEAD = `,{"metadata":{"resourceVersion":"`;
const ITEM_HEAD_BYTES = Buffer.from(ITEM_HEAD);
const QUOTE = 0x22;
const CLOSE = 0x7d;

export interface Entry {
  readonly key: string;
  readonly modRevision: number;
  readonly createRevision: number;
  /** The API version in which the object is stored, which may differ from the served version. */
  readonly apiVersion: string;
  readonly kind: string;
  readonly labels: Labels;
  readonly item: Buffer;
  /** Why the stored value cannot be decoded; `item` is then empty. */
  readonly corrupt: string | undefined;
  /** Values that readers have derived from this entry. They are freed together with the entry. */
  readonly memo: Memo;
}

export interface StoredValue {
  readonly key: string;
  readonly value: Buffer;
  readonly modRevision: number;
  readonly createRevision: number;
}

/** Turns a stored protobuf value into canonical JSON bytes, or returns the reason why it cannot. */
export type DecodeForeign = (value: Buffer) => Buffer | string;

interface EntryReading {
  readonly decodeForeign?: DecodeForeign | undefined;
  /** The decoded value, if the caller already has it. */
  readonly object?: JsonObject | undefined;
}

export function createEntry(stored: StoredValue, reading: EntryReading = {}): Entry {
  const { key, modRevision, createRevision } = stored;
  const { decodeForeign = unknownEncoding, object } = reading;
  const value = isProtobuf(stored.value) ? decodeForeign(stored.value) : stored.value;
  if (typeof value === "string") return createCorruptEntry(stored, value);
  const parsed = object ?? parseStored(value);
  if (typeof parsed === "string") return createCorruptEntry(stored, parsed);
  const { apiVersion, kind } = parsed;
  const labels = objectAt(objectAt(parsed, "metadata"), "labels") as Labels;
  const rest = membersAfterMetadataBrace(value, parsed);
  if (rest === undefined) return createCorruptEntry(stored, "the value nests too deeply");
  const item = spliceRevision(rest, modRevision);
  return {
    key,
    modRevision,
    createRevision,
    apiVersion: String(apiVersion),
    kind: String(kind),
    labels,
    item,
    corrupt: undefined,
    memo: new Memo(),
  };
}

function createCorruptEntry({ key, modRevision, createRevision }: StoredValue, why: string): Entry {
  return {
    key,
    modRevision,
    createRevision,
    apiVersion: "",
    kind: "",
    labels: {},
    item: Buffer.alloc(0),
    corrupt: why,
    memo: new Memo(),
  };
}

/** An entry for a DELETED event: the last state of the object with the revision of its deletion. */
export function createTombstone(entry: Entry, revision: number): Entry {
  if (entry.corrupt !== undefined) return { ...entry, modRevision: revision, memo: new Memo() };
  const restStart = ITEM_HEAD.length + String(entry.modRevision).length + 1;
  const separator = entry.item[restStart] === 0x2c ? 1 : 0;
  return {
    ...entry,
    modRevision: revision,
    item: spliceRevision(entry.item.subarray(restStart + separator), revision),
    memo: new Memo(),
  };
}

/** Parses the whole object in its stored version. The caller may modify the result. */
export function parseEntry(entry: Entry): JsonObject {
  const object = JSON.parse(entry.item.toString("utf8", 1)) as JsonObject;
  return { kind: entry.kind, apiVersion: entry.apiVersion, ...object };
}

/**
 * Encodes the `item` of an object that differs from its stored bytes, because it was converted or read at an old
 * revision.
 */
export function encodeItem(object: JsonObject): Buffer {
  const { kind: _kind, apiVersion: _apiVersion, ...members } = object;
  return Buffer.from(`,${JSON.stringify(members)}`);
}

/** kube-apiserver stores most kinds in protobuf. */
function isProtobuf(value: Buffer): boolean {
  return value.length >= 4 && value.toString("latin1", 0, 4) === "k8s\u0000";
}

function unknownEncoding(): string {
  return "the value is encoded as protobuf, which this server cannot decode";
}

function parseStored(value: Buffer): JsonObject | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(value.toString("utf8"));
  } catch {
    return "the value is not valid JSON";
  }
  if (!isJsonObject(parsed)) return "the value is not a JSON object";
  if (typeof parsed["kind"] !== "string" || typeof parsed["apiVersion"] !== "string")
    return "the value has no kind or apiVersion";
  if (!isJsonObject(parsed["metadata"])) return "the value has no metadata";
  return parsed;
}

/**
 * Everything after `"metadata":{`, taken from the stored bytes if they begin in canonical form, otherwise serialized.
 * Undefined if the value nests too deeply for JSON.stringify, which is recursive; any client could have written such a
 * value.
 */
function membersAfterMetadataBrace(value: Buffer, parsed: JsonObject): Buffer | undefined {
  const head = Buffer.from(
    `{"kind":${JSON.stringify(parsed["kind"])},"apiVersion":${JSON.stringify(parsed["apiVersion"])},"metadata":{`,
  );
  // A quote or the closing brace must follow directly, because the revision cannot be inserted before white space.
  const next = value[head.length];
  const isCanonical = (next === QUOTE || next === CLOSE) && value.compare(head, 0, head.length, 0, head.length) === 0;
  const hasRevision = objectAt(parsed, "metadata")["resourceVersion"] !== undefined;
  if (isCanonical && !hasRevision) {
    let end = value.length;
    while (end > 0 && value[end - 1]! <= 0x20) end--;
    return value.subarray(head.length, end);
  }
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = parsed;
  const { resourceVersion: _resourceVersion, ...meta } = metadata as JsonObject;
  try {
    // Metadata and the rest are serialized separately, because in one object a field with a numeric name would come
    // before metadata.
    const members = JSON.stringify(rest);
    return Buffer.from(JSON.stringify(meta).slice(1) + (members === "{}" ? "}" : `,${members.slice(1)}`));
  } catch (thrown) {
    if (thrown instanceof RangeError) return undefined;
    throw thrown;
  }
}

function spliceRevision(rest: Buffer, revision: number): Buffer {
  const isEmptyMetadata = rest[0] === 0x7d;
  const revisionText = `${revision}${isEmptyMetadata ? '"' : '",'}`;
  // Not allocated from Node's shared pool, because a long-lived entry would keep the whole pool in memory.
  const item = Buffer.allocUnsafeSlow(ITEM_HEAD.length + revisionText.length + rest.length);
  ITEM_HEAD_BYTES.copy(item);
  item.write(revisionText, ITEM_HEAD.length, "latin1");
  rest.copy(item, ITEM_HEAD.length + revisionText.length);
  return item;
}
