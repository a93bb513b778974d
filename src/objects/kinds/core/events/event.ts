/** Defaults and validation of Events, in the core group and in events.k8s.io. */
import { objectAt, type JsonObject } from "../../../../meta/json.ts";
import { ownPointer, setMissing } from "../../defaults.ts";
import type { Kind } from "../../kind.ts";
import { CORE_NAMES, EVENTS_NAMES, type EventNames } from "./event-fields.ts";
import { eventErrors, legacyEventErrors, newEventUpdateErrors } from "./event-rules.ts";

/** The core group validates events only loosely, for compatibility. */
export const EVENT: Kind = {
  setDefaults(event) {
    writeEmptyMembers(event, CORE_NAMES);
    for (const key of [CORE_NAMES.reportingController, "reportingInstance"]) event[key] ??= "";
  },
  createErrors: (event) => legacyEventErrors(event, CORE_NAMES),
  updateErrors: (event) => legacyEventErrors(event, CORE_NAMES),
};

export const EVENTS_GROUP_EVENT: Kind = {
  setDefaults: (event) => writeEmptyMembers(event, EVENTS_NAMES),
  createErrors: (event) => eventErrors(event, EVENTS_NAMES),
  *updateErrors(event, existing) {
    yield* legacyEventErrors(event, EVENTS_NAMES);
    yield* newEventUpdateErrors(event, existing, EVENTS_NAMES);
  },
};

/** Go always writes structs and times, even if they are empty. */
function writeEmptyMembers(event: JsonObject, names: EventNames): void {
  for (const key of [names.involvedObject, names.source]) event[key] = objectAt(event, key);
  for (const key of [names.firstTimestamp, names.lastTimestamp, "eventTime"]) event[key] ??= null;
  const series = ownPointer(event, "series");
  if (series !== undefined) setMissing(series, { lastObservedTime: null });
}
