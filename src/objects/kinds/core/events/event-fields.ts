/** How the two groups call what is the same in events, and how kubernetes' own form shows it. */
import { isJsonObject, stringAt, type JsonObject } from "../../../../meta/json.ts";

export interface EventNames {
  readonly involvedObject: string;
  readonly message: string;
  readonly source: string;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
  readonly count: string;
  readonly reportingController: string;
}

export const CORE_NAMES: EventNames = {
  involvedObject: "involvedObject",
  message: "message",
  source: "source",
  firstTimestamp: "firstTimestamp",
  lastTimestamp: "lastTimestamp",
  count: "count",
  reportingController: "reportingComponent",
};

export const EVENTS_NAMES: EventNames = {
  involvedObject: "regarding",
  message: "note",
  source: "deprecatedSource",
  firstTimestamp: "deprecatedFirstTimestamp",
  lastTimestamp: "deprecatedLastTimestamp",
  count: "deprecatedCount",
  reportingController: "reportingController",
};

export function shownReference(reference: unknown): JsonObject | null {
  if (!isJsonObject(reference)) return null;
  return {
    Kind: stringAt(reference, "kind"),
    Namespace: stringAt(reference, "namespace"),
    Name: stringAt(reference, "name"),
    UID: stringAt(reference, "uid"),
    APIVersion: stringAt(reference, "apiVersion"),
    ResourceVersion: stringAt(reference, "resourceVersion"),
    FieldPath: stringAt(reference, "fieldPath"),
  };
}

export function shownSource(source: JsonObject): JsonObject {
  return { Component: stringAt(source, "component"), Host: stringAt(source, "host") };
}
