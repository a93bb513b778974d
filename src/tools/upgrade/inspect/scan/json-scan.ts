/**
 * Reads the type and the metadata of a stored JSON object from its bytes, and checks that the rest is well formed:
 * strings end, brackets match, and there is nothing between them that JSON does not allow. JSON.parse of a million
 * objects would need several times the CPU time, and create objects for all fields.
 */
import type { ByteStrings } from "./byte-strings.ts";
import type { ObjectHead } from "./object-head.ts";

const QUOTE = 0x22;
const COMMA = 0x2c;
const COLON = 0x3a;
const BACKSLASH = 0x5c;
const OPEN_LIST = 0x5b;
const CLOSE_LIST = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const LETTER_N = 0x6e;
const DEPTH_MAX = 10_000;
/** Longer parts of strings are searched by native code. */
const INLINE_BYTES = 64;
/** Length of a time such as "2026-01-02T03:04:05Z". */
const TIME_BYTES = 20;

/** Bytes that JSON allows outside of strings, without brackets: 1 if part of a number or literal, 2 otherwise. */
const PLAIN = plainBytes();

function plainBytes(): Uint8Array {
  const classes = new Uint8Array(256);
  for (const character of "0123456789+-.eEtrufalsn") classes[character.charCodeAt(0)] = 1;
  for (const character of ",: \t\r\n") classes[character.charCodeAt(0)] = 2;
  return classes;
}

const NAMES = {
  apiVersion: Buffer.from("apiVersion"),
  kind: Buffer.from("kind"),
  metadata: Buffer.from("metadata"),
  uid: Buffer.from("uid"),
  deletionTimestamp: Buffer.from("deletionTimestamp"),
  ownerReferences: Buffer.from("ownerReferences"),
  finalizers: Buffer.from("finalizers"),
  managedFields: Buffer.from("managedFields"),
  manager: Buffer.from("manager"),
  time: Buffer.from("time"),
} as const;

/** Ends the scan. It has no content of the value. */
class MalformedJson extends Error {}

export class JsonScan {
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #end = 0;
  /** The bytes between the quotes of the last string. */
  #textStart = 0;
  #textEnd = 0;
  #hasEscapes = false;
  /** The bracket that closes each open bracket. */
  readonly #nesting = new Uint8Array(DEPTH_MAX);

