/** Parses and matches label selectors, with Kubernetes' grammar and messages. */
import { aggregateText } from "./aggregate-text.ts";
import { labelValueErrors, qualifiedNameErrors } from "./names.ts";

export type Labels = Readonly<Record<string, string>>;
export type LabelSelector = (labels: Labels) => boolean;

/** A selector cannot be parsed; the message is for the client. */
export class SelectorError extends Error {
  override readonly name = "SelectorError";
}

type Operator = "exists" | "!" | "in" | "notin" | "=" | "==" | "!=" | "gt" | "lt";
type TokenKind = "identifier" | "end" | "(" | ")" | "," | "!" | "=" | "==" | "!=" | ">" | "<" | "in" | "notin";
interface Token {
  readonly kind: TokenKind;
  readonly text: string;
}

export const MATCHES_ALL_LABELS: LabelSelector = () => true;

export function parseLabelSelector(text: string): LabelSelector {
  const requirements = new Parser(tokenize(text)).parse();
  const [first = MATCHES_ALL_LABELS] = requirements;
  if (requirements.length <= 1) return first;
  return (labels) => requirements.every((holds) => holds(labels));
}

const SYMBOLS: ReadonlySet<string> = new Set(["(", ")", ",", "!", "=", "==", "!=", ">", "<"]);

function tokenize(text: string): Token[] {
  const tokens: Token[] = [];
  let at = 0;
  while (at < text.length) {
    const character = text.charAt(at);
    if (isSpace(character)) at++;
    else if (SYMBOLS.has(character)) {
      const two = text.slice(at, at + 2);
      const symbol = SYMBOLS.has(two) && two.length === 2 ? two : character;
      tokens.push({ kind: symbol as TokenKind, text: symbol });
      at += symbol.length;
    } else {
      let end = at;
      while (end < text.length && !isSpace(text.charAt(end)) && !SYMBOLS.has(text.charAt(end))) end++;
      const word = text.slice(at, end);
      tokens.push({ kind: word === "in" || word === "notin" ? word : "identifier", text: word });
      at = end;
    }
  }
  tokens.push({ kind: "end", text: "" });
  return tokens;
}

function isSpace(character: string): boolean {
  return character === " " || character === "\t" || character === "\r" || character === "\n";
}

const OPERATORS: ReadonlyMap<TokenKind, Operator> = new Map<TokenKind, Operator>([
  ["in", "in"],
  ["notin", "notin"],
  ["=", "="],
  ["==", "=="],
  ["!=", "!="],
  [">", "gt"],
  ["<", "lt"],
]);

class Parser {
  readonly #tokens: readonly Token[];
  #at = 0;

  constructor(tokens: readonly Token[]) {
    this.#tokens = tokens;
  }

  parse(): LabelSelector[] {
    const requirements: LabelSelector[] = [];
    for (;;) {
      const token = this.#peekValue();
      if (token.kind === "end") return requirements;
      if (token.kind !== "identifier" && token.kind !== "!") {
        throw new SelectorError(`found '${token.text}', expected: !, identifier, or 'end of string'`);
      }
      requirements.push(this.#requirement());
      const separator = this.#take();
      if (separator.kind === "end") return requirements;
      if (separator.kind !== ",")
        throw new SelectorError(`found '${separator.text}', expected: ',' or 'end of string'`);
      const next = this.#peekValue();
      if (next.kind !== "identifier" && next.kind !== "!")
        throw new SelectorError(`found '${next.text}', expected: identifier after ','`);
    }
  }

  #requirement(): LabelSelector {
    try {
      const negated = this.#peekValue().kind === "!";
      if (negated) this.#take();
      const key = this.#takeValue();
      if (key.kind !== "identifier") throw new SelectorError(`found '${key.text}', expected: identifier`);
      const keyErrors = qualifiedNameErrors(key.text);
      if (keyErrors.length > 0)
        throw new SelectorError(`<nil>: Invalid value: ${JSON.stringify(key.text)}: ${keyErrors.join("; ")}`);
      if (negated) return requirement(key.text, "!", []);
      const follower = this.#peekValue().kind;
      if (follower === "end" || follower === ",") return requirement(key.text, "exists", []);
      const operator = this.#operator();
      return requirement(
        key.text,
        operator,
        operator === "in" || operator === "notin" ? this.#valueList() : [this.#exactValue()],
      );
    } catch (thrown) {
      if (thrown instanceof SelectorError) throw new SelectorError(`unable to parse requirement: ${thrown.message}`);
      throw thrown;
    }
  }

