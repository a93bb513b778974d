/** The format function of strings: `'%s has %d'.format([name, count])`. */
import { goQuote } from "../../../meta/go-quote.ts";
import { goFloat } from "../../../meta/go-fmt.ts";
import { formatDuration, formatTimestamp } from "../values/time-text.ts";
import {
  CostLimitExceeded,
  Duration,
  EvalError,
  ListValue,
  MapValue,
  Timestamp,
  TypeValue,
  typeName,
  Uint,
  type Value,
} from "../values/value.ts";

/** The clause is unknown, or cannot format its value. */
export class FormatError extends Error {
  override readonly name = "FormatError";
}

const RESULT_LENGTH_MAX = 16 * 1024 * 1024;
const PRECISION_DEFAULT = 6;
const PRECISION_MAX = 100;

/** Messages about values that a clause does not accept, keyed by clause. The type checker uses them, too. */
export const CLAUSE_ERRORS: Readonly<Record<string, string>> = {
  s: "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps",
  d: "decimal clause can only be used on integers",
  f: "fixed-point clause can only be used on doubles",
  e: "scientific clause can only be used on doubles",
  b: "only integers and bools can be formatted as binary",
  x: "only integers, byte buffers, and strings can be formatted as hex",
  o: "octal clause can only be used on integers",
};

function clauseError(clause: string, value: Value): FormatError {
  return new FormatError(`${CLAUSE_ERRORS[clause]}, was given ${typeName(value)}`);
}

function integerOf(value: Value): bigint | undefined {
  if (typeof value === "bigint") return value;
  return value instanceof Uint ? value.value : undefined;
}

/** Inside a list or map, values are formatted as in an expression. */
function formatElement(value: Value): string {
  if (typeof value === "string") return goQuote(value);
  if (value instanceof Uint8Array) return `b${goQuote(Buffer.from(value).toString("utf8"))}`;
  if (value instanceof Timestamp) return `timestamp("${formatTimestamp(value)}")`;
  if (value instanceof Duration) return `duration("${formatDuration(value)}")`;
  if (typeof value === "number")
    return Number.isFinite(value) ? value.toFixed(PRECISION_DEFAULT) : goQuote(infinite(value));
  const collection = formatCollection(value);
  if (collection !== undefined) return collection;
  const plain = plainText(value);
  if (plain === undefined) throw new FormatError(`no formatting function for ${typeName(value)}`);
  return plain;
}

function infinite(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "+Inf" : "-Inf";
}

function formatCollection(value: Value): string | undefined {
  if (value instanceof ListValue) return `[${value.elements().map(formatElement).join(", ")}]`;
  if (!(value instanceof MapValue)) return undefined;
  const entries = value.keys().map((key) => `${formatElement(key)}:${formatElement(value.find(key) ?? null)}`);
  return `{${entries.toSorted().join(", ")}}`;
}

function plainText(value: Value): string | undefined {
  if (typeof value === "string" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value === null) return "null";
  if (typeof value === "number") return goFloat(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Timestamp) return formatTimestamp(value);
  if (value instanceof Duration) return formatDuration(value);
  return value instanceof TypeValue ? value.name : undefined;
}

function doubleOf(value: Value, clause: string): number {
  if (typeof value === "number") return value;
  if (value === "NaN") return Number.NaN;
  if (value === "Infinity" || value === "-Infinity") return Number(value);
  throw clauseError(clause, value);
}

function signless(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  return value > 0 ? "\u221e" : "-\u221e";
}

/** Formats a number with a fixed number of decimals, and groups its digits as in English. */
function fixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return signless(value);
  const [whole = "", fraction] = value.toFixed(precision).split(".");
  const grouped = BigInt(whole.replace("-", "") || "0").toLocaleString("en-US");
  return `${whole.startsWith("-") ? "-" : ""}${grouped}${fraction === undefined ? "" : `.${fraction}`}`;
}

const SUPERSCRIPTS = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079";

