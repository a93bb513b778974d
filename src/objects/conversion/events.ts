/** Converts Events between the core group and events.k8s.io, which have different names for the same fields. */
import { invertNames, omitMembers, renameMembers } from "./members.ts";
import type { JsonObject } from "../../meta/json.ts";
import type { KindShapes } from "./shapes.ts";

const NAMES_IN_EVENTS_V1: Readonly<Record<string, string>> = Object.freeze({
  involvedObject: "regarding",
  message: "note",
  source: "deprecatedSource",
  firstTimestamp: "deprecatedFirstTimestamp",
  lastTimestamp: "deprecatedLastTimestamp",
  count: "deprecatedCount",
  reportingComponent: "reportingController",
});

const NAMES_IN_CORE_V1 = invertNames(NAMES_IN_EVENTS_V1);

/** Fields that are always serialized in the core group, and omitted in events.k8s.io if they are empty. */
const REPORTER_MEMBERS: readonly string[] = Object.freeze(["reportingComponent", "reportingInstance"]);

export const EVENT_SHAPES: readonly KindShapes[] = Object.freeze([
  {
    kinds: ["Event"],
    hub: ["v1"],
    spokes: [{ versions: ["events.k8s.io/v1"], toHub: toCoreEvent, fromHub: toEventsEvent }],
  },
]);

function toEventsEvent(event: JsonObject): JsonObject {
  const empty = REPORTER_MEMBERS.filter((key) => event[key] === "");
  return renameMembers(omitMembers(event, empty), NAMES_IN_EVENTS_V1);
}

function toCoreEvent(event: JsonObject): JsonObject {
  const renamed = renameMembers(event, NAMES_IN_CORE_V1);
  const missing = REPORTER_MEMBERS.filter((key) => renamed[key] === undefined);
  return { ...renamed, ...Object.fromEntries(missing.map((key) => [key, ""])) };
}

/** The core group's name of a field label of events.k8s.io: `involvedObject.name` for `regarding.name`. */
export function toCoreEventLabel(label: string): string {
  return renameFirstSegment(label, NAMES_IN_CORE_V1);
}

export function fromCoreEventLabel(label: string): string {
  return renameFirstSegment(label, NAMES_IN_EVENTS_V1);
}

function renameFirstSegment(label: string, names: Readonly<Record<string, string>>): string {
  const [first = "", ...rest] = label.split(".");
  const renamed = Object.hasOwn(names, first) ? names[first] : first;
  return [renamed, ...rest].join(".");
}
