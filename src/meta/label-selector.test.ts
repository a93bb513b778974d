import { describe, expect, test } from "vitest";
import { MATCHES_ALL_LABELS, parseLabelSelector, SelectorError, type Labels } from "./label-selector.ts";

/** Kubernetes' error message for each selector. */
const SENTENCES: readonly (readonly [text: string, sentence: string])[] = [
  ["a in in", "unable to parse requirement: found 'in' expected: '('"],
  [
    "a>b",
    "unable to parse requirement: values[0]: Invalid value: \"b\": for 'Gt', 'Lt' operators, the value must be an integer",
  ],
  [
    "a>",
    "unable to parse requirement: values[0]: Invalid value: \"\": for 'Gt', 'Lt' operators, the value must be an integer",
  ],
  [
    "a>-1",
    "unable to parse requirement: values[0][a]: Invalid value: \"-1\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    "a>+1",
    "unable to parse requirement: values[0][a]: Invalid value: \"+1\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  [
    "a>99999999999999999999",
    "unable to parse requirement: values[0]: Invalid value: \"99999999999999999999\": for 'Gt', 'Lt' operators, the value must be an integer",
  ],
  [
    "a>1.5",
    "unable to parse requirement: values[0]: Invalid value: \"1.5\": for 'Gt', 'Lt' operators, the value must be an integer",
  ],
  ["a in b", "unable to parse requirement: found 'b' expected: '('"],
  ["a in", "unable to parse requirement: found '' expected: '('"],
  ["a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
  ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
  ["a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"],
  ["a in (=)", "unable to parse requirement: found '=', expected: ',', ')' or identifier"],
  ["a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"],
  ["a in (!)", "unable to parse requirement: found '!', expected: ',', ')' or identifier"],
  ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ["a b c", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
  ["a=b c", "found 'c', expected: ',' or 'end of string'"],
  ["a=b,", "found '', expected: identifier after ','"],
  ["a=b,,c", "found ',', expected: identifier after ','"],
  [",a", "found ',', expected: !, identifier, or 'end of string'"],
  ["=a", "found '=', expected: !, identifier, or 'end of string'"],
  ["=", "found '=', expected: !, identifier, or 'end of string'"],
  ["==", "found '==', expected: !, identifier, or 'end of string'"],
  ["!", "unable to parse requirement: found '', expected: identifier"],
  ["!!a", "unable to parse requirement: found '!', expected: identifier"],
  ["!a=b", "found '=', expected: ',' or 'end of string'"],
  ["!=a", "found '!=', expected: !, identifier, or 'end of string'"],
  ["!a in (b)", "found 'in', expected: ',' or 'end of string'"],
  ["a=(b)", "unable to parse requirement: found '(', expected: identifier"],
  ["a=!", "unable to parse requirement: found '!', expected: identifier"],
  ["a=b=c", "found '=', expected: ',' or 'end of string'"],
  ["a!b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
  ["a!", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
  ["(a)", "found '(', expected: !, identifier, or 'end of string'"],
  [")", "found ')', expected: !, identifier, or 'end of string'"],
  ["a)", "unable to parse requirement: found ')', expected: in, notin, =, ==, !=, gt, lt"],
  ["a,)", "found ')', expected: identifier after ','"],
  ["a,=", "found '=', expected: identifier after ','"],
  ["a(", "unable to parse requirement: found '(', expected: in, notin, =, ==, !=, gt, lt"],
  ["a notin b", "unable to parse requirement: found 'b' expected: '('"],
  ["a !b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
  [
    "a/b/c",
    "unable to parse requirement: <nil>: Invalid value: \"a/b/c\": a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')",
  ],
  ["/a", 'unable to parse requirement: <nil>: Invalid value: "/a": prefix part must be non-empty'],
  [
    "a/",
    "unable to parse requirement: <nil>: Invalid value: \"a/\": name part must be non-empty; name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    "A.b/c",
    "unable to parse requirement: <nil>: Invalid value: \"A.b/c\": prefix part a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
  ],
  [
    "-a",
    "unable to parse requirement: <nil>: Invalid value: \"-a\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    "a-",
    "unable to parse requirement: <nil>: Invalid value: \"a-\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    "a=-b",
    "unable to parse requirement: values[0][a]: Invalid value: \"-b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  ["a=b c", "found 'c', expected: ',' or 'end of string'"],
  [
    `a=${"x".repeat(64)}`,
    `unable to parse requirement: values[0][a]: Invalid value: "${"x".repeat(64)}": must be no more than 63 bytes`,
  ],
  [
    "x".repeat(64),
    `unable to parse requirement: <nil>: Invalid value: "${"x".repeat(64)}": name part must be no more than 63 bytes`,
  ],
  [
    `${"x".repeat(254)}/a`,
    `unable to parse requirement: <nil>: Invalid value: "${"x".repeat(254)}/a": prefix part must be no more than 253 bytes`,
  ],
  [
    "a in (-b,c,+d)",
    "unable to parse requirement: [values[0][a]: Invalid value: \"+d\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?'), values[1][a]: Invalid value: \"-b\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')]",
  ],
  [
    "a in (z,-)",
    "unable to parse requirement: values[0][a]: Invalid value: \"-\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  ["a=b\tin", "found 'in', expected: ',' or 'end of string'"],
  [
    "\u00e9",
    "unable to parse requirement: <nil>: Invalid value: \"\u00e9\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    "a=\u00e9",
    "unable to parse requirement: values[0][a]: Invalid value: \"\u00e9\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
  ["x in (a", "unable to parse requirement: found '', expected: ',' or ')'"],
  [
    "a~b",
    "unable to parse requirement: <nil>: Invalid value: \"a~b\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  ["a in (b)c", "found 'c', expected: ',' or 'end of string'"],
  [
    '"a"',
    "unable to parse requirement: <nil>: Invalid value: \"\\\"a\\\"\": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')",
  ],
  [
    'a="b"',
    "unable to parse requirement: values[0][a]: Invalid value: \"\\\"b\\\"\": a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')",
  ],
];

const VALID: readonly string[] = [
  "",
  "a",
  "!a",
  " ! a ",
  "a=b",
  "a==b",
  "a!=b",
  "a = b",
  "a=",
  "a==",
  "a!=",
  "a in (b)",
  "a notin (b)",
  "a in (b,c)",
  "a in ()",
  "a notin ()",
  "a in (,)",
  "a in (b,)",
  "a in (,b)",
  "a in (b,,c)",
  "a in (b,,)",
  "a in (,,)",
  "a in (,,b)",
  "in in (in)",
  "notin",
  "in",
  "in=notin",
  "a=in",
  "a>1",
  "a<1",
  "a,b",
  "a\n=\rb",
  "a in (b,a,b)",
  "a>1,a<5",
  "a=b,!c,d in (e,f)",
  "a>1,b",
  "a,a",
];

describe("parseLabelSelector", () => {
  test.each(SENTENCES)("rejects %j with Kubernetes' message", (text, sentence) => {
    expect(() => parseLabelSelector(text)).toThrow(new SelectorError(sentence));
  });

  test.each(VALID)("parses %j", (text) => {
    expect(parseLabelSelector(text)).toBeTypeOf("function");
  });

  test("an empty selector matches everything", () => {
    expect(parseLabelSelector("")).toBe(MATCHES_ALL_LABELS);
    expect(parseLabelSelector(" \t\r\n")).toBe(MATCHES_ALL_LABELS);
  });

  test("parses a selector of one megabyte", () => {
    const values = Array.from({ length: 100_000 }, (_, index) => `v${index}`).join(",");
    expect(parseLabelSelector(`a in (${values})`)({ a: "v99999" })).toBe(true);
  });
});

describe("a selector", () => {
  const rows: readonly (readonly [text: string, labels: Labels, isMatch: boolean])[] = [
    ["a", { a: "" }, true],
    ["a", {}, false],
    ["!a", {}, true],
    ["!a", { a: "1" }, false],
    ["a=1", { a: "1" }, true],
    ["a=1", {}, false],
    ["a=", { a: "" }, true],
    ["a=", {}, false],
    ["a!=1", { a: "2" }, true],
    ["a!=1", {}, true],
    ["a!=1", { a: "1" }, false],
    ["a in (1,2)", { a: "2" }, true],
    ["a in (1,2)", {}, false],
    ["a in ()", { a: "" }, true],
    ["a in ()", {}, false],
    ["a in (1,)", { a: "" }, true],
    ["a in (1,,)", { a: "" }, true],
    ["a notin (1,2)", { a: "3" }, true],
    ["a notin (1,2)", { a: "1" }, false],
    ["a notin (1,2)", {}, true],
    ["a notin ()", { a: "" }, false],
    ["in in (in)", { in: "in" }, true],
    ["a>1", { a: "2" }, true],
    ["a>1", { a: "1" }, false],
    ["a>1", { a: "x" }, false],
    ["a>1", {}, false],
    ["a<1", { a: "-5" }, true],
    ["a<1", {}, false],
    ["a>9007199254740992", { a: "9007199254740993" }, true],
    ["a<9223372036854775807", { a: "9223372036854775808" }, false],
    ["a>1", { a: "9".repeat(100) }, false],
    ["a=1,b", { a: "1", b: "" }, true],
    ["a=1,b", { a: "1" }, false],
    ["a>1,a<5", { a: "3" }, true],
    ["a>1,a<5", { a: "5" }, false],
  ];
  test.each(rows)("%s matches the labels %j: %s", (text, labels, isMatch) => {
    expect(parseLabelSelector(text)(labels)).toBe(isMatch);
  });

  test.each(["constructor", "toString", "hasOwnProperty", "valueOf"])(
    "on the key %s matches only an own label of the object",
    (key) => {
      expect(parseLabelSelector(key)({})).toBe(false);
      expect(parseLabelSelector(`!${key}`)({})).toBe(true);
      expect(parseLabelSelector(`${key} notin (x)`)({})).toBe(true);
      expect(parseLabelSelector(`${key}=x`)({ [key]: "x" })).toBe(true);
    },
  );

  test("matches no label whose value is not a string", () => {
    const labels = { a: 2, b: null, c: {} } as unknown as Labels;
    expect(parseLabelSelector("a>1")(labels)).toBe(false);
    expect(parseLabelSelector("a=2")(labels)).toBe(false);
    expect(parseLabelSelector("b in (null)")(labels)).toBe(false);
    expect(parseLabelSelector("c")(labels)).toBe(true);
  });
});
