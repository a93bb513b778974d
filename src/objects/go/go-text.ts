/**
 * Validates base64 and times as Go's parsers do. Each function returns Go's error message, or undefined for valid text.
 */

const BASE64_ALPHABET = /^[A-Za-z0-9+/]$/;

/**
 * Accepts standard base64 with padding, and line breaks anywhere. Everything before the first error is ASCII, so that
 * character indexes are byte indexes.
 */
export function base64Error(text: string): string | undefined {
  const at = base64ErrorAt(text);
  return at === undefined ? undefined : `illegal base64 data at input byte ${at}`;
}

function base64ErrorAt(text: string): number | undefined {
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  let group = 0;
  for (let at = 0; at < text.length; at++) {
    const character = text.charAt(at);
    if (isLineBreak(character)) continue;
    if (character === "=") return paddingErrorAt(text, at, group);
    if (!BASE64_ALPHABET.test(character)) return at;
    group = (group + 1) % 4;
  }
  return group === 0 ? undefined : text.length - group;
}

/** `at`: the index of the first `=`. `group`: the number of characters before it in its group of four. */
function paddingErrorAt(text: string, at: number, group: number): number | undefined {
  if (group < 2) return at;
  let next = skipLineBreaks(text, at + 1);
  if (group === 2) {
    if (next === text.length) return next;
    if (text[next] !== "=") return next - 1;
    next = skipLineBreaks(text, next + 1);
  }
  return next < text.length ? next : undefined;
}

function skipLineBreaks(text: string, from: number): number {
  let at = from;
  while (at < text.length && isLineBreak(text.charAt(at))) at++;
  return at;
}

function isLineBreak(character: string): boolean {
  return character === "\n" || character === "\r";
}

const RFC3339 = "2006-01-02T15:04:05Z07:00";
/** The parts of Go's layout in order, each with its pattern. The hour may have one digit. */
const TIME_PARTS: readonly (readonly [layout: string, pattern: RegExp])[] = [
  ["2006", /^(?:[0-9]{4})/],
  ["-", /^(?:-)/],
  ["01", /^(?:[0-9]{2})/],
  ["-", /^(?:-)/],
  ["02", /^(?:[0-9]{2})/],
  ["T", /^(?:T)/],
  ["15", /^(?:[0-9]{1,2})/],
  [":", /^(?::)/],
  ["04", /^(?:[0-9]{2})/],
  [":", /^(?::)/],
  ["05", /^(?:[0-9]{2}(?:[.,][0-9]+)?)/],
  ["Z07:00", /^(?:Z|[+-][0-9]{2}:[0-9]{2})/],
];

/** A valid time as servers write it. Checked first, because every write has several such times in managedFields. */
const USUAL_TIME =
  /^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])T(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]+)?Z$/;

export function timeError(text: string): string | undefined {
  return USUAL_TIME.test(text) ? undefined : unusualTimeError(text);
}

function unusualTimeError(text: string): string | undefined {
  const said = `parsing time ${quoteAscii(text)}`;
  const found: string[] = [];
  let at = 0;
  for (const [layout, pattern] of TIME_PARTS) {
    const part = pattern.exec(text.slice(at))?.[0];
    if (part === undefined) return `${said} as "${RFC3339}": cannot parse ${quoteAscii(text.slice(at))} as "${layout}"`;
    at += part.length;
    const problem = timePartError(layout, part);
    if (problem !== undefined) return `${said}: ${problem}`;
    found.push(part);
  }
  if (at < text.length) return `${said}: extra text: ${quoteAscii(text.slice(at))}`;
  const [year = 0, , month = 0, , day = 0] = found.map(Number);
  return day < 1 || day > daysIn(year, month) ? `${said}: day out of range` : undefined;
}

function timePartError(layout: string, part: string): string | undefined {
  const value = Number.parseInt(part, 10);
  if (layout === "01" && (value < 1 || value > 12)) return "month out of range";
  if (layout === "15" && value > 23) return "hour out of range";
  if (layout === "04" && value > 59) return "minute out of range";
  if (layout === "05" && value > 59) return "second out of range";
  if (layout !== "Z07:00" || part === "Z") return undefined;
  if (Number(part.slice(1, 3)) > 24) return "time zone offset hour out of range";
  return Number(part.slice(4)) > 60 ? "time zone offset minute out of range" : undefined;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

/**
 * Quotes text as Go's time package does: byte by byte, with an escape such as `\x0a` for every byte that is not
 * printable ASCII.
 */
function quoteAscii(text: string): string {
  return `"${Buffer.from(text)
    .toString("latin1")
    .replace(/["\\]|[^ -~]/g, (byte) =>
      byte === '"' || byte === "\\" ? `\\${byte}` : `\\x${byte.charCodeAt(0).toString(16).padStart(2, "0")}`,
    )}"`;
}
