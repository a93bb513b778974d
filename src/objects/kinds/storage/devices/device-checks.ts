/** Checks that the kinds of dynamic resource allocation share. */
import {
  duplicateValue,
  invalidValue,
  required,
  tooLong,
  tooMany,
  unsupportedValue,
} from "../../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { labelValueErrors, qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { nameErrors } from "../../checks.ts";
import { driverNameErrors } from "../../pods/rules/formats.ts";

const IDENTIFIER_BYTES_MAX = 32;
const SELECTORS_MAX = 32;
const EXPRESSION_BYTES_MAX = 10 * 1024;
const PARAMETERS_BYTES_MAX = 10 * 1024;
const IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*";
const IDENTIFIER_PATTERN = new RegExp(`^${IDENTIFIER}$`);
const TAINT_EFFECTS: readonly string[] = ["NoExecute", "NoSchedule", "None"];

/** Checks the length of a list and its items. If the list is too long, its items are not checked. */
export function* listErrors<Item>(
  list: readonly Item[],
  field: string,
  { max, errors }: { readonly max: number; readonly errors: (item: Item, field: string) => Iterable<FieldError> },
): Generator<FieldError> {
  if (list.length > max) {
    yield tooMany(field, list.length, max);
    return;
  }
  for (const [index, item] of list.entries()) yield* errors(item, `${field}[${index}]`);
}

export function* uniquenessErrors(keys: readonly string[], field: string, max: number): Generator<FieldError> {
  if (keys.length > max) return;
  const seen = new Set<string>();
  for (const [index, key] of keys.entries()) {
    if (seen.has(key)) yield duplicateValue(`${field}[${index}]`, key);
    seen.add(key);
  }
}

/** DIFFERS: the CEL expressions of selectors are not compiled. */
export function selectorsErrors(parent: JsonObject, field: string): Iterable<FieldError> {
  return listErrors(objectsAt(parent, "selectors"), `${field}.selectors`, {
    max: SELECTORS_MAX,
    *errors(selector, at) {
      if (selector["cel"] === undefined) yield required(`${at}.cel`);
      else if (Buffer.byteLength(stringAt(objectAt(selector, "cel"), "expression")) > EXPRESSION_BYTES_MAX)
        yield tooLong(`${at}.cel.expression`, EXPRESSION_BYTES_MAX);
    },
  });
}

export function* configurationErrors(config: JsonObject, field: string): Generator<FieldError> {
  if (config["opaque"] === undefined) {
    yield required(`${field}.opaque`);
    return;
  }
  const opaque = objectAt(config, "opaque");
  yield* driverNameErrors(stringAt(opaque, "driver"), `${field}.opaque.driver`);
  yield* parametersErrors(opaque["parameters"], `${field}.opaque.parameters`);
}

export function* parametersErrors(parameters: unknown, field: string): Generator<FieldError> {
  if (parameters === undefined || parameters === null) yield required(field);
  else if (Buffer.byteLength(JSON.stringify(parameters)) > PARAMETERS_BYTES_MAX)
    yield tooLong(field, PARAMETERS_BYTES_MAX);
  else if (!isJsonObject(parameters)) yield invalidValue(field, "<value omitted>", "must be a valid JSON object");
}

export function* tolerationErrors(toleration: JsonObject, field: string): Generator<FieldError> {
  const key = stringAt(toleration, "key");
  if (key !== "") yield* nameErrors(key, `${field}.key`, qualifiedNameErrors);
  const operator = stringAt(toleration, "operator");
  const value = stringAt(toleration, "value");
  if (operator === "Exists") {
    if (value !== "") yield invalidValue(`${field}.value`, value, "must be empty for operator `Exists`");
  } else if (operator === "Equal") yield* nameErrors(value, `${field}.value`, labelValueErrors);
  else yield unsupportedValue(`${field}.operator`, operator, ["Equal", "Exists"]);
  const effect = stringAt(toleration, "effect");
  if (effect !== "" && !TAINT_EFFECTS.includes(effect))
    yield unsupportedValue(`${field}.effect`, effect, TAINT_EFFECTS);
}

export function* deviceTaintErrors(taint: JsonObject, field: string): Generator<FieldError> {
  yield* nameErrors(stringAt(taint, "key"), `${field}.key`, qualifiedNameErrors);
  const value = stringAt(taint, "value");
  if (value !== "") yield* nameErrors(value, `${field}.value`, labelValueErrors);
  const effect = stringAt(taint, "effect");
  if (effect === "") yield required(`${field}.effect`);
  else if (!TAINT_EFFECTS.includes(effect)) yield unsupportedValue(`${field}.effect`, effect, TAINT_EFFECTS);
}

/** Checks an attribute name: `domain/name`, or a name without a domain. */
export function* attributeNameErrors(name: string, field: string): Generator<FieldError> {
  const [domain, identifier, ...more] = name.split("/");
  // As kubernetes: a name with more than one slash is not checked.
  if (more.length > 0) return;
  if (identifier === undefined) {
    yield* identifierErrors(domain ?? "", field);
    return;
  }
  if (domain === "") yield invalidValue(field, "", "the domain must not be empty");
  else yield* driverNameErrors(domain ?? "", field);
  if (identifier === "") yield invalidValue(field, "", "the name must not be empty");
  else yield* identifierErrors(identifier, field);
}

export function* fullAttributeNameErrors(name: string, field: string): Generator<FieldError> {
  yield* attributeNameErrors(name, field);
  if (!name.includes("/"))
    yield invalidValue(field, name, "a fully qualified name must be a domain and a name separated by a slash");
}

function* identifierErrors(identifier: string, field: string): Generator<FieldError> {
  if (Buffer.byteLength(identifier) > IDENTIFIER_BYTES_MAX) yield tooLong(field, IDENTIFIER_BYTES_MAX);
  if (!IDENTIFIER_PATTERN.test(identifier))
    yield invalidValue(
      field,
      identifier,
      `a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '${IDENTIFIER}')`,
    );
}
