/** The names that the fields of an event have in the core group and in events.k8s.io. */

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
