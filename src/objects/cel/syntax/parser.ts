/** Parses tokens to a syntax tree, with the depth limits and messages of cel-go's parser. */
import { type Call, type Expression, type MapEntry, type StructField, qualifiedName } from "./expression.ts";
import {
  badSelection,
  balanced,
  canStart,
  EXPECTING_ARGUMENT,
  EXPECTING_EXPRESSION,
  EXPECTING_INDEX,
  isLiteral,
  isNumber,
  isOneOf,
  literalValue,
  OPERATOR_FUNCTIONS,
  operatorCall,
  PRODUCTS,
  RELATIONS,
  RESERVED,
  SUMS,
} from "./grammar.ts";
import type { Issue } from "./issues.ts";
import { expandMacro, isIssue, type MacroOptions } from "./macros.ts";
import { tokensOf, type Token } from "./tokens.ts";

const CODE_POINTS_MAX = 100_000;
const DEPTH_MAX = 250;

/** Thrown when parsing cannot continue. */
class SyntaxFailure extends Error {
  override readonly name = "SyntaxFailure";
}

class Parser {
  readonly #tokens: readonly Token[];
  readonly #issues: Issue[];
  readonly #options: MacroOptions;
  /** The nesting depth of an expression, counted in operators, fields and calls. */
  readonly #depths = new Map<Expression, number>();
  #nesting = 0;
  #next = 0;
  #openBrackets = 0;

  constructor(tokens: readonly Token[], issues: Issue[], options: MacroOptions) {
    this.#tokens = tokens;
    this.#issues = issues;
    this.#options = options;
  }

  whole(): Expression {
    const expression = this.#expression(EXPECTING_EXPRESSION);
    const rest = this.#peek();
    const isLast = this.#peek(1).kind === "end";
    if (rest.kind !== "end")
      this.#fail(rest, `${isLast ? "extraneous" : "mismatched"} input '${rest.text}' expecting <EOF>`);
    return expression;
  }