function scientific(value: number): string {
  if (!Number.isFinite(value)) return signless(value);
  const [mantissa = "", exponent = "0"] = value.toExponential(PRECISION_DEFAULT).split("e");
  const digits = String(Math.abs(Number(exponent))).padStart(2, "0");
  const raised = [...digits].map((digit) => SUPERSCRIPTS[Number(digit)]).join("");
  return `${mantissa}\u00d710${exponent.startsWith("-") ? "\u207b" : ""}${raised}`;
}

function hex(value: Value): string {
  const integer = integerOf(value);
  if (integer !== undefined) return integer.toString(16);
  if (typeof value === "string") return Buffer.from(value, "utf8").toString("hex");
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  throw clauseError("x", value);
}

function integerIn(radix: number, clause: string, value: Value): string {
  if (typeof value === "boolean" && clause === "b") return value ? "1" : "0";
  const integer = integerOf(value);
  if (integer === undefined) throw clauseError(clause, value);
  return integer.toString(radix);
}

function formatted(letter: string, precision: number, value: Value): string {
  switch (letter) {
    case "s": {
      const text = formatCollection(value) ?? plainText(value);
      if (text === undefined) throw clauseError("s", value);
      return text;
    }
    case "d":
      return integerIn(10, "d", value);
    case "f":
      return fixed(doubleOf(value, "f"), precision);
    case "e":
      return scientific(doubleOf(value, "e"));
    case "b":
      return integerIn(2, "b", value);
    case "o":
      return integerIn(8, "o", value);
    default:
      return letter === "X" ? hex(value).toUpperCase() : hex(value);
  }
}

interface Clause {
  readonly letter: string;
  readonly precision: number;
  readonly end: number;
}

const CLAUSE = /%(?:\.(\d*))?(.?)/suy;

/** Parses the clause at `position`. */
export function clauseAt(text: string, position: number): Clause {
  CLAUSE.lastIndex = position;
  const [all = "", digits, letter = ""] = CLAUSE.exec(text) ?? [];
  const broken = "could not parse formatting clause";
  if (letter === "" && digits === undefined) throw new FormatError("unexpected end of string");
  if (letter === "")
    throw new FormatError(`${broken}: error while parsing precision: could not find end of precision specifier`);
  if (digits === "") {
    const why = 'error while converting precision to integer: strconv.Atoi: parsing "": invalid syntax';
    throw new FormatError(`${broken}: error while parsing precision: ${why}`);
  }
  if (!"sdfebxXo".includes(letter)) throw new FormatError(`${broken}: unrecognized formatting clause "${letter}"`);
  const precision = Math.min(digits === undefined ? PRECISION_DEFAULT : Number(digits), PRECISION_MAX);
  return { letter, precision, end: position + all.length };
}

function format(text: string, args: readonly Value[]): string {
  let result = "";
  let argument = 0;
  for (let position = 0; position < text.length;) {
    const percent = text.indexOf("%", position);
    result += text.slice(position, percent < 0 ? text.length : percent);
    if (percent < 0) break;
    if (text[percent + 1] === "%") {
      result += "%";
      position = percent + 2;
      continue;
    }
    const value = args[argument];
    if (value === undefined) throw new FormatError(`index ${argument} out of range`);
    const { letter, precision, end } = clauseAt(text, percent);
    result += withReason(() => formatted(letter, precision, value));
    if (result.length > RESULT_LENGTH_MAX) throw new CostLimitExceeded();
    argument++;
    position = end;
  }
  return result;
}

function withReason(make: () => string): string {
  try {
    return make();
  } catch (error) {
    if (error instanceof FormatError) throw new FormatError(`error during formatting: ${error.message}`);
    throw error;
  }
}

export function formatString(text: string, args: ListValue): Value {
  try {
    return format(text, args.elements());
  } catch (error) {
    if (error instanceof FormatError) return new EvalError(error.message);
    throw error;
  }
}
