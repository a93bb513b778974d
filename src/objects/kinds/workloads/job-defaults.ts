/** Defaults of Jobs, and the labels and selector that the server generates for their pods. */
import {
  isJsonObject,
  jsonEquals,
  objectAt,
  objectsAt,
  specOf,
  stringAt,
  type JsonObject,
} from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";
import { setPodTemplateDefaults } from "../pods/pod-template.ts";
import { templateLabels } from "./label-selection.ts";
import { setConditionTimes } from "./status-counts.ts";
import { structAt, setEmpty } from "../defaults.ts";

export const CONTROLLER_UID = "batch.kubernetes.io/controller-uid";
export const LEGACY_CONTROLLER_UID = "controller-uid";
export const JOB_NAME = "batch.kubernetes.io/job-name";
export const LEGACY_JOB_NAME = "job-name";

const BACKOFF_LIMIT = 6;
/** The default backoff limit of a Job with a limit per index: the Job as a whole has no limit. */
const BACKOFF_LIMIT_OF_INDEXED = 2 ** 31 - 1;

export function setJobDefaults(job: JsonObject, context: KindContext): void {
  const spec = structAt(job, "spec");
  setJobTemplateDefaults(spec, context);
  if (spec["parallelism"] === undefined) spec["completions"] ??= 1;
  spec["parallelism"] ??= 1;
  spec["backoffLimit"] ??= spec["backoffLimitPerIndex"] === undefined ? BACKOFF_LIMIT : BACKOFF_LIMIT_OF_INDEXED;
  spec["completionMode"] ??= "NonIndexed";
  spec["suspend"] ??= false;
  spec["podReplacementPolicy"] ??= spec["podFailurePolicy"] === undefined ? "TerminatingOrFailed" : "Failed";
  spec["manualSelector"] ??= false;
  setJobLabels(job);
  structAt(job, "status");
  setConditionTimes(job, ["lastProbeTime", "lastTransitionTime"]);
}

/** Sets in place the defaults that Jobs and the Job templates of CronJobs share. */
export function setJobTemplateDefaults(spec: JsonObject, context: KindContext): void {
  setPodTemplateDefaults(spec, context);
  const { podFailurePolicy } = spec;
  if (!isJsonObject(podFailurePolicy)) return;
  const rules = objectsAt(podFailurePolicy, "rules");
  for (const rule of rules)
    for (const pattern of objectsAt(rule, "onPodConditions")) setEmpty(pattern, { status: "True" });
  // As kubernetes: an empty list of rules is written as null.
  if (rules.length === 0) podFailurePolicy["rules"] = null;
}

/** Sets the labels of a Job without labels to those of its pod template. */
function setJobLabels(job: JsonObject): void {
  const labels = templateLabels(specOf(job));
  const metadata = structAt(job, "metadata");
  if (Object.keys(labels).length > 0 && Object.keys(objectAt(metadata, "labels")).length === 0)
    metadata["labels"] = { ...labels };
}

export function prepareJob(job: JsonObject): void {
  job["status"] = {};
  const spec = specOf(job);
  if (spec["manualSelector"] === true) return;
  const before = templateLabels(spec);
  const metadata = objectAt(job, "metadata");
  const hasOwnLabels = !jsonEquals(objectAt(metadata, "labels"), before);
  const labels = { ...generatedLabels(metadata), ...before };
  const template = objectAt(spec, "template");
  spec["template"] = { ...template, metadata: { ...objectAt(template, "metadata"), labels } };
  spec["selector"] = withControllerUid(objectAt(spec, "selector"), metadata);
  // As kubernetes: a Job whose labels are those of its pods also gets the generated labels, unless its name was
  // generated.
  if (!hasOwnLabels && !hasGeneratedName(metadata)) metadata["labels"] = { ...labels };
}

const GENERATED_SUFFIX_LENGTH = 5;
const GENERATED_PREFIX_LENGTH_MAX = 58;

function hasGeneratedName(metadata: JsonObject): boolean {
  const prefix = stringAt(metadata, "generateName").slice(0, GENERATED_PREFIX_LENGTH_MAX);
  const name = stringAt(metadata, "name");
  return prefix !== "" && name.startsWith(prefix) && name.length === prefix.length + GENERATED_SUFFIX_LENGTH;
}

function generatedLabels(metadata: JsonObject): JsonObject {
  const name = stringAt(metadata, "name");
  const uid = stringAt(metadata, "uid");
  return { [LEGACY_JOB_NAME]: name, [JOB_NAME]: name, [LEGACY_CONTROLLER_UID]: uid, [CONTROLLER_UID]: uid };
}

function withControllerUid(selector: JsonObject, metadata: JsonObject): JsonObject {
  const matchLabels = { [CONTROLLER_UID]: metadata["uid"], ...objectAt(selector, "matchLabels") };
  return { ...selector, matchLabels };
}
