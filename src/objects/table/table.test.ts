import { describe, expect, test } from "vitest";
import { storedTables } from "../catalog/data-files.ts";
import { RELEASES } from "../catalog/release.ts";
import { tableColumns } from "../catalog/table-columns.ts";
import type { JsonObject } from "../../meta/json.ts";
import { tableRenderer } from "./table.ts";
import { gatesOf, NEWEST_GATES } from "../catalog/release-gates.ts";
import { NOW, rendererOf, rowOf, secondsAgo } from "../../../test/testing/objects/table/rows.ts";

const kinds = Object.keys(storedTables().kinds);

test("the columns of a table are those of the release, with descriptions of this project", () => {
  const { columns } = rendererOf("/Pod");
  expect(columns[0]).toEqual({
    name: "Name",
    type: "string",
    format: "name",
    description: "Name of the object",
    priority: 0,
  });
  expect(columns.map(({ name, priority }) => `${name} ${priority}`)).toEqual([
    ...["Name 0", "Ready 0", "Status 0", "Restarts 0", "Age 0"],
    ...["IP 1", "Node 1", "Nominated Node 1", "Readiness Gates 1"],
  ]);
});

test.each(kinds)("every column of %s has a cell in every release", (key) => {
  for (const release of RELEASES) {
    const { columns, cells } = rendererOf(key, release);
    const row = cells({ metadata: { name: "x" } }, NOW);
    const extra = key === "networking.k8s.io/IPAddress" ? 1 : 0;
    expect(row, release).toHaveLength(columns.length + extra);
    expect(row, release).not.toContain(null);
  }
});

test("a kind without columns of its own shows its name and creation time", () => {
  const renderer = rendererOf("example.com/Widget");
  expect(renderer.columns.map(({ name, type }) => [name, type])).toEqual([
    ["Name", "string"],
    ["Created At", "date"],
  ]);
  expect(rowOf("example.com/Widget", {})).toEqual(["x", "2026-03-10T11:00:00Z"]);
  expect(renderer.cells({}, NOW)).toEqual(["", "0001-01-01T00:00:00Z"]);
});

test("a kind with the name of a prototype property has no printer", () => {
  const columns = tableColumns("1.36", "", "ConfigMap");
  expect(tableRenderer({ group: "", kind: "constructor", columns, gates: NEWEST_GATES }).cells({}, NOW)).toEqual([
    "",
    null,
    "<unknown>",
  ]);
});

test("the Status of a failed request is also rendered as a table", () => {
  const status = { status: "Failure", reason: "NotFound", message: "gone" };
  expect(rendererOf("meta.k8s.io/Status").cells(status, NOW)).toEqual(["Failure", "NotFound", "gone"]);
});

test("the cells of a row depend on the gates of the release", () => {
  const columns = tableColumns("1.36", "", "Node");
  const object = { status: { nodeInfo: { kernelVersion: "6", architecture: "arm64" } } };
  expect(tableRenderer({ group: "", kind: "Node", columns, gates: NEWEST_GATES }).cells(object, NOW)).toContain(
    "6 (arm64)",
  );
  expect(tableRenderer({ group: "", kind: "Node", columns, gates: gatesOf("1.30") }).cells(object, NOW)).toContain("6");
});

describe("an age", () => {
  test.each([
    [undefined, "<unknown>"],
    [null, "<unknown>"],
    ["", "<unknown>"],
    ["0001-01-01T00:00:00Z", "<unknown>"],
    ["yesterday", "<unknown>"],
    ["10", "<unknown>"],
    ["2026-99-99T00:00:00Z", "<unknown>"],
    [12, "<unknown>"],
    [secondsAgo(0), "0s"],
    [secondsAgo(-1), "0s"],
    [secondsAgo(-10), "<invalid>"],
    ["2026-03-10T14:00:00.000001+02:00", "0s"],
    [secondsAgo(5 * 86_400 + 7_200), "5d2h"],
  ])("of %j is %s", (creationTimestamp, age) => {
    expect(rendererOf("/ConfigMap").cells({ metadata: { creationTimestamp } }, NOW)[2]).toBe(age);
  });
});

describe("a malformed object", () => {
  const junk: readonly unknown[] = [
    null,
    7,
    -1.5,
    "text",
    true,
    [],
    [null],
    [7],
    [[]],
    {},
    { "": null },
    Number.MAX_VALUE,
  ];
  /** The names of fields that printers read, at any depth. */
  const names = [
    ...["metadata", "spec", "status", "conditions", "template", "containers", "initContainers", "ports", "addresses"],
    ...[
      "subsets",
      "endpoints",
      "rules",
      "metrics",
      "currentMetrics",
      "resource",
      "target",
      "pod",
      "labels",
      "selector",
    ],
    ...["matchLabels", "matchExpressions", "values", "hard", "used", "storage", "capacity", "accessModes", "series"],
    ...["containerStatuses", "initContainerStatuses", "state", "terminated", "waiting", "lastState", "ownerReferences"],
    ...["data", "binaryData", "subjects", "webhooks", "paramRef", "limited", "limitResponse", "queuing", "nodeInfo"],
    ...["startTime", "completionTime", "creationTimestamp", "deletionTimestamp", "targetResponders", "responders"],
    ...["__proto__", "constructor", "type", "reason", "name", "key", "operator", "poolCount", "pools", "loadBalancer"],
  ];

  function filled(value: unknown, depth: number): JsonObject {
    const child = depth === 0 ? value : filled(value, depth - 1);
    return JSON.parse(
      JSON.stringify(Object.fromEntries(names.map((name) => [name, depth % 2 === 0 ? child : [child]]))),
    ) as JsonObject;
  }

  test.each(junk)("is rendered even if its fields are %j", (value) => {
    const objects = [
      ...[0, 1].map((depth) => filled(value, depth)),
      { metadata: value, spec: value, status: value, data: value, webhooks: value } as JsonObject,
      { metadata: filled(value, 0), spec: filled(value, 0), status: filled(value, 0) },
      { metadata: filled(value, 0), spec: filled(value, 1), status: filled(value, 1) },
    ];
    for (const key of kinds) {
      const { cells, conditions } = rendererOf(key);
      for (const object of objects) {
        for (const cell of cells(object, NOW)) expect(["string", "number", "boolean"]).toContain(typeof cell);
        conditions?.(object);
      }
    }
  });
});