  /** Returns why the value cannot be read, without any of its content; undefined if it was read. */
  scan(value: Buffer, head: ObjectHead): string | undefined {
    head.clear();
    this.#bytes = value;
    this.#at = 0;
    this.#end = value.length;
    try {
      this.#readObject(head);
      if (this.#peek() !== 0) throw new MalformedJson();
    } catch (thrown) {
      if (!(thrown instanceof MalformedJson)) throw thrown;
      return this.#at >= this.#end ? "the JSON value is truncated" : "the JSON value is malformed";
    }
    return undefined;
  }

  #readObject(head: ObjectHead): void {
    this.#expect(OPEN_OBJECT);
    for (let isFirst = true; this.#nextMember(isFirst); isFirst = false) {
      if (this.#isName(NAMES.apiVersion)) head.apiVersion = this.#textId(head.types);
      else if (this.#isName(NAMES.kind)) head.kind = this.#textId(head.types);
      else if (this.#isName(NAMES.metadata) && this.#peek() === OPEN_OBJECT) this.#readMetadata(head);
      else this.#skip();
    }
  }

  #readMetadata(head: ObjectHead): void {
    this.#expect(OPEN_OBJECT);
    for (let isFirst = true; this.#nextMember(isFirst); isFirst = false) {
      if (this.#isName(NAMES.uid)) {
        if (this.#isText()) head.setUid(this.#bytes, this.#textStart, this.#textEnd);
      } else if (this.#isName(NAMES.deletionTimestamp)) {
        head.isDeleting = this.#peek() !== LETTER_N;
        this.#skip();
      } else if (this.#isName(NAMES.finalizers)) {
        for (let isFirstItem = true; this.#nextItem(isFirstItem); isFirstItem = false)
          head.addFinalizer(this.#textId(head.strings));
      } else if (this.#isName(NAMES.ownerReferences)) {
        for (let isFirstItem = true; this.#nextItem(isFirstItem); isFirstItem = false) this.#readOwner(head);
      } else if (this.#isName(NAMES.managedFields)) {
        for (let isFirstItem = true; this.#nextItem(isFirstItem); isFirstItem = false) this.#readEntry(head);
      } else {
        this.#skip();
      }
    }
  }

  #readOwner(head: ObjectHead): void {
    const owner = head.addOwner();
    if (owner === undefined || this.#peek() !== OPEN_OBJECT) return this.#skip();
    this.#expect(OPEN_OBJECT);
    for (let isFirst = true; this.#nextMember(isFirst); isFirst = false) {
      if (this.#isName(NAMES.kind)) head.ownerKinds[owner] = this.#textId(head.strings);
      else if (this.#isName(NAMES.apiVersion)) head.ownerVersions[owner] = this.#textId(head.strings);
      else if (!this.#isName(NAMES.uid)) this.#skip();
      else if (this.#isText()) head.setOwnerUid(owner, this.#bytes, this.#textStart, this.#textEnd);
    }
  }

  #readEntry(head: ObjectHead): void {
    const entry = head.addEntry();
    if (entry === undefined || this.#peek() !== OPEN_OBJECT) return this.#skip();
    this.#expect(OPEN_OBJECT);
    for (let isFirst = true; this.#nextMember(isFirst); isFirst = false) {
      if (this.#isName(NAMES.manager)) head.managers[entry] = this.#textId(head.strings);
      else if (this.#isName(NAMES.apiVersion)) head.managerVersions[entry] = this.#textId(head.strings);
      else if (!this.#isName(NAMES.time)) this.#skip();
      else if (this.#isText()) head.times[entry] = this.#seconds();
    }
  }

  /** Skips the value. Returns whether it is a string. */
  #isText(): boolean {
    const isText = this.#peek() === QUOTE;
    this.#skip();
    return isText;
  }

  /** The ID of the string at the current position; that of the empty string if the value is not a string. */
  #textId(strings: ByteStrings): number {
    if (!this.#isText()) return strings.idOf(this.#bytes, 0, 0);
    if (!this.#hasEscapes) return strings.idOf(this.#bytes, this.#textStart, this.#textEnd);
    const text = Buffer.from(this.#unescaped());
    return strings.idOf(text, 0, text.length);
  }

  #unescaped(): string {
    try {
      return String(JSON.parse(this.#bytes.toString("utf8", this.#textStart - 1, this.#textEnd + 1)));
    } catch {
      throw new MalformedJson();
    }
  }

  #seconds(): number {
    if (this.#textEnd - this.#textStart < TIME_BYTES) return 0;
    const ms = Date.UTC(
      this.#digits(0, 4),
      this.#digits(5, 2) - 1,
      this.#digits(8, 2),
      this.#digits(11, 2),
      this.#digits(14, 2),
      this.#digits(17, 2),
    );
    return Number.isFinite(ms) ? ms / 1000 : 0;
  }

  /** NaN if a byte is not a digit. */
  #digits(offset: number, count: number): number {
    let value = 0;
    for (let at = 0; at < count; at++) {
      const digit = this.#bytes[this.#textStart + offset + at]! - 0x30;
      if (digit < 0 || digit > 9) return Number.NaN;
      value = value * 10 + digit;
    }
    return value;
  }

  /** Whether the name of the current member is this one. Nobody writes these names with escapes. */
  #isName(name: Buffer): boolean {
    const start = this.#textStart;
    if (this.#textEnd - start !== name.length) return false;
    for (let at = 0; at < name.length; at++) if (this.#bytes[start + at] !== name[at]) return false;
    return true;
  }

  /** Moves to the value of the next member, and reads its name; false after the last member. */
  #nextMember(isFirst: boolean): boolean {
    const byte = this.#peek();
    if (byte === CLOSE_OBJECT) {
      this.#at++;
      return false;
    }
    if (!isFirst) this.#expect(COMMA);
    this.#string();
    this.#expect(COLON);
    return true;
  }

  /** Moves to the next item of the list at the current position. A value that is not a list has no items. */
  #nextItem(isFirst: boolean): boolean {
    if (isFirst) {
      if (this.#peek() !== OPEN_LIST) {
        this.#skip();
        return false;
      }
      this.#at++;
    }
    if (this.#peek() === CLOSE_LIST) {
      this.#at++;
      return false;
    }
    if (!isFirst) this.#expect(COMMA);
    return true;
  }

  /** The next byte that is not white space; 0 at the end. */
  #peek(): number {
    for (; this.#at < this.#end; this.#at++) {
      const byte = this.#bytes[this.#at]!;
      if (byte > 0x20 || (byte !== 0x20 && PLAIN[byte] === 0)) return byte === 0 ? 1 : byte;
    }
    return 0;
  }

  #expect(byte: number): void {
    if (this.#peek() !== byte) throw new MalformedJson();
    this.#at++;
  }

  #string(): void {
    this.#expect(QUOTE);
    const bytes = this.#bytes;
    const end = this.#end;
    let at = this.#at;
    this.#textStart = at;
    this.#hasEscapes = false;
    for (let native = at + INLINE_BYTES; at < end; at++) {
      if (at === native) at = this.#plainEnd(at);
      const byte = bytes[at];
      if (byte === QUOTE) {
        this.#textEnd = at;
        this.#at = at + 1;
        return;
      }
      if (byte === BACKSLASH) {
        this.#hasEscapes = true;
        at++;
        native = at + 1 + INLINE_BYTES;
      } else if (byte === undefined || byte < 0x20) {
        break;
      }
    }
    this.#at = at;
    throw new MalformedJson();
  }

  /**
   * The position of the next quote or backslash, by native code, which needs a tenth of the time for long strings. It
   * does not notice control characters.
   */
  #plainEnd(at: number): number {
    const quote = this.#bytes.indexOf(QUOTE, at);
    const end = quote < 0 ? this.#end : quote;
    const backslash = this.#bytes.subarray(at, end).indexOf(BACKSLASH);
    return backslash < 0 ? end : at + backslash;
  }

  #skip(): void {
    const first = this.#peek();
    if (first === QUOTE) return this.#string();
    if (first === OPEN_OBJECT || first === OPEN_LIST) return this.#skipNested();
    const start = this.#at;
    while (this.#at < this.#end && PLAIN[this.#bytes[this.#at]!] === 1) this.#at++;
    if (this.#at === start) throw new MalformedJson();
  }

  #skipNested(): void {
    let depth = 0;
    do {
      const byte = this.#bytes[this.#at]!;
      if (byte === QUOTE) {
        this.#string();
        continue;
      }
      if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
        if (depth === DEPTH_MAX) throw new MalformedJson();
        this.#nesting[depth++] = byte + 2;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
        if (this.#nesting[--depth] !== byte) throw new MalformedJson();
      } else if (PLAIN[byte] === 0) {
        throw new MalformedJson();
      }
      this.#at++;
    } while (depth > 0 && this.#at < this.#end);
    if (depth > 0) throw new MalformedJson();
  }
}
