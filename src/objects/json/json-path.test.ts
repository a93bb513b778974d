import { describe, expect, test } from "vitest";
import { parseJsonPath, splitFieldPath } from "./json-path.ts";

const OBJECT = {
  metadata: { name: "one", annotations: { "example.com/color": "red" } },
  spec: {
    replicas: 3,
    nothing: null,
    hosts: ["a", "b", "c", "d"],
    ports: [
      { name: "http", port: 80, isOpen: true },
      { name: "(admin)", port: 8080 },
    ],
  },
  status: {
    conditions: [
      { type: "Synced", status: "False" },
      { type: "Ready", status: "True" },
    ],
  },
};

const first = (path: string): unknown => parseJsonPath(path)?.first(OBJECT);

describe("the first value that a path finds", () => {
  test.each([
    [".metadata.name", "one"],
    ["metadata.name", undefined],
    ["$.metadata.name", "one"],
    [".spec.nothing", null],
    [".spec.nothing.more", undefined],
    [".spec.missing", undefined],
    [".metadata.annotations.example\\.com/color", "red"],
    [".metadata.annotations['example\\.com/color']", "red"],
    [".metadata.annotations['example.com/color']", undefined],
    [".metadata['name']", "one"],
    [".metadata.constructor", undefined],
    [".spec.hosts[0]", "a"],
    [".spec.hosts[]", "a"],
    [".spec.hosts[-1]", "d"],
    [".spec.hosts[-2]", "c"],
    [".spec.hosts[4]", undefined],
    [".spec.hosts[-5]", undefined],
    [".spec.hosts[1:3]", "b"],
    [".spec.hosts[1:1]", undefined],
    [".spec.hosts[3:1]", undefined],
    [".spec.hosts[*]", "a"],
    [".spec.hosts[1:4:2]", "b"],
    [".spec.hosts[0:4:0]", undefined],
    [".spec.hosts[2,0]", "c"],
    [".spec.replicas[0]", undefined],
    [".spec.ports[*].port", 80],
    [".spec.ports.*", { name: "http", port: 80, isOpen: true }],
    ["..port", 80],
    ["..conditions[1].status", "True"],
    [".spec..name", "http"],
  ])("for %s is %j", (path, value) => expect(first(path)).toEqual(value));
});

describe("the first value that a filter finds", () => {
  test.each([
    ['.status.conditions[?(@.type=="Ready")].status', "True"],
    [".status.conditions[?(@.type=='Ready')].status", "True"],
    ['.status.conditions[?(@.type == "Ready")].status', "True"],
    ['.status.conditions[?(@.type!="Synced")].status', "True"],
    ['.status.conditions[?(@.type=="Gone")].status', undefined],
    ['.spec.ports[?(@.name=="(admin)")].port', 8080],
    [".spec.ports[?(@.port>80)].name", "(admin)"],
    [".spec.ports[?(@.port<=80)].name", "http"],
    [".spec.ports[?(@.isOpen)].name", "http"],
    [".spec.ports[?(@.isOpen==true)].name", "http"],
    [".spec.ports[?(@.isOpen<true)].name", undefined],
    ['.spec.ports[?(@.port=="80")].name', undefined],
    [".spec.ports[?(@.port=!80)].name", undefined],
    [".spec[?(@.port==80)].name", undefined],
    ['.spec.hosts[?(@=="b")]', "b"],
    ['.spec.hosts[?(@=="\\x62")]', "b"],
  ])("for %s is %j", (path, value) => expect(first(path)).toEqual(value));
});

test.each([
  ".spec.hosts[",
  ".spec.hosts[x]",
  ".spec.hosts[1:2:3:4]",
  ".spec.hosts[99999999999999999999]",
  ".spec....name",
  '.spec["a"]',
  ".spec[?(@.a",
  ".spec[?(@.a==')]",
  ".spec[?(@.a==1)",
  '.spec[?(@.a=="\\q")]',
  ".a}{.b",
  "%",
])("%s does not parse", (path) => expect(parseJsonPath(path)).toBeUndefined());

test("a path with a word such as range finds nothing", () => {
  expect(first(".spec range")).toBeUndefined();
  expect(first(".spec end")).toBeUndefined();
});

test("a path that would visit too many values finds nothing", () => {
  const nested = (depth: number): unknown[] => (depth === 0 ? [] : Array.from({ length: 5 }, () => nested(depth - 1)));
  const items = nested(4);
  expect(parseJsonPath(".items..[*]")!.first({ items })).toEqual(nested(3));
  expect(parseJsonPath(`.items${"..[*]".repeat(20)}`)!.first({ items })).toBeUndefined();
});

test("splitFieldPath returns the names of a path", () => {
  expect(splitFieldPath(".spec.replicas")).toEqual(["spec", "replicas"]);
  expect(splitFieldPath("spec.replicas")).toEqual(["spec", "replicas"]);
});
