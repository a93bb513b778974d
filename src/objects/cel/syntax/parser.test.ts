/** Tests the messages about expressions that cannot be parsed. */
import { expect, test } from "vitest";
import { evaluated } from "../../../../test/testing/objects/cel/evaluated.ts";

const STARTS =
  "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}";

test.each([
  ["1 ==", `ERROR: <input>:1:5: Syntax error: mismatched input '<EOF>' expecting ${STARTS}\n | 1 ==\n | ....^`],
  ["1)", "ERROR: <input>:1:2: Syntax error: extraneous input ')' expecting <EOF>\n | 1)\n | .^"],
  ["(1", "ERROR: <input>:1:3: Syntax error: missing ')' at '<EOF>'\n | (1\n | ..^"],
  ["((1)", "ERROR: <input>:1:5: Syntax error: missing ')' at '<EOF>'\n | ((1)\n | ....^"],
  ["[1, 2", "ERROR: <input>:1:6: Syntax error: mismatched input '<EOF>' expecting {']', ','}\n | [1, 2\n | .....^"],
  ["1 #", "ERROR: <input>:1:3: Syntax error: token recognition error at: '#'\n | 1 #\n | ..^"],
  ["a..b", "ERROR: <input>:1:3: Syntax error: no viable alternative at input '..'\n | a..b\n | ..^"],
  ["if", "ERROR: <input>:1:1: reserved identifier: if\n | if\n | ^"],
  ["9223372036854775808", "ERROR: <input>:1:1: invalid int literal\n | 9223372036854775808\n | ^"],
  ["1e1000", "ERROR: <input>:1:1: invalid double literal\n | 1e1000\n | ^"],
  ["'\\udfff'", "ERROR: <input>:1:1: invalid unicode code point\n | '\\udfff'\n | ^"],
  ["[1].all(2, true)", "ERROR: <input>:1:9: argument must be a simple name\n | [1].all(2, true)\n | ........^"],
  ["has(1)", "ERROR: <input>:1:5: invalid argument to has() macro\n | has(1)\n | ....^"],
  ["'é' + x", "ERROR: <input>:1:7: undeclared reference to 'x' (in container '')\n | 'é' + x\n | .．....^"],
  ["1 +\n  x", "ERROR: <input>:2:3: undeclared reference to 'x' (in container '')\n |   x\n | ..^"],
  [
    "true ? 1 ? 2 : 3 : 4",
    "ERROR: <input>:1:10: Syntax error: mismatched input '?' expecting ':'\n | true ? 1 ? 2 : 3 : 4\n | .........^",
  ],
])("%j is rejected with cel-go's message", (expression, issues) => {
  expect(evaluated(expression).value).toBe(issues);
});

test.each([
  ["brackets", `${"(".repeat(250)}true${")".repeat(250)}`, "expression recursion limit exceeded: 250"],
  ["operators", `1${"+1".repeat(251)}`, "max recursion depth exceeded"],
  ["fields", `a${".a".repeat(251)}`, "max recursion depth exceeded"],
  ["characters", `'${"a".repeat(100_000)}'`, "expression code point size exceeds limit: size: 100002, limit 100000"],
])("an expression with too many %s is rejected", (_what, expression, issue) => {
  expect(evaluated(expression).value).toBe(`ERROR: <input>:-1:0: ${issue}`);
});

test.each([
  ["brackets", `${"(".repeat(249)}true${")".repeat(249)}`],
  ["operators", `1${"+1".repeat(250)} > 0`.replace(" > 0", "")],
  ["conditions", `true${" && true".repeat(10_000)}`],
  ["negations", `${"!".repeat(50_000)}true`],
])("an expression with many %s is accepted", (_what, expression) => {
  expect(evaluated(expression).value).not.toContain("ERROR");
});

test("comments and all forms of string literals are parsed", () => {
  const expression = `'a' + "b" + r'\\' + '''c
d''' + """e""" + '\\x41\\u00e9\\U0001F600\\101' // the rest`;
  expect(evaluated(expression).value).toBe("ab\\c\nde" + "A\u00e9\u{1F600}A");
});
