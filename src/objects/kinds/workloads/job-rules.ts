/** Validation of the spec of a Job or of the Job template of a CronJob. */
import { invalidValue, required, tooLong, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { nameErrors, nonNegativeErrors } from "../checks.ts";
import type { KindContext } from "../kind.ts";
import { podTemplateErrors } from "../pods/pod-template.ts";
import { podFailurePolicyErrors, successPolicyErrors } from "./job-policies.ts";
import { internalValue } from "../internal-version/internal-value.ts";

const PARALLELISM_MAX = 100_000;
const FAILED_INDEXES_MAX = 100_000;
/** Above this number of completions, lower limits apply to other fields. */
const COMPLETIONS_MANY = 100_000;
const PARALLELISM_MAX_OF_MANY = 10_000;
const FAILED_INDEXES_MAX_OF_MANY = 10_000;
const MANAGED_BY_BYTES_MAX = 63;

const COUNTS: readonly string[] = [
  "parallelism",
  "completions",
  "activeDeadlineSeconds",
  "backoffLimit",
  "ttlSecondsAfterFinished",
  "backoffLimitPerIndex",
  "maxFailedIndexes",
];

export function* jobSpecErrors(spec: JsonObject, field: string, context: KindContext): Generator<FieldError> {
  for (const count of COUNTS) yield* nonNegativeErrors(numberAt(spec, count), `${field}.${count}`);
  if (spec["maxFailedIndexes"] !== undefined && spec["backoffLimitPerIndex"] === undefined)
    yield required(`${field}.backoffLimitPerIndex`, "when maxFailedIndexes is specified");
  yield* managedByErrors(spec["managedBy"], `${field}.managedBy`);
  yield* completionModeErrors(spec, field);
  if (spec["podFailurePolicy"] !== undefined) yield* podFailurePolicyErrors(spec, `${field}.podFailurePolicy`);
  if (spec["successPolicy"] !== undefined) {
    if (isIndexed(spec)) yield* successPolicyErrors(spec, `${field}.successPolicy`);
    else
      yield invalidValue(
        `${field}.successPolicy`,
        internalValue(spec["successPolicy"], "*SuccessPolicy"),
        "requires indexed completion mode",
      );
  }
  yield* replacementErrors(spec, `${field}.podReplacementPolicy`);
  yield* podTemplateErrors(objectAt(spec, "template"), `${field}.template`, context);
  yield* restartErrors(spec, `${field}.template.spec.restartPolicy`);
}

export function isIndexed(spec: JsonObject): boolean {
  return spec["completionMode"] === "Indexed";
}

const PATH = "[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+";
const PATH_PATTERN = new RegExp(`^${PATH}$`);

function* managedByErrors(managedBy: unknown, field: string): Generator<FieldError> {
  if (typeof managedBy !== "string") return;
  yield* domainPrefixedErrors(managedBy, field);
  if (Buffer.byteLength(managedBy) > MANAGED_BY_BYTES_MAX) yield tooLong(field, MANAGED_BY_BYTES_MAX);
}

function* domainPrefixedErrors(text: string, field: string): Generator<FieldError> {
  const slash = text.indexOf("/");
  if (text === "") {
    yield required(field);
  } else if (slash < 1 || slash === text.length - 1) {
    yield invalidValue(field, text, 'must be a domain-prefixed path (such as "acme.io/foo")');
  } else {
    yield* nameErrors(text.slice(0, slash), field, dnsSubdomainErrors);
    const path = text.slice(slash + 1);
    if (!PATH_PATTERN.test(path))
      yield invalidValue(field, path, `Invalid path (regex used for validation is '${PATH}')`);
  }
}

function* completionModeErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const mode = spec["completionMode"];
  if (mode !== undefined && mode !== "NonIndexed" && mode !== "Indexed")
    yield unsupportedValue(`${field}.completionMode`, mode, ["NonIndexed", "Indexed"]);
  if (mode === "Indexed") yield* indexedErrors(spec, field);
  if (mode !== undefined && mode !== "NonIndexed") return;
  for (const member of ["backoffLimitPerIndex", "maxFailedIndexes"])
    if (spec[member] !== undefined)
      yield invalidValue(`${field}.${member}`, spec[member], "requires indexed completion mode");
}

function* indexedErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const completions = numberAt(spec, "completions");
  const parallelism = numberAt(spec, "parallelism");
  const failed = numberAt(spec, "maxFailedIndexes");
  if (completions === undefined) yield required(`${field}.completions`, "when completion mode is Indexed");
  if (parallelism !== undefined && parallelism > PARALLELISM_MAX) {
    const why = `must be less than or equal to ${PARALLELISM_MAX} when completion mode is Indexed`;
    yield invalidValue(`${field}.parallelism`, parallelism, why);
  }
  if (completions !== undefined && failed !== undefined && failed > completions)
    yield invalidValue(`${field}.maxFailedIndexes`, failed, "must be less than or equal to completions");
  if (failed !== undefined && failed > FAILED_INDEXES_MAX)
    yield invalidValue(`${field}.maxFailedIndexes`, failed, `must be less than or equal to ${FAILED_INDEXES_MAX}`);
  if ((completions ?? 0) > COMPLETIONS_MANY && spec["backoffLimitPerIndex"] !== undefined)
    yield* manyCompletionsErrors({ parallelism, failed }, field);
}

function* manyCompletionsErrors(
  { parallelism, failed }: { parallelism: number | undefined; failed: number | undefined },
  field: string,
): Generator<FieldError> {
  const beyond = (max: number): string =>
    `must be less than or equal to ${max} when completions are above ${COMPLETIONS_MANY} and used with backoff limit per index`;
  if (failed === undefined)
    yield required(`${field}.maxFailedIndexes`, `must be specified when completions is above ${COMPLETIONS_MANY}`);
  if (parallelism !== undefined && parallelism > PARALLELISM_MAX_OF_MANY)
    yield invalidValue(`${field}.parallelism`, parallelism, beyond(PARALLELISM_MAX_OF_MANY));
  if (failed !== undefined && failed > FAILED_INDEXES_MAX_OF_MANY)
    yield invalidValue(`${field}.maxFailedIndexes`, failed, beyond(FAILED_INDEXES_MAX_OF_MANY));
}

function* replacementErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const policy = spec["podReplacementPolicy"];
  if (policy === undefined) return;
  const supported = spec["podFailurePolicy"] === undefined ? ["Failed", "TerminatingOrFailed"] : ["Failed"];
  if (!supported.includes(String(policy))) yield unsupportedValue(field, policy, supported);
}

/** Rejects a template without a restartPolicy too, because it defaults to "Always", which Jobs do not support. */
function* restartErrors(spec: JsonObject, field: string): Generator<FieldError> {
  const policy = stringAt(objectAt(objectAt(spec, "template"), "spec"), "restartPolicy");
  if (policy === "Always" || policy === "") yield required(field, 'valid values: "OnFailure", "Never"');
  else if (policy !== "OnFailure" && policy !== "Never") yield unsupportedValue(field, policy, ["OnFailure", "Never"]);
  else if (spec["podFailurePolicy"] !== undefined && policy !== "Never")
    yield invalidValue(field, policy, 'only "Never" is supported when podFailurePolicy is specified');
}
