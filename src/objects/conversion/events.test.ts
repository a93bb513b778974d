import { expect, test } from "vitest";
import { convertObject } from "./convert.ts";

const core = { group: "", version: "v1" };
const events = { group: "events.k8s.io", version: "v1" };

const coreEvent = {
  kind: "Event",
  apiVersion: "v1",
  metadata: { name: "web-1.17a", namespace: "default" },
  involvedObject: {
    kind: "Pod",
    namespace: "default",
    name: "web-1",
    apiVersion: "v1",
    fieldPath: "spec.containers{web}",
  },
  reason: "Pulled",
  message: "Container image already present on machine",
  source: { component: "kubelet", host: "node-a" },
  firstTimestamp: "2024-05-01T10:00:00Z",
  lastTimestamp: "2024-05-01T10:05:00Z",
  count: 3,
  type: "Normal",
  eventTime: null,
  reportingComponent: "kubelet",
  reportingInstance: "node-a",
};

const eventsEvent = {
  kind: "Event",
  apiVersion: "events.k8s.io/v1",
  metadata: { name: "web-1.17a", namespace: "default" },
  regarding: { kind: "Pod", namespace: "default", name: "web-1", apiVersion: "v1", fieldPath: "spec.containers{web}" },
  reason: "Pulled",
  note: "Container image already present on machine",
  deprecatedSource: { component: "kubelet", host: "node-a" },
  deprecatedFirstTimestamp: "2024-05-01T10:00:00Z",
  deprecatedLastTimestamp: "2024-05-01T10:05:00Z",
  deprecatedCount: 3,
  type: "Normal",
  eventTime: null,
  reportingController: "kubelet",
  reportingInstance: "node-a",
};

test("an event has other field names in events.k8s.io", () => {
  expect(convertObject(coreEvent, core, events)).toEqual(eventsEvent);
  expect(convertObject(eventsEvent, events, core)).toEqual(coreEvent);
});

test("an empty reporter is written in the core group and omitted in events.k8s.io", () => {
  const inCore = { ...coreEvent, reportingComponent: "", reportingInstance: "" };
  const { reportingController: _, reportingInstance: __, ...inEvents } = eventsEvent;
  expect(convertObject(inCore, core, events)).toEqual(inEvents);
  expect(convertObject(inEvents, events, core)).toEqual(inCore);
});

test("an unknown field does not replace a renamed field", () => {
  const converted = convertObject({ ...coreEvent, note: "forged" }, core, events);
  expect(converted["note"]).toBe(coreEvent.message);
  expect(convertObject({ kind: "Event", note: "forged" }, core, events)).not.toHaveProperty("note");
});
