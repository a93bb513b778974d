/** Parses literals to values. */
import { Uint } from "../values/value.ts";

const INT_MAX = 2n ** 63n - 1n;
const INT_MIN = -(2n ** 63n);
const UINT_MAX = 2n ** 64n - 1n;

/** The value of an integer literal; undefined if it is out of range. */
export function intLiteral(text: string, isNegative: boolean): bigint | undefined {
  const value = isNegative ? -BigInt(text) : BigInt(text);
  return value > INT_MAX || value < INT_MIN ? undefined : value;
}

export function uintLiteral(text: string): Uint | undefined {
  const value = BigInt(text.slice(0, -1));
  return value > UINT_MAX ? undefined : new Uint(value);
}

export function doubleLiteral(text: string, isNegative: boolean): number | undefined {
  const value = Number(text);
  if (!Number.isFinite(value)) return undefined;
  return isNegative ? -value : value;
}

const SIMPLE_ESCAPES: ReadonlyMap<string, string> = new Map([
  ["a", "\u0007"],
  ["b", "\b"],
  ["f", "\f"],
  ["n", "\n"],
  ["r", "\r"],
  ["t", "\t"],
  ["v", "\v"],
  ["\\", "\\"],
  ["'", "'"],
  ['"', '"'],
  ["`", "`"],
  ["?", "?"],
]);

const ESCAPE = /\\(?:([0-3][0-7][0-7])|[xX]([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g;

/** The text between the quotes, or a message about an invalid escape. */
type Unescaped = { readonly text: string } | { readonly problem: string };

function isScalarValue(code: number): boolean {
  return code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
}

interface Quoted {
  readonly body: string;
  readonly isRaw: boolean;
}

/** The text between the quotes, with line breaks normalized to \n. */
function withoutQuotes(token: string): Quoted {
  let text = token.replaceAll("\r\n", "\n").replaceAll("\r", "\n");
  const isRaw = /^[rR]/.test(text);
  if (isRaw) text = text.slice(1);
  const isTriple = text.length >= 6 && (text.startsWith('"""') || text.startsWith("'''"));
  return { body: isTriple ? text.slice(3, -3) : text.slice(1, -1), isRaw };
}

export function stringLiteral(token: string): Unescaped {
  const { body, isRaw } = withoutQuotes(token);
  if (isRaw || !body.includes("\\")) return { text: body };
  const parts: string[] = [];
  let end = 0;
  for (const match of body.matchAll(ESCAPE)) {
    const [all, octal, hex, short, long, other = ""] = match;
    const code = octal === undefined ? Number.parseInt(hex ?? short ?? long ?? "", 16) : Number.parseInt(octal, 8);
    if (!Number.isNaN(code) && !isScalarValue(code)) return { problem: "invalid unicode code point" };
    const plain = Number.isNaN(code) ? (SIMPLE_ESCAPES.get(other) ?? "") : String.fromCodePoint(code);
    parts.push(body.slice(end, match.index), plain);
    end = match.index + all.length;
  }
  return { text: parts.join("") + body.slice(end) };
}

/** In byte literals, `\x` and octal escapes are single bytes; all other characters are encoded in UTF-8. */
export function bytesLiteral(token: string): { readonly bytes: Uint8Array } | { readonly problem: string } {
  const { body, isRaw } = withoutQuotes(token.slice(1));
  if (isRaw || !body.includes("\\")) return { bytes: Buffer.from(body, "utf8") };
  const parts: Buffer[] = [];
  let end = 0;
  for (const match of body.matchAll(ESCAPE)) {
    const [all, octal, hex, short, long, other] = match;
    if (short !== undefined || long !== undefined) return { problem: "unable to unescape string" };
    parts.push(Buffer.from(body.slice(end, match.index), "utf8"));
    const code = octal === undefined ? Number.parseInt(hex ?? "", 16) : Number.parseInt(octal, 8);
    if (Number.isNaN(code)) parts.push(Buffer.from(SIMPLE_ESCAPES.get(other ?? "") ?? "", "utf8"));
    else parts.push(Buffer.from([code]));
    end = match.index + all.length;
  }
  parts.push(Buffer.from(body.slice(end), "utf8"));
  return { bytes: Buffer.concat(parts) };
}
