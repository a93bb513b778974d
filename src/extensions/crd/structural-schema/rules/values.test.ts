/** Tests how CEL rules see the values of an object; every rule below must hold. */
import { expect, test } from "vitest";
import type { JsonObject } from "../../../../meta/json.ts";
import { parseStructural } from "../parse.ts";
import { compileRules } from "./compile.ts";
import { schemaRuleErrors } from "./evaluate.ts";

const LIST = { type: "array", items: { type: "string" } };
const ITEM = { type: "object", properties: { k: { type: "string" }, v: { type: "integer" } } };
const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    "a-b": { type: "integer" },
    "a.b": { type: "integer" },
    "a/b": { type: "integer" },
    a__b: { type: "integer" },
    namespace: { type: "integer" },
    time: { type: "string", format: "date-time" },
    day: { type: "string", format: "date" },
    long: { type: "string", format: "duration" },
    bytes: { type: "string", format: "byte" },
    number: { type: "number" },
    either: { "x-kubernetes-int-or-string": true },
    nothing: { type: "string", nullable: true },
    nothings: { type: "object", additionalProperties: { type: "string", nullable: true } },
    list: LIST,
    other: LIST,
    set: { ...LIST, "x-kubernetes-list-type": "set" },
    otherSet: { ...LIST, "x-kubernetes-list-type": "set" },
    map: { type: "array", items: ITEM, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"] },
  },
};
const OBJECT = {
  "a-b": 1,
  "a.b": 2,
  "a/b": 3,
  a__b: 4,
  namespace: 5,
  time: "2023-01-02T03:04:05Z",
  day: "2023-01-02",
  long: "1h30m",
  bytes: "aGVsbG8=",
  number: 1,
  either: "50%",
  nothing: null,
  nothings: { a: null },
  list: ["a", "b"],
  other: ["b", "a"],
  set: ["a", "b"],
  otherSet: ["b", "a"],
  map: [
    { k: "x", v: 1 },
    { k: "y", v: 2 },
  ],
};

const EXISTING = { ...OBJECT, map: OBJECT.map.toReversed() };

test.each([
  "self.a__dash__b == 1",
  "self.a__dot__b == 2",
  "self.a__slash__b == 3",
  "self.a__underscores__b == 4",
  "self.__namespace__ == 5",
  "self.namespace == 5",
  "self.time == timestamp('2023-01-02T03:04:05Z')",
  "self.day.getDayOfYear() == 1",
  "self.long == duration('90m')",
  "self.bytes == b'hello'",
  "self.number == 1.0",
  "type(self.either) == string && self.either.endsWith('%')",
  "!has(self.nothing)",
  "has(self.nothings.a)",
  "self.list != self.other",
  "self.set == self.otherSet && (self.set + self.otherSet).size() == 2",
  "self.map == oldSelf.map && (self.map + oldSelf.map).map(e, e.k) == ['x', 'y']",
  "self.?list[?5].orValue('none') == 'none'",
  "self.list.exists(x, x in self.set)",
  "self == self",
])("the rule %s holds", (rule) => {
  const schema = { ...SCHEMA, "x-kubernetes-validations": [{ rule }] };
  const rules = compileRules(parseStructural(schema), false);
  if (rules === undefined) throw new Error("no rules");
  const input = { rules, object: OBJECT, existing: EXISTING, path: "root", isRatcheting: false };
  expect([...schemaRuleErrors(input)]).toEqual([]);
});
