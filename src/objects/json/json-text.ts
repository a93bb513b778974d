/**
 * Finds in a JSON text what JSON.parse does not report: its depth, duplicate keys, and Go's error message for invalid
 * JSON, which clients show.
 */
import { isJsonObject, setMember, type JsonObject } from "../../meta/json.ts";

/** A depth that no real object reaches. It is limited, because the code that walks parsed objects is recursive. */
export const JSON_DEPTH_MAX = 500;

interface JsonShape {
  readonly depth: number;
  /** Number of fields in all objects, including duplicates. If the parsed object has fewer, there are duplicates. */
  readonly members: number;
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;

/** Measures valid or invalid JSON in one pass. For invalid JSON the result is only an estimate. */
export function measureJson(bytes: Buffer): JsonShape {
  let depth = 0;
  let deepest = 0;
  let members = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === QUOTE) at = endOfString(bytes, at);
    else if (byte === COLON) members++;
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (++depth > deepest) deepest = depth;
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth--;
  }
  return { depth: deepest, members };
}

/** Index of the closing quote of the string that opens at `at`; the end of the text if it never closes. */
function endOfString(bytes: Buffer, at: number): number {
  for (let end = at + 1; end < bytes.length; end++) {
    const byte = bytes[end];
    if (byte === QUOTE) return end;
    if (byte === BACKSLASH) end++;
  }
  return bytes.length;
}

/**
 * Limits the number of reported paths and their total length, because both can grow with the square of the body size.
 */
export const REPORTED_PATHS_MAX = 100;
export const REPORTED_PATHS_LENGTH_MAX = 64 * 1024;

/** Collects distinct paths up to these limits; the first is always kept. */
export class ReportedPaths {
  readonly #paths = new Set<string>();
  #length = 0;

  get isFull(): boolean {
    return this.#paths.size >= REPORTED_PATHS_MAX || this.#length > REPORTED_PATHS_LENGTH_MAX;
  }