  #operator(): Operator {
    const token = this.#take();
    const operator = OPERATORS.get(token.kind);
    if (operator === undefined)
      throw new SelectorError(`found '${token.text}', expected: in, notin, =, ==, !=, gt, lt`);
    return operator;
  }

  #exactValue(): string {
    const token = this.#peekValue();
    if (token.kind === "end" || token.kind === ",") return "";
    this.#take();
    if (token.kind !== "identifier") throw new SelectorError(`found '${token.text}', expected: identifier`);
    return token.text;
  }

  #valueList(): string[] {
    const open = this.#takeValue();
    if (open.kind !== "(") throw new SelectorError(`found '${open.text}' expected: '('`);
    const first = this.#peekValue();
    if (first.kind === ")") {
      this.#take();
      return [""];
    }
    if (first.kind !== "identifier" && first.kind !== ",")
      throw new SelectorError(`found '${first.text}', expected: ',', ')' or identifier`);
    const values = this.#identifiers();
    const close = this.#takeValue();
    if (close.kind !== ")") throw new SelectorError(`found '${close.text}', expected: ')'`);
    return values;
  }

  /** Parses the values of `in` and `notin`. `a,,b`, `,a` and `a,` contain one empty value each. */
  #identifiers(): string[] {
    const values = new Set<string>();
    for (;;) {
      const token = this.#takeValue();
      const next = this.#peekValue();
      if (token.kind === "identifier") {
        values.add(token.text);
        if (next.kind === ")") return [...values].sort();
        if (next.kind !== ",") throw new SelectorError(`found '${next.text}', expected: ',' or ')'`);
      } else if (token.kind === ",") {
        if (values.size === 0) values.add("");
        if (next.kind === ")") {
          values.add("");
          return [...values].sort();
        }
        if (next.kind === ",") values.add("");
      } else throw new SelectorError(`found '${token.text}', expected: ',', or identifier`);
    }
  }

  #take(): Token {
    const token = this.#tokens[this.#at]!;
    if (token.kind !== "end") this.#at++;
    return token;
  }

  /** Takes the next token, in a position where `in` and `notin` are ordinary words. */
  #takeValue(): Token {
    const token = this.#peekValue();
    this.#take();
    return token;
  }

  #peekValue(): Token {
    const token = this.#tokens[this.#at]!;
    return token.kind === "in" || token.kind === "notin" ? { kind: "identifier", text: token.text } : token;
  }
}

function requirement(key: string, operator: Operator, values: readonly string[]): LabelSelector {
  const problems: string[] = [];
  const isNumeric = operator === "gt" || operator === "lt";
  if (isNumeric && toInteger(values[0]) === undefined) {
    problems.push(
      `values[0]: Invalid value: ${JSON.stringify(values[0])}: for 'Gt', 'Lt' operators, the value must be an integer`,
    );
  }
  values.forEach((value, index) => {
    const errors = labelValueErrors(value);
    if (errors.length > 0)
      problems.push(`values[${index}][${key}]: Invalid value: ${JSON.stringify(value)}: ${errors.join("; ")}`);
  });
  if (problems.length > 0) throw new SelectorError(aggregateText(problems));
  return matcher(key, operator, values);
}

function matcher(key: string, operator: Operator, values: readonly string[]): LabelSelector {
  const [value] = values;
  const set = new Set(values);
  const bound = toInteger(value) ?? 0n;
  switch (operator) {
    case "exists":
      return (labels) => Object.hasOwn(labels, key);
    case "!":
      return (labels) => !Object.hasOwn(labels, key);
    case "=":
    case "==":
      return (labels) => Object.hasOwn(labels, key) && labels[key] === value;
    case "!=":
      return (labels) => !Object.hasOwn(labels, key) || labels[key] !== value;
    case "in":
      return (labels) => Object.hasOwn(labels, key) && set.has(labels[key]!);
    case "notin":
      return (labels) => !Object.hasOwn(labels, key) || !set.has(labels[key]!);
    case "gt":
      return (labels) => (toInteger(labels[key]) ?? bound) > bound;
    case "lt":
      return (labels) => (toInteger(labels[key]) ?? bound) < bound;
  }
}

/** A 64-bit integer as Go parses it; undefined for any other value. Labels of stored objects need not be strings. */
function toInteger(text: unknown): bigint | undefined {
  if (typeof text !== "string" || text.length > 64 || !/^[+-]?[0-9]+$/.test(text)) return undefined;
  const value = text.startsWith("+") ? BigInt(text.slice(1)) : BigInt(text);
  return BigInt.asIntN(64, value) === value ? value : undefined;
}
