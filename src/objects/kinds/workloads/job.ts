/** Defaults, validation and warnings of Jobs. */
import { invalidValue, required } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, specOf, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsLabelErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { labelSelectorErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import {
  CONTROLLER_UID,
  JOB_NAME,
  LEGACY_CONTROLLER_UID,
  LEGACY_JOB_NAME,
  prepareJob,
  setJobDefaults,
} from "./job-defaults.ts";
import { isIndexed, jobSpecErrors } from "./job-rules.ts";
import { jobStatusErrors } from "./job-status-rules.ts";
import { jobChangeErrors } from "./job-update-rules.ts";
import { isReadable, mismatchError, selectorOf, selects, templateLabels } from "./label-selection.ts";
import { hasNewGeneration, nameWarnings } from "./long-running-pods.ts";
import { jobSpecWarnings } from "./job-warnings.ts";
import { internalValue } from "../internal-version/internal-value.ts";

export const JOB: Kind = {
  orphaningWarning:
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set propagationPolicy=Orphan to suppress this warning",
  setDefaults: setJobDefaults,
  prepareCreate: prepareJob,
  createErrors: (job, context) => jobErrors(job, context, true),
  updateErrors,
  statusUpdateErrors: jobStatusErrors,
  *warnings(job, existing, context) {
    yield* nameWarnings(job, existing);
    if (existing === undefined || hasNewGeneration(job, existing)) yield* jobSpecWarnings(specOf(job), "spec", context);
  },
};

/**
 * As kubernetes: an update runs the checks of a create, then the checks of the spec once more, and then the checks of
 * changes.
 */
function* updateErrors(job: JsonObject, existing: JsonObject, context: KindContext): Generator<FieldError> {
  const labels = templateLabels(specOf(existing));
  const hadLabels = Object.hasOwn(labels, JOB_NAME) && Object.hasOwn(labels, CONTROLLER_UID);
  yield* jobErrors(job, context, hadLabels);
  yield* specErrors(specOf(job), context);
  yield* jobChangeErrors(job, existing, context);
}

function* jobErrors(job: JsonObject, context: KindContext, needsLabels: boolean): Generator<FieldError> {
  const spec = specOf(job);
  const name = stringAt(objectAt(job, "metadata"), "name");
  yield* generatedErrors(job, needsLabels);
  yield* specErrors(spec, context);
  const completions = numberAt(spec, "completions") ?? 0;
  const hostname = `${name}-${completions - 1}`;
  if (isIndexed(spec) && completions > 0 && dnsLabelErrors(hostname).length > 0)
    yield invalidValue("metadata.name", name, `will not able to create pod with invalid DNS label: ${hostname}`);
}

/** Checks the labels by which a Job selects its pods, which the server generates unless manualSelector is set. */
function* generatedErrors(job: JsonObject, needsLabels: boolean): Generator<FieldError> {
  const spec = specOf(job);
  const selector = selectorOf(spec);
  if (spec["manualSelector"] === true || selector === undefined) return;
  const metadata = objectAt(job, "metadata");
  const name = stringAt(metadata, "name");
  const uid = stringAt(metadata, "uid");
  const expected: [label: string, value: string][] = [
    [LEGACY_CONTROLLER_UID, uid],
    [LEGACY_JOB_NAME, name],
  ];
  if (needsLabels) expected.push([CONTROLLER_UID, uid], [JOB_NAME, name]);
  for (const [label, value] of expected) yield* labelErrors(templateLabels(spec), label, value);
  if (isReadable(selector) && !selects(selector, Object.fromEntries(expected)))
    yield invalidValue("spec.selector", internalValue(selector, "L"), "`selector` not auto-generated");
}

function* labelErrors(labels: JsonObject, label: string, value: string): Generator<FieldError> {
  const field = `spec.template.metadata.labels[${label}]`;
  const why = `must be '${value}'`;
  if (!Object.hasOwn(labels, label)) yield required(field, why);
  else if (labels[label] !== value) yield invalidValue(field, internalValue(labels, "*"), why);
}

function* specErrors(spec: JsonObject, context: KindContext): Generator<FieldError> {
  const selector = selectorOf(spec);
  yield* jobSpecErrors(spec, "spec", context);
  if (selector === undefined) yield required("spec.selector");
  else yield* labelSelectorErrors(selector, "spec.selector");
  if ((selector === undefined || isReadable(selector)) && !selects(selector, templateLabels(spec)))
    yield mismatchError(objectAt(spec, "template"), "spec.template");
}
