import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  GOYAML_ERRORS,
  GOYAML_REPEATED_KEYS,
  GOYAML_VALUES,
} from "../../../test/testing/objects/yaml/goyaml-results.ts";
import { parseYaml, toYaml, YamlError } from "./yaml.ts";

describe("parseYaml", () => {
  test.each(GOYAML_VALUES)("of %j is %s, as in kube-apiserver", (yaml, json) => {
    expect(JSON.parse(JSON.stringify(parseYaml(yaml).value))).toEqual(JSON.parse(json));
  });

  test.each(GOYAML_ERRORS)("rejects %j with kube-apiserver's message: %s", (yaml, message) => {
    expect(() => parseYaml(yaml)).toThrow(new YamlError(message));
  });

  test.each(GOYAML_REPEATED_KEYS)("of %j reports the duplicate keys %j", (yaml, lines) => {
    expect(parseYaml(yaml).repeatedKeys).toEqual(lines);
  });

  test("treats __proto__ as an ordinary key", () => {
    const { value } = parseYaml("__proto__: {polluted: 1}\nb: {<<: {__proto__: 2}}\n");
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"b":{"__proto__":2}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("sorts fields by name, the order in which kube-apiserver reports errors", () => {
    expect(Object.keys(parseYaml("b: 1\na: 2\nc: 3\n").value as object)).toEqual(["a", "b", "c"]);
  });

  test("reads only the first document", () => {
    expect(parseYaml("a: 1\n---\nb: 2\n").value).toEqual({ a: 1 });
  });
});

describe("hostile YAML:", () => {
  const levels = Array.from(
    "bcdefghij",
    (name, index) => `${name}: &${name} [${Array(9).fill(`*${"abcdefghij"[index]}`).join(",")}]`,
  );

  test.each([
    [
      "lists of lists of aliases",
      ["a: &a [x,x,x,x,x,x,x,x,x]", ...levels].join("\n"),
      "yaml: document contains excessive aliasing",
    ],
    [
      "merges of merges",
      [
        "a0: &a0 {x: 1}",
        ...Array.from({ length: 40 }, (_, index) => `a${index + 1}: &a${index + 1} {<<: [*a${index}, *a${index}]}`),
      ].join("\n"),
      "yaml: document contains excessive aliasing",
    ],
    ["deep brackets", "[".repeat(100_000), "yaml: exceeded max depth"],
    ["deep dashes", "- ".repeat(100_000), "yaml: exceeded max depth"],
    [
      "deeply nested aliases",
      ["a0: &a0 [1]", ...Array.from({ length: 600 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}]`)].join(
        "\n",
      ),
      "yaml: exceeded max depth",
    ],
    ["too many nodes", `[${"1,".repeat(500_001)}]`, "yaml: the document has too many nodes"],
  ])("%s are rejected with an error", (_what, text, message) => {
    expect(() => parseYaml(text)).toThrow(new YamlError(message));
  });

  test("any text is parsed or rejected with a YamlError", () => {
    const pieces = fc.constantFrom(
      "a",
      ":",
      " ",
      "\n",
      "-",
      "[",
      "]",
      "{",
      "}",
      ",",
      "&x",
      "*x",
      "<<",
      "!!int",
      "!!binary",
      "'",
      '"',
      "\\",
      "|",
      ">",
      "#",
      "\t",
      "%",
      "?",
      "1",
      "é",
      "\u0000",
    );
    fc.assert(
      fc.property(
        fc.array(pieces, { maxLength: 40 }).map((parts) => parts.join("")),
        (text) => {
          try {
            JSON.stringify(parseYaml(text).value);
          } catch (thrown) {
            expect(thrown).toBeInstanceOf(YamlError);
          }
        },
      ),
      { numRuns: 2000, seed: 1 },
    );
  });
});

describe("toYaml", () => {
  test("writes text that parses as the same value", () => {
    const wellFormed = fc.string({ unit: "grapheme", maxLength: 20 });
    const tricky = fc.constantFrom(...GOYAML_VALUES.map(([text]) => text.replace(/^k: /, "").trimEnd()));
    const { value } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        fc.oneof(
          wellFormed,
          tricky,
          fc.boolean(),
          fc.constant(null),
          fc.integer(),
          fc.double({ noDefaultInfinity: true, noNaN: true }).map((number) => number + 0),
        ),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.dictionary(
          fc.oneof(fc.stringMatching(/^[-._a-zA-Z0-9]{1,20}$/), fc.constantFrom("y", "1", "null", "010", "yes")),
          tie("value"),
          { maxKeys: 4 },
        ),
      ),
    }));
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-z]{1,8}$/), value, { maxKeys: 3 }), (object) => {
        expect(parseYaml(toYaml(object)).value).toEqual(JSON.parse(JSON.stringify(object)));
      }),
      { numRuns: 500, seed: 1 },
    );
  });

  test.each([
    "yes",
    "n",
    "010",
    "0o10",
    "1e3",
    "2001-12-14",
    "1:30",
    "null",
    "~",
    "",
    "<<",
    "- a",
    "a: b",
    "#a",
    " a",
    "a\n",
    "\u0085",
  ])("keeps the string %j a string", (text) => {
    expect(parseYaml(toYaml({ [text]: text })).value).toEqual({ [text]: text });
  });

  test("sorts fields by name and writes no anchors", () => {
    const shared = { x: 1 };
    expect(toYaml({ b: shared, a: shared })).toBe("a:\n  x: 1\nb:\n  x: 1\n");
  });
});
