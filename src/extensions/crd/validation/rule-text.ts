/** Validates the text fields of CEL rules, such as message and fieldPath, before the expressions are compiled. */
import { invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { resolveFieldPath } from "./field-path.ts";
import { optionalString, VALIDATIONS } from "./schema-node.ts";
import { unreadableReason } from "./unsupported-members.ts";
import type { ReleaseGates } from "../../../objects/release-gates.ts";

const REASONS: readonly string[] = [
  "FieldValueDuplicate",
  "FieldValueForbidden",
  "FieldValueInvalid",
  "FieldValueRequired",
];
const LINE_BREAK = /[\n\r]/;
/** A string that consists only of white space as defined by Go. */
const BLANK = /^[\t\n\v\f\r \u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]*$/;

function named(name: string, sentence: string, gates: ReleaseGates): string {
  return gates.isOn("CRDErrorsWithoutFieldNames") ? sentence : `${name} ${sentence}`;
}

export function* ruleTextErrors(schema: JsonObject, field: string, gates: ReleaseGates): Generator<FieldError> {
  const rules = objectsAt(schema, VALIDATIONS);
  const isReadable = rules.some((rule) => stringAt(rule, "fieldPath") !== "") && unreadableReason(schema) === undefined;
  for (const [index, rule] of rules.entries()) {
    const at = `${field}.${VALIDATIONS}[${index}]`;
    yield* sentenceErrors(rule, at, gates);
    const messageExpression = stringAt(rule, "messageExpression");
    if (messageExpression !== "" && BLANK.test(messageExpression))
      yield required(`${at}.messageExpression`, "messageExpression must be non-empty if specified");
    const reason = optionalString(rule, "reason");
    if (reason !== undefined && !REASONS.includes(reason)) yield unsupportedValue(`${at}.reason`, reason, REASONS);
    const fieldPath = stringAt(rule, "fieldPath");
    if (fieldPath === "") continue;
    for (const sentence of fieldPathSentences(fieldPath, isReadable ? schema : undefined))
      yield invalidValue(`${at}.fieldPath`, fieldPath, named("fieldPath", sentence, gates));
  }
}

function* sentenceErrors(rule: JsonObject, at: string, gates: ReleaseGates): Generator<FieldError> {
  const text = stringAt(rule, "rule");
  const message = stringAt(rule, "message");
  const isBlank = BLANK.test(message);
  if (BLANK.test(text)) yield required(`${at}.rule`, "rule is not specified");
  else if (message !== "" && isBlank)
    yield invalidValue(`${at}.message`, message, named("message", "must be non-empty if specified", gates));
  else if (LINE_BREAK.test(message.trim()))
    yield invalidValue(`${at}.message`, message, named("message", "must not contain line breaks", gates));
  else if (LINE_BREAK.test(text.trim()) && isBlank)
    yield required(`${at}.message`, "message must be specified if rule contains line breaks");
}

function* fieldPathSentences(fieldPath: string, schema: JsonObject | undefined): Generator<string> {
  if (BLANK.test(fieldPath)) yield "must be non-empty if specified";
  if (LINE_BREAK.test(fieldPath)) yield "must not contain line breaks";
  if (schema === undefined) return;
  if (typeof resolveFieldPath(fieldPath, schema, { allowsBrackets: true }) === "string") yield "must be a valid path";
}
