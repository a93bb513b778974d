/** Defaults and validation of mutating and validating webhook configurations. */
import { duplicateValue, invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { jsonEquals, numberAt, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors, dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelSelectorErrors, nameErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { ownPointer, ownStruct, setMissing } from "../defaults.ts";
import { matchConditionErrors, ruleErrors, staticSuffixWarnings, withScopes } from "./admission-rules.ts";
import { ExpressionCheck } from "./expressions/expression-errors.ts";
import { webhookClientErrors } from "./webhook-client.ts";

const FAILURE_POLICIES: readonly string[] = ["Fail", "Ignore"];
const MATCH_POLICIES: readonly string[] = ["Equivalent", "Exact"];
const REINVOCATION_POLICIES: readonly string[] = ["IfNeeded", "Never"];
const SIDE_EFFECTS: readonly string[] = ["None", "NoneOnDryRun", "Some", "Unknown"];
const NO_SIDE_EFFECTS: readonly string[] = ["None", "NoneOnDryRun"];
const REVIEW_VERSIONS: readonly string[] = ["v1", "v1beta1"];
const SELECTORS: readonly string[] = ["namespaceSelector", "objectSelector"];
const VALUE_FIELD = /\.values\[\d+\]$/;

interface WebhookOptions {
  readonly isMutating: boolean;
  /** True on an update that leaves the match conditions unchanged, because stored match conditions remain valid. */
  readonly ignoresMatchConditions: boolean;
  readonly sideEffects: readonly string[];
  readonly requiresKnownReview: boolean;
  readonly requiresUniqueNames: boolean;
  readonly allowsInvalidValues: boolean;
  readonly expressions: ExpressionCheck;
}

export const MUTATING_WEBHOOK_CONFIGURATION: Kind = configurationOf({ isMutating: true });
export const VALIDATING_WEBHOOK_CONFIGURATION: Kind = configurationOf({ isMutating: false });

function configurationOf({ isMutating }: Pick<WebhookOptions, "isMutating">): Kind {
  return {
    setDefaults(configuration) {
      if (!Array.isArray(configuration["webhooks"])) return;
      configuration["webhooks"] = objectsAt(configuration, "webhooks").map((webhook) =>
        withWebhookDefaults(webhook, isMutating),
      );
    },
    createErrors: (configuration, { gates }) =>
      configurationErrors(objectsAt(configuration, "webhooks"), {
        isMutating,
        ignoresMatchConditions: false,
        sideEffects: NO_SIDE_EFFECTS,
        requiresKnownReview: true,
        requiresUniqueNames: true,
        allowsInvalidValues: false,
        expressions: new ExpressionCheck(gates),
      }),
    updateErrors(configuration, existing, { gates }) {
      const webhooks = objectsAt(configuration, "webhooks");
      const before = objectsAt(existing, "webhooks");
      const expressions = new ExpressionCheck(gates);
      for (const webhook of before) expressions.addStoredConditions(objectsAt(webhook, "matchConditions"));
      return configurationErrors(webhooks, { ...updateOptions(webhooks, before, isMutating), expressions });
    },
    warnings: staticSuffixWarnings,
  };
}

function withWebhookDefaults(given: JsonObject, isMutating: boolean): JsonObject {
  const webhook = { ...given };
  const defaults = {
    failurePolicy: "Fail",
    matchPolicy: "Equivalent",
    namespaceSelector: {},
    objectSelector: {},
    timeoutSeconds: 10,
    sideEffects: null,
    admissionReviewVersions: null,
    ...(isMutating ? { reinvocationPolicy: "Never" } : {}),
  };
  setMissing(webhook, defaults);
  const service = ownPointer(ownStruct(webhook, "clientConfig"), "service");
  if (service !== undefined) setMissing(service, { port: 443 });
  if (webhook["rules"] !== undefined) webhook["rules"] = withScopes(webhook["rules"]);
  return webhook;
}

function updateOptions(
  webhooks: readonly JsonObject[],
  before: readonly JsonObject[],
  isMutating: boolean,
): Omit<WebhookOptions, "expressions"> {
  const isSameConditions = (webhook: JsonObject, index: number): boolean =>
    jsonEquals(webhook["matchConditions"], before[index]?.["matchConditions"]);
  const names = before.map((webhook) => stringAt(webhook, "name"));
  const hasKnownReview = (webhook: JsonObject): boolean => {
    const versions = stringsAt(webhook, "admissionReviewVersions");
    return versions.length === 0 || versions.some((version) => REVIEW_VERSIONS.includes(version));
  };
  return {
    isMutating,
    ignoresMatchConditions: webhooks.length === before.length && webhooks.every(isSameConditions),
    sideEffects: before.every((webhook) => NO_SIDE_EFFECTS.includes(stringAt(webhook, "sideEffects")))
      ? NO_SIDE_EFFECTS
      : SIDE_EFFECTS,
    requiresKnownReview: before.every(hasKnownReview),
    requiresUniqueNames: new Set(names).size === names.length,
    allowsInvalidValues: before.some((webhook) =>
      SELECTORS.some((key) => labelSelectorErrors(objectAt(webhook, key), "").next().done !== true),
    ),
  };
}

function* configurationErrors(webhooks: readonly JsonObject[], options: WebhookOptions): Generator<FieldError> {
  const names = new Set<string>();
  for (const [index, webhook] of webhooks.entries()) {
    const field = `webhooks[${index}]`;
    yield* webhookErrors(webhook, field, options);
    yield* reviewVersionErrors(
      stringsAt(webhook, "admissionReviewVersions"),
      `${field}.admissionReviewVersions`,
      options.requiresKnownReview,
    );
    const name = stringAt(webhook, "name");
    if (options.requiresUniqueNames && name !== "" && names.has(name)) yield duplicateValue(`${field}.name`, name);
    names.add(name);
  }
}

function* webhookErrors(webhook: JsonObject, field: string, options: WebhookOptions): Generator<FieldError> {
  yield* qualifiedDomainErrors(stringAt(webhook, "name"), `${field}.name`);
  for (const [index, rule] of objectsAt(webhook, "rules").entries())
    yield* ruleErrors(rule, `${field}.rules[${index}]`);
  yield* oneOf(webhook, field, "failurePolicy", FAILURE_POLICIES);
  yield* oneOf(webhook, field, "matchPolicy", MATCH_POLICIES);
  yield* sideEffectErrors(webhook["sideEffects"], `${field}.sideEffects`, options.sideEffects);
  const seconds = numberAt(webhook, "timeoutSeconds") ?? 0;
  if (seconds < 1 || seconds > 30)
    yield invalidValue(`${field}.timeoutSeconds`, seconds, "the timeout value must be between 1 and 30 seconds");
  for (const key of SELECTORS)
    for (const error of labelSelectorErrors(objectAt(webhook, key), `${field}.${key}`))
      if (!options.allowsInvalidValues || !VALUE_FIELD.test(error.field)) yield error;
  if (options.isMutating) yield* oneOf(webhook, field, "reinvocationPolicy", REINVOCATION_POLICIES);
  yield* webhookClientErrors(objectAt(webhook, "clientConfig"), `${field}.clientConfig`);
  if (!options.ignoresMatchConditions)
    yield* matchConditionErrors(objectsAt(webhook, "matchConditions"), `${field}.matchConditions`, options.expressions);
}

function* oneOf(webhook: JsonObject, field: string, key: string, supported: readonly string[]): Generator<FieldError> {
  const value = stringAt(webhook, key);
  if (!supported.includes(value)) yield unsupportedValue(`${field}.${key}`, value, supported);
}

function* sideEffectErrors(value: unknown, field: string, supported: readonly string[]): Generator<FieldError> {
  if (typeof value !== "string") yield required(field, `must specify one of ${supported.join(", ")}`);
  else if (!supported.includes(value)) yield unsupportedValue(field, value, supported);
}

function* qualifiedDomainErrors(name: string, field: string): Generator<FieldError> {
  const sentences = dnsSubdomainErrors(name);
  if (name === "") yield required(field);
  else if (sentences.length > 0) yield invalidValue(field, name, sentences.join(","));
  else if (name.split(".").length < 3)
    yield invalidValue(field, name, "should be a domain with at least three segments separated by dots");
}

function* reviewVersionErrors(
  versions: readonly string[],
  field: string,
  requiresKnown: boolean,
): Generator<FieldError> {
  const known = REVIEW_VERSIONS.join(", ");
  if (versions.length === 0) {
    yield required(field, `must specify one of ${known}`);
    return;
  }
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (seen.has(version)) yield invalidValue(`${field}[${index}]`, version, "duplicate version");
    else yield* nameErrors(version, `${field}[${index}]`, dns1035LabelErrors);
    seen.add(version);
  }
  if (requiresKnown && !REVIEW_VERSIONS.some((version) => seen.has(version)))
    yield invalidValue(field, versions, `must include at least one of ${known}`);
}
