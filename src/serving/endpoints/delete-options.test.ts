import { expect, test } from "vitest";

import { checkedDeleteOptions } from "./delete-options.ts";

const STRUCT = String.raw`struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }`;
const UNREADABLE = "couldn't get version/kind; json parse error: json: cannot unmarshal";
const SCHEME = '"k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27"';

test.each([
  [[], `${UNREADABLE} array into Go value of type ${STRUCT}`],
  ["x", `${UNREADABLE} string into Go value of type ${STRUCT}`],
  [{ kind: 5 }, `${UNREADABLE} number into Go struct field .kind of type string`],
  [{ kind: "Bogus" }, `no kind "Bogus" is registered for version "meta.k8s.io/v1" in scheme ${SCHEME}`],
  [{ kind: "Pod", apiVersion: "v1" }, `no kind "Pod" is registered for version "v1" in scheme ${SCHEME}`],
  [{ gracePeriodSeconds: "x" }, "DeleteOptions.gracePeriodSeconds of type int64"],
  [{ gracePeriodSeconds: 1.5 }, "cannot unmarshal number 1.5 into"],
  [{ orphanDependents: 1 }, "cannot unmarshal number into Go struct field DeleteOptions.orphanDependents of type bool"],
  [{ propagationPolicy: 5 }, "DeleteOptions.propagationPolicy of type v1.DeletionPropagation"],
  [{ dryRun: "All" }, "DeleteOptions.dryRun of type []string"],
  [{ dryRun: [5] }, "DeleteOptions.dryRun of type string"],
  [{ preconditions: "x" }, "DeleteOptions.preconditions of type v1.Preconditions"],
  [{ preconditions: { uid: 5 } }, "Preconditions.preconditions.uid of type types.UID"],
  [{ preconditions: { resourceVersion: 5 } }, "Preconditions.preconditions.resourceVersion of type string"],
])("DeleteOptions %j are rejected", (body, message) => {
  expect(() => checkedDeleteOptions(body)).toThrow(message);
});

test.each([null, {}, { kind: "DeleteOptions", bogus: 1 }, { preconditions: { uid: "x" }, dryRun: ["All"] }])(
  "DeleteOptions %j are accepted",
  (body) => {
    expect(checkedDeleteOptions(body)).toEqual(body ?? {});
  },
);
