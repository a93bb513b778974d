/** Warnings about the spec of a Job or of the Job template of a CronJob. */
import { numberAt, objectAt, type JsonObject } from "../../../meta/json.ts";
import type { KindContext } from "../kind.ts";
import { podTemplateWarnings } from "../pods/warnings/pod-warnings.ts";
import { isIndexed } from "./job-rules.ts";

const COMPLETIONS_MANY = 100_000;
const PARALLELISM_MANY = 10_000;

export function* jobSpecWarnings(spec: JsonObject, field: string, context: KindContext): Generator<string> {
  const hasMany =
    (numberAt(spec, "completions") ?? 0) > COMPLETIONS_MANY && (numberAt(spec, "parallelism") ?? 0) > PARALLELISM_MANY;
  if (isIndexed(spec) && hasMany)
    yield `${field}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail`;
  yield* podTemplateWarnings(objectAt(spec, "template"), `${field}.template`, context);
}
