/**
 * Validation of events. As kubernetes: errors use the field names of the internal type, regardless of the group in the
 * request.
 */
import { invalidValue, required } from "../../../../meta/field-errors.ts";
import { jsonEquals, numberAt, objectAt, stringAt, type JsonObject } from "../../../../meta/json.ts";
import { dnsSubdomainErrors, qualifiedNameErrors } from "../../../../meta/names.ts";
import type { FieldError } from "../../../../meta/status-error.ts";
import { immutableErrors } from "../../checks.ts";
import type { EventNames } from "./event-fields.ts";
import { internalValue } from "../../internal-version/internal-value.ts";

const TEXT_BYTES_MAX = 128;
const NOTE_BYTES_MAX = 1024;
const NO_MATCH = "does not match event.namespace";

/** Validates events of both groups. Of events without an eventTime, only the namespaces are checked. */
export function* legacyEventErrors(event: JsonObject, names: EventNames): Generator<FieldError> {
  const namespace = stringAt(objectAt(event, "metadata"), "namespace");
  const involved = stringAt(objectAt(event, names.involvedObject), "namespace");
  const isTimed = typeof event["eventTime"] === "string";
  if (!hasMatchingNamespace({ namespace, involved, isTimed }))
    yield invalidValue("involvedObject.namespace", involved, NO_MATCH);
  if (isTimed) yield* reporterErrors(event, names);
  for (const sentence of dnsSubdomainErrors(namespace)) yield invalidValue("namespace", namespace, sentence);
}

/**
 * Whether the namespace of an event is allowed. Without an eventTime, it must be that of the involved object; for a
 * cluster-scoped object, `default` or none. With an eventTime, any namespace is allowed; for a cluster-scoped object,
 * `default` or `kube-system`.
 */
function hasMatchingNamespace(event: { namespace: string; involved: string; isTimed: boolean }): boolean {
  const { namespace, involved, isTimed } = event;
  if (involved !== "") return isTimed || namespace === involved;
  return namespace === "default" || (isTimed ? namespace === "kube-system" : namespace === "");
}

function* reporterErrors(event: JsonObject, names: EventNames): Generator<FieldError> {
  const controller = stringAt(event, names.reportingController);
  if (controller === "") yield required(names.reportingController);
  for (const sentence of qualifiedNameErrors(controller))
    yield invalidValue(names.reportingController, controller, sentence);
  for (const key of ["reportingInstance", "action", "reason"]) {
    if (stringAt(event, key) === "") yield required(key);
    yield* lengthErrors(stringAt(event, key), key, TEXT_BYTES_MAX);
  }
  yield* lengthErrors(stringAt(event, names.message), "message", NOTE_BYTES_MAX);
}

function* lengthErrors(text: string, field: string, max: number): Generator<FieldError> {
  if (Buffer.byteLength(text) > max) yield invalidValue(field, "", `can have at most ${max} characters`);
}

/** Validates new events of events.k8s.io. */
export function* eventErrors(event: JsonObject, names: EventNames): Generator<FieldError> {
  yield* legacyEventErrors(event, names);
  yield* seriesErrors(event);
  if (typeof event["eventTime"] !== "string") yield required("eventTime");
  const type = stringAt(event, "type");
  if (type !== "Normal" && type !== "Warning") yield invalidValue("type", "", `has invalid value: ${type}`);
  for (const key of ["firstTimestamp", "lastTimestamp"] as const)
    if (typeof event[names[key]] === "string") yield invalidValue(key, "", "needs to be unset");
  if ((numberAt(event, names.count) ?? 0) !== 0) yield invalidValue("count", "", "needs to be unset");
  const source = objectAt(event, names.source);
  if (stringAt(source, "component") !== "" || stringAt(source, "host") !== "")
    yield invalidValue("source", "", "needs to be unset");
}

function* seriesErrors(event: JsonObject): Generator<FieldError> {
  if (event["series"] === undefined) return;
  const series = objectAt(event, "series");
  if ((numberAt(series, "count") ?? 0) < 2) yield invalidValue("series.count", "", "should be at least 2");
  if (typeof series["lastObservedTime"] !== "string") yield required("series.lastObservedTime");
}

type Shown = readonly [field: string, shown: (event: JsonObject) => unknown];

/** Rejects changes of events in events.k8s.io, except changes of the series. */
export function* newEventUpdateErrors(
  event: JsonObject,
  existing: JsonObject,
  names: EventNames,
): Generator<FieldError> {
  if (!jsonEquals(event["series"], existing["series"])) yield* seriesErrors(event);
  for (const [field, shown] of fixedMembers(names)) yield* immutableErrors(shown(event), shown(existing), field);
}

function fixedMembers(names: EventNames): readonly Shown[] {
  const text = (field: string, key = field): Shown => [field, (event) => stringAt(event, key)];
  const time = (field: string, key = field): Shown => [field, (event) => event[key] ?? null];
  return [
    ["involvedObject", (event) => internalValue(event[names.involvedObject], "ObjectReference")],
    text("reason"),
    text("message", names.message),
    ["source", (event) => internalValue(event[names.source], "EventSource")],
    time("firstTimestamp", names.firstTimestamp),
    time("lastTimestamp", names.lastTimestamp),
    ["count", (event) => numberAt(event, names.count) ?? 0],
    text("reason"),
    text("type"),
    time("eventTime"),
    text("action"),
    ["related", (event) => internalValue(event["related"], "*ObjectReference")],
    text("reportingController", names.reportingController),
    text("reportingInstance"),
  ];
}