  #peek(ahead = 0): Token {
    const token = this.#tokens[Math.min(this.#next + ahead, this.#tokens.length - 1)];
    if (token === undefined) throw new SyntaxFailure();
    return token;
  }

  #take(): Token {
    const token = this.#peek();
    this.#next++;
    return token;
  }

  #is(text: string, ahead = 0): boolean {
    const token = this.#peek(ahead);
    return (token.kind === "symbol" || token.kind === "keyword") && token.text === text;
  }

  #takeIf(text: string): Token | undefined {
    return this.#is(text) ? this.#take() : undefined;
  }

  #fail(at: Token, message: string): never {
    this.#issues.push({ position: at.position, message: `Syntax error: ${message}` });
    throw new SyntaxFailure();
  }

  /**
   * Consumes the expected token. As cel-go, skips one extraneous token, and reports a missing token if the remaining
   * tokens would be valid with it.
   */
  #expect(text: string): Token {
    const token = this.#takeIf(text);
    if (token !== undefined) return token;
    const found = this.#peek();
    if (this.#is(text, 1)) {
      this.#issues.push({
        position: found.position,
        message: `Syntax error: extraneous input '${found.text}' expecting '${text}'`,
      });
      this.#take();
      return this.#take();
    }
    const isEnd = found.kind === "end";
    const isMissing = text === ":" ? canStart(found) : isEnd && this.#openBrackets === 1;
    if (isMissing) this.#fail(found, `missing '${text}' at '${found.text}'`);
    return this.#fail(found, `mismatched input '${found.text}' expecting '${text}'`);
  }

  /** Parses the content of brackets and the closing bracket. */
  #bracketed<T>(inside: () => T, close: string): T {
    this.#openBrackets++;
    const result = inside();
    this.#expect(close);
    this.#openBrackets--;
    return result;
  }

  #issue(position: number, message: string): Expression {
    this.#issues.push({ position, message });
    return { kind: "literal", position, value: null };
  }

  #tooDeep(message: string): never {
    this.#issues.push({ position: -1, message });
    throw new SyntaxFailure();
  }

  /** Records the expression as one level deeper than the deepest of its operands. */
  #deeper(expression: Expression, parts: readonly Expression[]): Expression {
    return this.#measured(expression, parts, 1);
  }

  #measured(expression: Expression, parts: readonly Expression[], levels = 0): Expression {
    let depth = 0;
    for (const part of parts) depth = Math.max(depth, this.#depths.get(part) ?? 0);
    if (depth + levels > DEPTH_MAX) this.#tooDeep("max recursion depth exceeded");
    if (depth + levels > 0) this.#depths.set(expression, depth + levels);
    return expression;
  }

  #expression(expecting: string): Expression {
    if (++this.#nesting > DEPTH_MAX) this.#tooDeep(`expression recursion limit exceeded: ${DEPTH_MAX}`);
    const condition = this.#logical("||", "_||_", expecting);
    const question = this.#takeIf("?");
    let result = condition;
    if (question !== undefined) {
      const yes = this.#logical("||", "_||_", EXPECTING_EXPRESSION);
      this.#expect(":");
      const no = this.#expression(EXPECTING_EXPRESSION);
      const parts = [condition, yes, no];
      result = this.#deeper(operatorCall(question, "_?_:_", parts), parts);
    }
    this.#nesting--;
    return result;
  }

  #logical(symbol: "||" | "&&", name: string, expecting: string): Expression {
    const term = (wanted: string): Expression =>
      symbol === "||" ? this.#logical("&&", "_&&_", wanted) : this.#relation(wanted);
    const terms = [term(expecting)];
    const operators: Token[] = [];
    for (let operator = this.#takeIf(symbol); operator !== undefined; operator = this.#takeIf(symbol)) {
      operators.push(operator);
      terms.push(term(EXPECTING_EXPRESSION));
    }
    if (operators.length === 0) return terms[0] as Expression;
    return this.#measured(balanced(name, terms, operators), terms);
  }

  #relation(expecting: string): Expression {
    return this.#chain(RELATIONS, expecting, (wanted) => this.#sum(wanted));
  }

  #sum(expecting: string): Expression {
    return this.#chain(SUMS, expecting, (wanted) => this.#chain(PRODUCTS, wanted, (inner) => this.#unary(inner)));
  }

  #chain(symbols: ReadonlySet<string>, expecting: string, term: (expecting: string) => Expression): Expression {
    let left = term(expecting);
    while (isOneOf(this.#peek(), symbols)) {
      const operator = this.#take();
      const parts = [left, term(EXPECTING_EXPRESSION)];
      left = this.#deeper(operatorCall(operator, OPERATOR_FUNCTIONS.get(operator.text) ?? "", parts), parts);
    }
    return left;
  }

  #unary(expecting: string): Expression {
    const first = this.#peek();
    const symbol = first.kind === "symbol" ? first.text : "";
    if (symbol !== "!" && symbol !== "-") return this.#member(expecting);
    if (symbol === "-" && isNumber(this.#peek(1))) return this.#member(expecting);
    let count = 0;
    for (; this.#is(symbol); count++) this.#take();
    const operand = this.#member(EXPECTING_EXPRESSION);
    if (count % 2 === 0) return operand;
    return this.#measured(operatorCall(first, symbol === "!" ? "!_" : "-_", [operand]), [operand]);
  }

  #member(expecting: string): Expression {
    let isBare = !this.#is("(");
    let expression = this.#primary(expecting);
    for (;;) {
      const next = this.#memberOf(expression, isBare);
      if (next === undefined) return expression;
      expression = next;
      isBare = true;
    }
  }

  #memberOf(operand: Expression, isBare: boolean): Expression | undefined {
    if (this.#is(".")) return this.#selection(operand);
    if (this.#is("[")) return this.#index(operand);
    if (!this.#is("{") || !isBare) return undefined;
    const name = qualifiedName(operand);
    return name === undefined ? undefined : this.#struct(name);
  }

  #selection(operand: Expression): Expression {
    const dot = this.#take();
    const isOptional = this.#takeIf("?") !== undefined;
    const name = this.#take();
    if (name.kind === "escaped-identifier") return this.#issue(name.position, "unsupported syntax: '`'");
    if (name.kind !== "identifier") this.#fail(name, badSelection(name));
    if (isOptional) {
      const field: Expression = { kind: "literal", position: name.position, value: name.text };
      return this.#deeper(operatorCall(dot, "_?._", [operand, field]), [operand]);
    }
    const open = this.#takeIf("(");
    if (open === undefined) {
      const select = { kind: "select", position: dot.position, operand, field: name.text, isTest: false } as const;
      return this.#deeper(select, [operand]);
    }
    const args = this.#args();
    const call = { kind: "call", position: open.position, name: name.text, target: operand, args } as const;
    return this.#deeper(this.#expanded(call), [operand, ...args]);
  }

  #index(operand: Expression): Expression {
    const bracket = this.#take();
    const isOptional = this.#takeIf("?") !== undefined;
    const index = this.#bracketed(() => this.#expression(isOptional ? EXPECTING_EXPRESSION : EXPECTING_INDEX), "]");
    const parts = [operand, index];
    return this.#deeper(operatorCall(bracket, isOptional ? "_[?_]" : "_[_]", parts), parts);
  }

  #args(): Expression[] {
    if (this.#takeIf(")") !== undefined) return [];
    return this.#bracketed(() => {
      const args = [this.#expression(EXPECTING_ARGUMENT)];
      while (this.#takeIf(",") !== undefined) args.push(this.#expression(EXPECTING_EXPRESSION));
      return args;
    }, ")");
  }

  #expanded(call: Call): Expression {
    const expanded = expandMacro(call, this.#options);
    return isIssue(expanded) ? this.#issue(expanded.position, expanded.message) : expanded;
  }

  #primary(expecting: string): Expression {
    const token = this.#peek();
    if (this.#takeIf("(") !== undefined) return this.#bracketed(() => this.#expression(EXPECTING_EXPRESSION), ")");
    if (this.#is("[")) return this.#list();
    if (this.#is("{")) return this.#map();
    if (this.#is(".") && this.#peek(1).kind === "identifier") {
      this.#take();
      return this.#name(".");
    }
    if (token.kind === "identifier") return this.#name("");
    if (isLiteral(token) || this.#is("-")) return this.#literal();
    const isExtraneous = token.kind !== "end" && canStart(this.#peek(1));
    if (!isExtraneous) this.#fail(token, `mismatched input '${token.text}' expecting ${expecting}`);
    const message = `Syntax error: extraneous input '${token.text}' expecting ${expecting}`;
    this.#issues.push({ position: token.position, message });
    this.#take();
    return this.#unary(expecting);
  }

  #name(dot: string): Expression {
    const token = this.#take();
    const open = this.#takeIf("(");
    if (RESERVED.has(token.text)) {
      if (open !== undefined) this.#args();
      return this.#issue(token.position, `reserved identifier: ${token.text}`);
    }
    const name = dot + token.text;
    if (open === undefined) return { kind: "ident", position: token.position, name };
    const args = this.#args();
    return this.#measured(
      this.#expanded({ kind: "call", position: open.position, name, target: undefined, args }),
      args,
    );
  }

  #list(): Expression {
    const open = this.#take();
    const elements: Expression[] = [];
    const optional = new Set<number>();
    while (!this.#is("]")) {
      if (this.#takeIf("?") !== undefined) optional.add(elements.length);
      elements.push(this.#expression(EXPECTING_EXPRESSION));
      if (this.#takeIf(",") === undefined) break;
    }
    this.#close("]");
    return this.#measured({ kind: "list", position: open.position, elements, optional }, elements);
  }

  #close(bracket: "]" | "}"): void {
    if (this.#takeIf(bracket) !== undefined) return;
    const found = this.#peek();
    this.#fail(found, `mismatched input '${found.text}' expecting {'${bracket}', ','}`);
  }

  #map(): Expression {
    const open = this.#take();
    const entries: MapEntry[] = [];
    while (!this.#is("}")) {
      const isOptional = this.#takeIf("?") !== undefined;
      const key = this.#expression(EXPECTING_EXPRESSION);
      const colon = this.#expect(":");
      entries.push({ position: colon.position, key, value: this.#expression(EXPECTING_EXPRESSION), isOptional });
      if (this.#takeIf(",") === undefined) break;
    }
    this.#close("}");
    const parts = entries.flatMap(({ key, value }) => [key, value]);
    return this.#measured({ kind: "map", position: open.position, entries }, parts);
  }

  #struct(name: string): Expression {
    const open = this.#take();
    const fields: StructField[] = [];
    while (!this.#is("}")) {
      const isOptional = this.#takeIf("?") !== undefined;
      const field = this.#take();
      if (field.kind !== "identifier") this.#fail(field, `mismatched input '${field.text}' expecting IDENTIFIER`);
      const colon = this.#expect(":");
      const value = this.#expression(EXPECTING_EXPRESSION);
      fields.push({ name: field.text, position: colon.position, value, isOptional });
      if (this.#takeIf(",") === undefined) break;
    }
    this.#close("}");
    const parts = fields.map(({ value }) => value);
    return this.#measured({ kind: "struct", position: open.position, name, fields }, parts);
  }

  #literal(): Expression {
    const minus = this.#takeIf("-");
    const token = this.#take();
    const position = minus?.position ?? token.position;
    const value = literalValue(token, minus !== undefined);
    return typeof value === "object" && value !== null && "problem" in value
      ? this.#issue(position, value.problem)
      : { kind: "literal", position, value };
  }
}

/** The syntax tree; undefined if there are issues. */
export function parse(source: string, options: MacroOptions, issues: Issue[]): Expression | undefined {
  const size = source.length > CODE_POINTS_MAX ? [...source].length : source.length;
  if (size > CODE_POINTS_MAX) {
    const message = `expression code point size exceeds limit: size: ${size}, limit ${CODE_POINTS_MAX}`;
    issues.push({ position: -1, message });
    return undefined;
  }
  try {
    const expression = new Parser(tokensOf(source, issues), issues, options).whole();
    return issues.length === 0 ? expression : undefined;
  } catch (error) {
    if (error instanceof SyntaxFailure) return undefined;
    throw error;
  }
}
