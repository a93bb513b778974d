/** Creates the errors of failed CEL rules. */
import { duplicateValue, forbiddenField, invalidValue, required } from "../../../../meta/field-errors.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import type { ValidationRule } from "../schema.ts";

/** Go's text for an empty field path. */
const ROOT = "<nil>";

function fieldOf(path: string): string {
  return path === "" ? ROOT : path;
}

/** The text for the rule in messages: its message if it has one, otherwise its expression. */
export function ruleText(rule: ValidationRule): string {
  return rule.message === "" ? rule.rule.trim() : rule.message.trim();
}

/** The error of a rule that could not be evaluated. */
export function ruleFailure(path: string, type: string, why: string): FieldError {
  return invalidValue(fieldOf(path), type, why);
}

interface FailedPlace {
  readonly path: string;
  readonly value: unknown;
  readonly type: string;
}

/** The error of a rule that returned false. It contains the value, unless the value is an object or a list. */
export function failedRule(rule: ValidationRule, { path, value, type }: FailedPlace, detail: string): FieldError {
  const field = fieldOf(path);
  const isShown = type !== "object" && type !== "array";
  switch (rule.reason) {
    case "FieldValueForbidden":
      return forbiddenField(field, detail);
    case "FieldValueRequired":
      return required(field, detail);
    case "FieldValueDuplicate":
      if (isShown) return duplicateValue(field, value);
      return { field, reason: "FieldValueDuplicate", message: "Duplicate value" };
    default:
      if (isShown) return invalidValue(field, value, detail);
      return { field, reason: "FieldValueInvalid", message: `Invalid value: ${detail}` };
  }
}
