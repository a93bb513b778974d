/** Parses Kubernetes' JSONPath (client-go util/jsonpath): turns one `{…}` action, without its braces, into steps. */

export type PathStep =
  | { readonly type: "field"; readonly name: string }
  | { readonly type: "wildcard" }
  | { readonly type: "recursive" }
  | { readonly type: "slice"; readonly slice: Slice }
  | { readonly type: "union"; readonly paths: readonly PathSteps[] }
  | { readonly type: "filter"; readonly left: PathSteps; readonly operator: string; readonly right: PathSteps }
  | { readonly type: "literal"; readonly value: string | number | boolean }
  /** A word such as `range`, which parses but has no effect in a single path. */
  | { readonly type: "word" };

export type PathSteps = readonly PathStep[];

/** `[from:to:step]`; a part that is omitted is undefined. */
export interface Slice {
  readonly from: number | undefined;
  readonly to: number | undefined;
  readonly step: number | undefined;
  /** True for `[n]`, which selects one element: the end is the position after `from`. */
  readonly isIndex: boolean;
}

/** The steps of the path; undefined if the text does not parse as exactly one action. */
export function parseSteps(text: string): PathSteps | undefined {
  const steps: PathStep[] = [];
  let at = 0;
  while (at < text.length) {
    const taken = takeStep(text, at, steps);
    if (taken === undefined) return undefined;
    steps.push(...taken.steps);
    at = taken.end;
  }
  return steps;
}

interface Taken {
  readonly steps: PathSteps;
  readonly end: number;
}

const IGNORED = " @$";
const DIGIT = /^\p{Nd}$/u;
const WORD = /^[_\p{L}\p{Nd}]$/u;

function takeStep(text: string, at: number, before: PathSteps): Taken | undefined {
  if (text.startsWith("[?(", at)) return takeFilter(text, at + 3);
  if (text.startsWith("..", at)) return takeRecursive(text, at + 2, before);
  const character = String.fromCodePoint(text.codePointAt(at) ?? 0);
  if (IGNORED.includes(character)) return { steps: [], end: at + 1 };
  if (character === "[") return takeBrackets(text, at + 1);
  if (character === '"' || character === "'") return takeQuoted(text, at);
  if (character === ".") return takeField(text, at + 1);
  if (character === "+" || character === "-" || DIGIT.test(character)) return takeNumber(text, at);
  return WORD.test(character) ? takeWord(text, at) : undefined;
}

const TERMINATORS = " \t\r\n.,[]$@{}";

/** The end of the word that starts at `at`; `\` escapes the next character. */
function wordEnd(text: string, at: number, hasEscapes: boolean): number {
  let end = at;
  while (end < text.length && !TERMINATORS.includes(text.charAt(end))) end += hasEscapes && text[end] === "\\" ? 2 : 1;
  return Math.min(end, text.length);
}

function takeField(text: string, at: number): Taken {
  const end = wordEnd(text, at, true);
  const name = text.slice(at, end);
  const step: PathStep = name === "*" ? { type: "wildcard" } : { type: "field", name: name.replaceAll("\\", "") };
  return { steps: [step], end };
}

function takeRecursive(text: string, at: number, before: PathSteps): Taken | undefined {
  if (before.at(-1)?.type === "recursive") return undefined;
  const next = text.codePointAt(at);
  if (next === undefined || !WORD.test(String.fromCodePoint(next))) return { steps: [{ type: "recursive" }], end: at };
  const { steps, end } = takeField(text, at);
  return { steps: [{ type: "recursive" }, ...steps], end };
}

function takeWord(text: string, at: number): Taken {
  const end = wordEnd(text, at, false);
  const word = text.slice(at, end);
  const isTruth = word === "true" || word === "false";
  return { steps: [isTruth ? { type: "literal", value: word === "true" } : { type: "word" }], end };
}

