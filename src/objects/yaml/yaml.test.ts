import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  GOYAML_ERRORS,
  GOYAML_REPEATED_KEYS,
  GOYAML_VALUES,
} from "../../../test/testing/objects/yaml/goyaml-answers.ts";
import { parseYaml, toYaml, YamlError } from "./yaml.ts";

describe("reading YAML", () => {
  test.each(GOYAML_VALUES)("%j is %s, as for kube-apiserver", (yaml, json) => {
    expect(JSON.parse(JSON.stringify(parseYaml(yaml).value))).toEqual(JSON.parse(json));
  });

  test.each(GOYAML_ERRORS)("%j is refused in kube-apiserver's words: %s", (yaml, message) => {
    expect(() => parseYaml(yaml)).toThrow(new YamlError(message));
  });

  test.each(GOYAML_REPEATED_KEYS)("the keys that stand twice in %j are told: %j", (yaml, lines) => {
    expect(parseYaml(yaml).repeatedKeys).toEqual(lines);
  });

  test("a key called __proto__ is a member and nothing else", () => {
    const { value } = parseYaml("__proto__: {polluted: 1}\nb: {<<: {__proto__: 2}}\n");
    expect(JSON.stringify(value)).toBe('{"__proto__":{"polluted":1},"b":{"__proto__":2}}');
    expect(({} as Record<string, unknown>)["polluted"]).toBeUndefined();
  });

  test("members come in the order of their names, in which kube-apiserver complains about them", () => {
    expect(Object.keys(parseYaml("b: 1\na: 2\nc: 3\n").value as object)).toEqual(["a", "b", "c"]);
  });

  test("only the first document is read", () => {
    expect(parseYaml("a: 1\n---\nb: 2\n").value).toEqual({ a: 1 });
  });
});

describe("hostile YAML", () => {
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
      "aliases that nest deeper than any text",
      ["a0: &a0 [1]", ...Array.from({ length: 600 }, (_, index) => `a${index + 1}: &a${index + 1} [*a${index}]`)].join(
        "\n",
      ),
      "yaml: exceeded max depth",
    ],
    ["more nodes than memory should be spent on", `[${"1,".repeat(500_001)}]`, "yaml: the document has too many nodes"],
  ])("%s end in an error", (_what, text, message) => {
    expect(() => parseYaml(text)).toThrow(new YamlError(message));
  });

  test("any text is read or refused, and nothing else is thrown", () => {
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

describe("writing YAML", () => {
  test("what is written reads as the same value", () => {
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
  ])("the text %j stays text", (text) => {
    expect(parseYaml(toYaml({ [text]: text })).value).toEqual({ [text]: text });
  });

  test("members are written in the order of their names, without anchors", () => {
    const shared = { x: 1 };
    expect(toYaml({ b: shared, a: shared })).toBe("a:\n  x: 1\nb:\n  x: 1\n");
  });
});
