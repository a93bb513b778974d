/** Validation of taints, with Kubernetes' messages. */
import { duplicateValue, invalidValue, required, unsupportedValue } from "../../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../../meta/json.ts";
import { labelValueErrors, qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

const EFFECTS: readonly string[] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

export function* taintErrors(taints: readonly JsonObject[], field: string): Generator<FieldError> {
  const seen = new Set<string>();
  for (const [index, taint] of taints.entries()) {
    const at = `${field}[${index}]`;
    const key = stringAt(taint, "key");
    const value = stringAt(taint, "value");
    const effect = stringAt(taint, "effect");
    for (const sentence of qualifiedNameErrors(key)) yield invalidValue(`${at}.key`, key, sentence);
    const sentences = labelValueErrors(value);
    if (sentences.length > 0) yield invalidValue(`${at}.value`, value, sentences.join(";"));
    if (effect === "") yield required(`${at}.effect`);
    else if (!EFFECTS.includes(effect)) yield unsupportedValue(`${at}.effect`, effect, EFFECTS);
    const pair = JSON.stringify([key, effect]);
    if (seen.has(pair)) yield repeatedTaint(taint, at);
    seen.add(pair);
  }
}

function repeatedTaint(taint: JsonObject, field: string): FieldError {
  const error = duplicateValue(field, internalValue(taint, "Taint"));
  return { ...error, message: `${error.message}: taints must be unique by key and effect pair` };
}