function takeNumber(text: string, at: number): Taken | undefined {
  let end = text[at] === "+" || text[at] === "-" ? at + 1 : at;
  while (end < text.length && /[0-9.]/.test(text.charAt(end))) end++;
  const digits = text.slice(at, end);
  if (!/^[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)$/.test(digits)) return undefined;
  return { steps: [{ type: "literal", value: Number(digits) }], end };
}

function takeQuoted(text: string, at: number): Taken | undefined {
  const quote = text.charAt(at);
  for (let end = at + 1; end < text.length && text[end] !== "\n"; end++) {
    if (text[end] !== quote || text[end - 1] === "\\") continue;
    const value = unquoted(text.slice(at + 1, end), quote);
    return value === undefined ? undefined : { steps: [{ type: "literal", value }], end: end + 1 };
  }
  return undefined;
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
};
const ESCAPE = /\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|(.)|$)/gsu;

function unquoted(text: string, quote: string): string | undefined {
  let isValid = true;
  const value = text.replace(ESCAPE, (_, ...groups: (string | undefined)[]) => {
    const [hex, unicode, character] = groups;
    const code = hex ?? unicode;
    if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
    const meant = character === quote ? quote : character === undefined ? undefined : ESCAPES[character];
    isValid &&= meant !== undefined;
    return meant ?? "";
  });
  return isValid ? value : undefined;
}

function takeBrackets(text: string, at: number): Taken | undefined {
  const end = text.indexOf("]", at);
  const inside = text.slice(at, end);
  if (end < 0 || inside.includes("\n")) return undefined;
  const steps = bracketSteps(inside === "*" ? ":" : inside);
  return steps && { steps, end: end + 1 };
}

function bracketSteps(inside: string): PathSteps | undefined {
  const parts = inside.split(",");
  if (parts.length > 1) {
    const paths = parts.map((part) => parseSteps(`[${part.replace(/^ +| +$/g, "")}]`));
    return paths.every((path) => path !== undefined) ? [{ type: "union", paths }] : undefined;
  }
  const key = /^'([^']*)'$/.exec(inside)?.[1];
  if (key !== undefined) return parseSteps(`.${key}`);
  return sliceSteps(inside);
}

function sliceSteps(inside: string): PathSteps | undefined {
  const match = /^(-?[0-9]*)(:-?[0-9]*)?(:-?[0-9]*)?$/.exec(inside);
  if (match === null) return undefined;
  const [, from = "", to, step] = match;
  const numbers = [from, to?.slice(1) ?? "", step?.slice(1) ?? ""].map((text) =>
    text === "" ? undefined : Number(text),
  );
  if (numbers.some((number) => number !== undefined && !Number.isSafeInteger(number))) return undefined;
  const [first, last, every] = numbers;
  return [{ type: "slice", slice: { from: first, to: last, step: every, isIndex: to === undefined } }];
}

function takeFilter(text: string, at: number): Taken | undefined {
  const end = filterEnd(text, at);
  if (end === undefined || text[end + 1] !== "]") return undefined;
  const inside = text.slice(at, end);
  const comparison = /^([^!<>=]+)([!<>=]+)(.+)$/.exec(inside);
  const left = parseSteps(comparison?.[1] ?? inside);
  const right = parseSteps(comparison?.[3] ?? "");
  if (left === undefined || right === undefined) return undefined;
  return { steps: [{ type: "filter", left, operator: comparison?.[2] ?? "exists", right }], end: end + 2 };
}

/** The closing parenthesis of the filter; a parenthesis in its quoted text does not count. */
function filterEnd(text: string, at: number): number | undefined {
  let quote: string | undefined;
  let isClosed = false;
  for (let end = at; end < text.length && text[end] !== "\n"; end++) {
    const character = text.charAt(end);
    if (character === '"' || character === "'") {
      if (quote === undefined) quote = character;
      else if (character === quote && text[end - 1] !== "\\") isClosed = true;
    } else if (character === ")" && (quote === undefined || isClosed)) return end;
  }
  return undefined;
}
