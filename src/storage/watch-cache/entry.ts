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
import { isEncrypted, withoutProviders } from "../encryption/providers.ts";
import type { Sealing } from "../kv.ts";
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
  /** The object with all defaults of the server's release, even if the stored value lacks some. */
  readonly item: Buffer;
  /** Whether the stored value lacks defaults that `item` has. */
  readonly lacksDefaults: boolean;
  /** Why the stored value cannot be decoded; `item` is then empty. */
  readonly corrupt: string | undefined;
  /** How the value is encrypted in the store; undefined if the store encrypts nothing. */
  readonly sealing?: Sealing | undefined;
  /** Values that readers have derived from this entry. They are freed together with the entry. */
  readonly memo: Memo;
}

export interface StoredValue {
  readonly key: string;
  readonly value: Buffer;
  readonly sealing?: Sealing | undefined;
  readonly modRevision: number;
  readonly createRevision: number;
}

/** Decodes a stored protobuf value to an object in the canonical order of members, or returns why it cannot. */
export type DecodeForeign = (value: Buffer) => JsonObject | string;

/**
 * Adds the defaults that a stored object lacks in the release of this server. `text` is the object as JSON. The function
 * may change the given object, so the caller uses only the returned one.
 */
export type AddDefaults = (key: string, object: JsonObject, text: string) => CompleteObject;

interface CompleteObject {
  readonly object: JsonObject;
  /** Whether the stored value lacks defaults that the object has. */
  readonly lacksDefaults: boolean;
}

export interface EntryReading {
  readonly decodeForeign?: DecodeForeign | undefined;
  /** Absent if no stored object gets defaults. */
  readonly addDefaults?: AddDefaults | undefined;
  /** The decoded value, if the caller already has it. It has all defaults, because this server has written it. */
  readonly object?: JsonObject | undefined;
}

/** A decoded value: the object with its defaults, and the encoded members after `"metadata":{`. */
interface DecodedValue extends CompleteObject {
  readonly members: Buffer;
}

export function createEntry(stored: StoredValue, reading: EntryReading = {}): Entry {
  return decodeEntry(stored, reading).entry;
}

/** Also returns the decoded value, without a resourceVersion; undefined if the entry is corrupt. */
export function decodeEntry(
  stored: StoredValue,
  reading: EntryReading,
): { readonly entry: Entry; readonly decoded: JsonObject | undefined } {
  const { key, modRevision, createRevision, sealing } = stored;
  if (sealing?.problem !== undefined) return { entry: createCorruptEntry(stored, sealing.problem), decoded: undefined };
  const decoded = decodeValue(stored, reading);
  if (typeof decoded === "string") return { entry: createCorruptEntry(stored, decoded), decoded: undefined };
  const { object, members, lacksDefaults } = decoded;
  const entry: Entry = {
    key,
    modRevision,
    createRevision,
    apiVersion: String(object["apiVersion"]),
    kind: String(object["kind"]),
    labels: objectAt(objectAt(object, "metadata"), "labels") as Labels,
    item: spliceRevision(members, modRevision),
    lacksDefaults,
    corrupt: undefined,
    memo: new Memo(),
  };
  return { entry: sealing === undefined ? entry : { ...entry, sealing }, decoded: object };
}

/** Returns the reason if the value cannot be decoded. */
function decodeValue({ key, value }: StoredValue, reading: EntryReading): DecodedValue | string {
  const { decodeForeign = unknownEncoding, addDefaults, object: known } = reading;
  if (known !== undefined) return withMembers(membersIn(value, known), { object: known, lacksDefaults: false });
  if (isProtobuf(value)) {
    const object = decodeForeign(value);
    if (typeof object === "string") return object;
    const text = JSON.stringify(object);
    return completed({ key, value: Buffer.from(text), text, object }, addDefaults);
  }
  const text = value.toString("utf8");
  const object = parseStored(value, text);
  return typeof object === "string" ? object : completed({ key, value, text, object }, addDefaults);
}

function completed(
  { key, value, text, object }: { key: string; value: Buffer; text: string; object: JsonObject },
  addDefaults: AddDefaults | undefined,
): DecodedValue | string {
  const complete = addDefaults?.(key, object, text) ?? { object, lacksDefaults: false };
  const members = complete.lacksDefaults ? encodeMembers(complete.object) : membersIn(value, complete.object);
  return withMembers(members, complete);
}

function withMembers(members: Buffer | undefined, { object, lacksDefaults }: CompleteObject): DecodedValue | string {
  return members === undefined ? "the value nests too deeply" : { object, lacksDefaults, members };
}

function createCorruptEntry({ key, modRevision, createRevision, sealing }: StoredValue, why: string): Entry {
  return {
    key,
    modRevision,
    createRevision,
    apiVersion: "",
    kind: "",
    labels: {},
    item: Buffer.alloc(0),
    lacksDefaults: false,
    corrupt: why,
    memo: new Memo(),
    ...(sealing !== undefined && { sealing }),
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

function parseStored(value: Buffer, text: string): JsonObject | string {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    if (isEncrypted(value)) return withoutProviders(value).sealing.problem!;
    return "the value is not valid JSON";
  }
  if (!isJsonObject(parsed)) return "the value is not a JSON object";
  if (typeof parsed["kind"] !== "string" || typeof parsed["apiVersion"] !== "string")
    return "the value has no kind or apiVersion";
  if (!isJsonObject(parsed["metadata"])) return "the value has no metadata";
  return parsed;
}

/** Everything after `"metadata":{`, taken from the stored bytes if they begin in canonical form, otherwise encoded. */
function membersIn(value: Buffer, parsed: JsonObject): Buffer | undefined {
  const head = Buffer.from(
    `{"kind":${JSON.stringify(parsed["kind"])},"apiVersion":${JSON.stringify(parsed["apiVersion"])},"metadata":{`,
  );
  // A quote or the closing brace must follow directly, because the revision cannot be inserted before white space.
  const next = value[head.length];
  const isCanonical = (next === QUOTE || next === CLOSE) && value.compare(head, 0, head.length, 0, head.length) === 0;
  const hasRevision = objectAt(parsed, "metadata")["resourceVersion"] !== undefined;
  if (!isCanonical || hasRevision) return encodeMembers(parsed);
  let end = value.length;
  while (end > 0 && value[end - 1]! <= 0x20) end--;
  return value.subarray(head.length, end);
}

/**
 * Everything after `"metadata":{`. Undefined if the object nests too deeply for JSON.stringify, which is recursive; any
 * client could have written such a value.
 */
function encodeMembers(object: JsonObject): Buffer | undefined {
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
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
