import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import {
  defaulted,
  createErrorsOf,
  updateErrorsOf,
} from "../../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { EVENT, EVENTS_GROUP_EVENT } from "./event.ts";

const metadata = { name: "e", namespace: "default" };
const TIME = "2026-01-01T00:00:00.000000Z";

const NEW: JsonObject = {
  metadata,
  eventTime: TIME,
  regarding: { kind: "Pod", namespace: "default", name: "p" },
  reason: "r",
  action: "a",
  type: "Normal",
  reportingController: "example.com/c",
  reportingInstance: "i",
};

describe("an Event of the core group", () => {
  test("defaults all fields that Go always writes", () => {
    expect(defaulted(EVENT, { metadata })).toEqual({
      metadata,
      involvedObject: {},
      source: {},
      firstTimestamp: null,
      lastTimestamp: null,
      eventTime: null,
      reportingComponent: "",
      reportingInstance: "",
    });
  });

  test.each([
    ["default", "default", []],
    ["default", undefined, []],
    ["other", undefined, ['involvedObject.namespace: Invalid value: "": does not match event.namespace']],
    ["other", "default", ['involvedObject.namespace: Invalid value: "default": does not match event.namespace']],
  ])("in the namespace %s about an object in %s has the expected errors", (namespace, involved, expected) => {
    const involvedObject = involved === undefined ? {} : { namespace: involved };
    expect(createErrorsOf(EVENT, { metadata: { name: "e", namespace }, involvedObject })).toEqual(expected);
  });

  test("with an eventTime needs a reporter, a reason and bounded texts", () => {
    const event = { metadata, eventTime: TIME, involvedObject: {}, message: "m".repeat(1025), action: "a".repeat(129) };
    expect(createErrorsOf(EVENT, event)).toEqual([
      "reportingComponent: Required value",
      'reportingComponent: Invalid value: "": name part must be non-empty',
      expect.stringMatching(/^reportingComponent: Invalid value: "": name part must consist of/),
      "reportingInstance: Required value",
      'action: Invalid value: "": can have at most 128 characters',
      "reason: Required value",
      'message: Invalid value: "": can have at most 1024 characters',
    ]);
  });

  test("accepts changes of its fields", () => {
    const event = { metadata, involvedObject: { namespace: "default" }, reason: "a" };
    expect(updateErrorsOf(EVENT, event, { ...event, reason: "b" })).toEqual([]);
  });
});

describe("an Event of events.k8s.io", () => {
  test("needs all its required fields and rejects deprecated fields", () => {
    expect(createErrorsOf(EVENTS_GROUP_EVENT, NEW)).toEqual([]);
    const old = { deprecatedCount: 1, deprecatedFirstTimestamp: TIME, deprecatedSource: { host: "h" } };
    expect(
      createErrorsOf(EVENTS_GROUP_EVENT, { metadata, regarding: {}, type: "X", series: { count: 1 }, ...old }),
    ).toEqual([
      'series.count: Invalid value: "": should be at least 2',
      "series.lastObservedTime: Required value",
      "eventTime: Required value",
      'type: Invalid value: "": has invalid value: X',
      'firstTimestamp: Invalid value: "": needs to be unset',
      'count: Invalid value: "": needs to be unset',
      'source: Invalid value: "": needs to be unset',
    ]);
  });

  test("rejects changes of all fields but its series", () => {
    expect(updateErrorsOf(EVENTS_GROUP_EVENT, NEW, { ...NEW, series: { count: 2, lastObservedTime: TIME } })).toEqual(
      [],
    );
    const changes = { regarding: { namespace: "default" }, note: "n", related: { name: "x" }, action: "b" };
    const shown = (name: string): string =>
      `{"Kind":"","Namespace":"${name}","Name":"${name === "" ? "x" : ""}","UID":"","APIVersion":"","ResourceVersion":"","FieldPath":""}`;
    expect(updateErrorsOf(EVENTS_GROUP_EVENT, NEW, { ...NEW, ...changes })).toEqual([
      `involvedObject: Invalid value: ${shown("default")}: field is immutable`,
      'message: Invalid value: "n": field is immutable',
      'action: Invalid value: "b": field is immutable',
      `related: Invalid value: ${shown("")}: field is immutable`,
    ]);
  });
});
