/** The named string formats of Kubernetes, such as `format.dns1123Label()`, and their validation. */
import {
  dns1035LabelErrors,
  dnsLabelErrors,
  dnsSubdomainErrors,
  labelValueErrors,
  type NameRule,
  qualifiedNameErrors,
} from "../../../meta/names.ts";
import { dayMillis } from "../values/time-text.ts";
import {
  ArrayList,
  type EvalError,
  NO_SUCH_OVERLOAD,
  NO_VALUE,
  OpaqueValue,
  OptionalValue,
  type Value,
} from "../values/value.ts";
import { overload, type Overload } from "./function.ts";
import { urlFailure } from "./urls.ts";

class Format extends OpaqueValue {
  readonly typeName = "kubernetes.NamedFormat";
  readonly #name: string;
  readonly errors: NameRule;
  /** The size of the format's pattern, from which the cost of a validation is computed. */
  override readonly size: number;

  constructor(name: string, size: number, errors: NameRule) {
    super();
    this.#name = name;
    this.size = size;
    this.errors = errors;
  }

  equals(other: Value): boolean | EvalError {
    return other instanceof Format ? this.#name === other.#name : NO_SUCH_OVERLOAD;
  }

  toString(): string {
    return this.#name;
  }
}

/** The rule for a prefix of generated names, which may end with a dash. */
function asPrefix(errors: NameRule): NameRule {
  return (text) => errors(text.length > 1 && text.endsWith("-") ? `${text.slice(0, -2)}a` : text);
}

function sentence(why: string, holds: (text: string) => boolean): NameRule {
  return (text) => (holds(text) ? [] : [why]);
}

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/;

function isDate(text: string): boolean {
  const match = DATE.exec(text);
  return match !== null && dayMillis(Number(match[1]), Number(match[2]), Number(match[3])) !== undefined;
}

function isDateTime(text: string): boolean {
  const [date = "", time = ""] = text.toLowerCase().split("t");
  const match = TIME.exec(time);
  if (match === null || !isDate(date)) return false;
  const [, hour = "", minute = "", second = ""] = match;
  return hour <= "23" && minute <= "59" && second <= "59";
}

const DATE_TIME_SIZE = 70;

const FORMATS: ReadonlyMap<string, Format> = new Map([
  ["dns1123Label", new Format("DNS1123Label", 30, dnsLabelErrors)],
  ["dns1123Subdomain", new Format("DNS1123Subdomain", 60, dnsSubdomainErrors)],
  ["dns1035Label", new Format("DNS1035Label", 30, dns1035LabelErrors)],
  ["qualifiedName", new Format("QualifiedName", 60, qualifiedNameErrors)],
  ["dns1123LabelPrefix", new Format("DNS1123LabelPrefix", 30, asPrefix(dnsLabelErrors))],
  ["dns1123SubdomainPrefix", new Format("DNS1123SubdomainPrefix", 60, asPrefix(dnsSubdomainErrors))],
  ["dns1035LabelPrefix", new Format("DNS1035LabelPrefix", 30, asPrefix(dns1035LabelErrors))],
  ["labelValue", new Format("LabelValue", 40, labelValueErrors)],
  [
    "uri",
    new Format("URI", 1103, (text) => {
      const failure = urlFailure(text);
      return failure === undefined ? [] : [failure];
    }),
  ],
  [
    "uuid",
    new Format(
      "uuid",
      70,
      sentence("does not match the UUID format", (text) => UUID.test(text)),
    ),
  ],
  [
    "byte",
    new Format(
      "byte",
      84,
      sentence("invalid base64", (text) => text !== "" && BASE64.test(text)),
    ),
  ],
  ["date", new Format("date", DATE_TIME_SIZE, sentence("invalid date", isDate))],
  ["datetime", new Format("datetime", DATE_TIME_SIZE, sentence("invalid datetime", isDateTime))],
]);

function validate(format: Format, text: string): Value {
  const errors = format.errors(text);
  return errors.length === 0 ? NO_VALUE : new OptionalValue(new ArrayList(errors));
}

function named(name: string): Value {
  const format = FORMATS.get(name);
  return format === undefined ? NO_VALUE : new OptionalValue(format);
}

export const NAMED_FORMATS: readonly Overload[] = [
  overload("format-validate", "Format.validate(string): optional<list<string>>", validate),
  overload("format-named", ":format.named(string): optional<Format>", named),
  ...[...FORMATS].map(([name, format]) => overload(`format.${name}`, `:format.${name}(): Format`, () => format)),
];