  add(path: string): void {
    if (this.isFull || this.#paths.has(path)) return;
    this.#paths.add(path);
    this.#length += path.length;
  }

  list(): string[] {
    return [...this.#paths];
  }
}

/** Paths of duplicate fields, such as `spec.ports[0].name`, in document order. For valid JSON only. */
export function findDuplicateMembers(text: string): string[] {
  const duplicates = new ReportedPaths();
  const stack: { keys: Set<string> | undefined; path: string; index: number; key: string }[] = [];
  const token = /"[^"\\]*(?:\\.[^"\\]*)*"|[{}[\],]|[^\s"{}[\],:]+/g;
  let expectsKey = false;
  for (let match = token.exec(text); match !== null; match = token.exec(text)) {
    const [word] = match;
    const top = stack.at(-1);
    if (word === "{" || word === "[") {
      stack.push({ keys: word === "{" ? new Set() : undefined, path: memberPath(top), index: 0, key: "" });
      expectsKey = word === "{";
    } else if (word === "}" || word === "]") {
      stack.pop();
      expectsKey = false;
    } else if (word === "," && top !== undefined) {
      top.index++;
      expectsKey = top.keys !== undefined;
    } else if (expectsKey && top?.keys !== undefined) {
      top.key = String(JSON.parse(word));
      if (top.keys.has(top.key)) duplicates.add(memberPath(top));
      if (duplicates.isFull) break;
      top.keys.add(top.key);
      expectsKey = false;
    }
  }
  return duplicates.list();
}

function memberPath(
  frame: { keys: Set<string> | undefined; path: string; index: number; key: string } | undefined,
): string {
  if (frame === undefined) return "";
  if (frame.keys === undefined) return `${frame.path}[${frame.index}]`;
  return frame.path === "" ? frame.key : `${frame.path}.${frame.key}`;
}

/**
 * Go's message for text that JSON.parse has rejected. Pass bytes if available, because Go reads bytes. Characters of a
 * string that are below 256 count as one byte each.
 */
export function describeSyntaxError(text: string | Buffer): string {
  const scanner = new GoScanner(typeof text === "string" ? text : text.toString("latin1"));
  return scanner.value() ?? scanner.trailing() ?? "unexpected end of JSON input";
}

const END_OF_INPUT = "unexpected end of JSON input";

/**
 * Scans invalid JSON as Go does. Each method returns the message of the first error, or undefined if there is none so
 * far. As Go: if the text ends in the middle of a word, number or escape, the message names a space that is not in the
 * text.
 */
class GoScanner {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): string | undefined {
    const character = this.#next();
    if (character === undefined) return END_OF_INPUT;
    if (character === "{") return this.#nested(() => this.#object());
    if (character === "[") return this.#nested(() => this.#array());
    if (character === '"') return this.#string();
    if (character === "-" || /[0-9]/.test(character)) return this.#number();
    for (const literal of ["true", "false", "null"]) if (literal[0] === character) return this.#literal(literal);
    return this.#unexpected("looking for beginning of value");
  }

  trailing(): string | undefined {
    return this.#next() === undefined ? undefined : this.#unexpected("after top-level value");
  }

  #nested(inner: () => string | undefined): string | undefined {
    if (++this.#depth > JSON_DEPTH_MAX) return "exceeded max depth";
    this.#at++;
    const error = inner();
    this.#depth--;
    return error;
  }

  #object(): string | undefined {
    if (this.#next() === "}") return this.#step();
    for (;;) {
      const quote = this.#next();
      if (quote === undefined) return END_OF_INPUT;
      if (quote !== '"') return this.#unexpected("looking for beginning of object key string");
      const keyError = this.#string();
      if (keyError !== undefined) return keyError;
      const colon = this.#next();
      if (colon === undefined) return END_OF_INPUT;
      if (colon !== ":") return this.#unexpected("after object key");
      this.#at++;
      const valueError = this.value();
      if (valueError !== undefined) return valueError;
      const separator = this.#next();
      if (separator === undefined) return END_OF_INPUT;
      if (separator === "}") return this.#step();
      if (separator !== ",") return this.#unexpected("after object key:value pair");
      this.#at++;
    }
  }

  #array(): string | undefined {
    if (this.#next() === "]") return this.#step();
    for (;;) {
      const error = this.value();
      if (error !== undefined) return error;
      const separator = this.#next();
      if (separator === undefined) return END_OF_INPUT;
      if (separator === "]") return this.#step();
      if (separator !== ",") return this.#unexpected("after array element");
      this.#at++;
    }
  }

  #string(): string | undefined {
    for (this.#at++; this.#at < this.#text.length; this.#at++) {
      const character = this.#text.charAt(this.#at);
      if (character === '"') return this.#step();
      if (character < " ") return this.#unexpected("in string literal");
      if (character === "\\") {
        const error = this.#escape();
        if (error !== undefined) return error;
      }
    }
    return END_OF_INPUT;
  }

  #escape(): string | undefined {
    this.#at++;
    const escape = this.#text[this.#at];
    if (escape === undefined || !'"\\/bfnrtu'.includes(escape)) return this.#unexpected("in string escape code");
    if (escape !== "u") return undefined;
    for (let digit = 0; digit < 4; digit++) {
      this.#at++;
      if (!/^[0-9A-Fa-f]$/.test(this.#text[this.#at] ?? ""))
        return this.#unexpected("in \\u hexadecimal character escape");
    }
    return undefined;
  }

  #number(): string | undefined {
    if (this.#text[this.#at] === "-") this.#at++;
    if (this.#text[this.#at] === "0") this.#at++;
    else if (!this.#digits()) return this.#unexpected("in numeric literal");
    if (this.#text[this.#at] === ".") {
      this.#at++;
      if (!this.#digits()) return this.#unexpected("after decimal point in numeric literal");
    }
    if (this.#text[this.#at] === "e" || this.#text[this.#at] === "E") {
      this.#at++;
      if (this.#text[this.#at] === "+" || this.#text[this.#at] === "-") this.#at++;
      if (!this.#digits()) return this.#unexpected("in exponent of numeric literal");
    }
    return undefined;
  }

  /** Skips digits; false if there is none. */
  #digits(): boolean {
    const start = this.#at;
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at++;
    return this.#at > start;
  }

  #literal(literal: string): string | undefined {
    for (let index = 1; index < literal.length; index++) {
      this.#at++;
      if (this.#text[this.#at] !== literal[index])
        return this.#unexpected(`in literal ${literal} (expecting ${quoteCharacter(literal.charAt(index))})`);
    }
    return this.#step();
  }

  #step(): undefined {
    this.#at++;
    return undefined;
  }

  #next(): string | undefined {
    while (this.#at < this.#text.length && " \t\r\n".includes(this.#text.charAt(this.#at))) this.#at++;
    return this.#text[this.#at];
  }

  #unexpected(where: string): string {
    return `invalid character ${quoteCharacter(this.#text[this.#at] ?? " ")} ${where}`;
  }
}

const SHORT_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["\n", "\\n"],
  ["\r", "\\r"],
  ["\t", "\\t"],
  ["\b", "\\b"],
  ["\f", "\\f"],
  ["\v", "\\v"],
  ["\u0007", "\\a"],
  ["\\", "\\\\"],
  ["'", "\\'"],
]);

/** Whether the character code is a digit. NaN, the code after the end of the text, is not. */
function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

/** A byte as Go shows it in a message. */
function quoteCharacter(character: string): string {
  const short = SHORT_ESCAPES.get(character);
  if (short !== undefined) return `'${short}'`;
  const code = character.charCodeAt(0) > 0xff ? Buffer.from(character).readUInt8() : character.charCodeAt(0);
  if (code < 0x20 || code === 0x7f) return `'\\x${code.toString(16).padStart(2, "0")}'`;
  if ((code > 0x7f && code <= 0xa0) || code === 0xad) return `'\\u${code.toString(16).padStart(4, "0")}'`;
  return `'${String.fromCharCode(code)}'`;
}

/** Parses JSON. Throws the error of JSON.parse for invalid JSON. */
export function parseJsonText(text: string): unknown {
  const value: unknown = JSON.parse(text);
  return SURROGATE_ESCAPE.test(text) ? wellFormed(value) : value;
}

const SURROGATE_ESCAPE = /\\u[dD][89a-fA-F]/;

/** As Go: an unpaired surrogate is read as U+FFFD, because UTF-8 cannot encode it. */
function wellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(wellFormed);
  if (!isJsonObject(value)) return value;
  const copy: JsonObject = {};
  for (const key of Object.keys(value)) setMember(copy, key.toWellFormed(), wellFormed(value[key]));
  return copy;
}
