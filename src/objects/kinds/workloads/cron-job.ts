/** Defaults, validation and warnings of CronJobs. */
import { invalidValue, required, unsupportedValue } from "../../../meta/field-errors.ts";
import { numberAt, objectAt, specOf, stringAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { enumErrors, nonNegativeErrors } from "../checks.ts";
import type { Kind, KindContext } from "../kind.ts";
import { scheduleError } from "./cron-schedule.ts";
import { setJobTemplateDefaults } from "./job-defaults.ts";
import { jobSpecErrors } from "./job-rules.ts";
import { jobSpecWarnings } from "./job-warnings.ts";
import { selectorOf } from "./label-selection.ts";
import { hasNewGeneration, nameWarnings } from "./long-running-pods.ts";
import { timeZoneError } from "./time-zone.ts";
import { structAt, setEmpty } from "../defaults.ts";
import { internalValue } from "../internal-version/internal-value.ts";

/** Limits the name, because the name of a Job adds eleven characters to that of its CronJob. */
const NAME_LENGTH_MAX = 52;

export const CRON_JOB: Kind = {
  setDefaults: setCronJobDefaults,
  prepareCreate(cronJob) {
    cronJob["status"] = {};
  },
  *createErrors(cronJob, context) {
    yield* cronJobErrors(specOf(cronJob), undefined, context);
    const name = stringAt(objectAt(cronJob, "metadata"), "name");
    if (Buffer.byteLength(name) > NAME_LENGTH_MAX)
      yield invalidValue("metadata.name", name, `must be no more than ${NAME_LENGTH_MAX} characters`);
  },
  updateErrors: (cronJob, existing, context) => cronJobErrors(specOf(cronJob), specOf(existing), context),
  warnings,
};

function setCronJobDefaults(cronJob: JsonObject, context: KindContext): void {
  const spec = structAt(cronJob, "spec");
  spec["schedule"] ??= "";
  setEmpty(spec, { concurrencyPolicy: "Allow" });
  spec["suspend"] ??= false;
  const template = structAt(spec, "jobTemplate");
  structAt(template, "metadata");
  setJobTemplateDefaults(structAt(template, "spec"), context);
  spec["successfulJobsHistoryLimit"] ??= 3;
  spec["failedJobsHistoryLimit"] ??= 1;
  structAt(cronJob, "status");
}

function* cronJobErrors(spec: JsonObject, before: JsonObject | undefined, context: KindContext): Generator<FieldError> {
  yield* scheduleErrors(spec, before);
  yield* nonNegativeErrors(numberAt(spec, "startingDeadlineSeconds"), "spec.startingDeadlineSeconds");
  if (before === undefined || spec["timeZone"] !== before["timeZone"]) yield* timeZoneErrors(spec["timeZone"]);
  const concurrency = stringAt(spec, "concurrencyPolicy");
  yield* enumErrors(concurrency, "spec.concurrencyPolicy", ["Allow", "Forbid", "Replace"]);
  yield* jobTemplateErrors(objectAt(objectAt(spec, "jobTemplate"), "spec"), context);
  for (const limit of ["successfulJobsHistoryLimit", "failedJobsHistoryLimit"])
    yield* nonNegativeErrors(numberAt(spec, limit), `spec.${limit}`);
}

function* scheduleErrors(spec: JsonObject, before: JsonObject | undefined): Generator<FieldError> {
  const field = "spec.schedule";
  const schedule = stringAt(spec, "schedule");
  if (schedule === "") {
    yield required(field);
    return;
  }
  const why = scheduleError(schedule);
  if (why !== undefined) yield invalidValue(field, schedule, why);
  if (!schedule.includes("TZ")) return;
  const isTolerated = before !== undefined && stringAt(before, "schedule").includes("TZ");
  if (!isTolerated)
    yield invalidValue(field, schedule, "cannot use TZ or CRON_TZ in schedule, use timeZone field instead");
  else if (spec["timeZone"] !== undefined)
    yield invalidValue(field, schedule, "cannot use both timeZone field and TZ or CRON_TZ in schedule");
}

const ZONE_PART = /^[A-Za-z.\-_0-9+]{1,14}$/;

function* timeZoneErrors(zone: unknown): Generator<FieldError> {
  const field = "spec.timeZone";
  if (typeof zone !== "string") return;
  if (zone === "") {
    yield invalidValue(field, zone, "timeZone must be nil or non-empty string");
    return;
  }
  if (zone.split("/").some((part) => part === "." || part === ".." || part.startsWith("-") || !ZONE_PART.test(part))) {
    yield invalidValue(field, zone, `unknown time zone ${zone}`);
    return;
  }
  if (zone.toLowerCase() === "local")
    yield invalidValue(
      field,
      zone,
      "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones",
    );
  const why = timeZoneError(zone);
  if (why !== undefined) yield invalidValue(field, zone, why);
}

function* jobTemplateErrors(spec: JsonObject, context: KindContext): Generator<FieldError> {
  const field = "spec.jobTemplate.spec";
  const selector = selectorOf(spec);
  yield* jobSpecErrors(spec, field, context);
  if (selector !== undefined)
    yield invalidValue(`${field}.selector`, internalValue(selector, "L"), "`selector` will be auto-generated");
  if (spec["manualSelector"] === true) yield unsupportedValue(`${field}.manualSelector`, true, ["nil", "false"]);
}

function* warnings(cronJob: JsonObject, existing: JsonObject | undefined, context: KindContext): Generator<string> {
  yield* nameWarnings(cronJob, existing);
  const spec = specOf(cronJob);
  const jobSpec = objectAt(objectAt(spec, "jobTemplate"), "spec");
  if (existing === undefined || hasNewGeneration(cronJob, existing))
    yield* jobSpecWarnings(jobSpec, "spec.jobTemplate.spec", context);
  if (existing !== undefined && stringAt(spec, "schedule").includes("TZ"))
    yield "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details";
}
