import { expect, test } from "vitest";
import { enabledControllers, standingBack } from "./enabled-controllers.ts";

const KNOWN = ["garbage", "namespace", "tokens"];
const OFF = new Set(["tokens"]);

test.each([
  [[], []],
  [["*"], ["garbage", "namespace"]],
  [["*,tokens"], ["garbage", "namespace", "tokens"]],
  [["tokens,*"], ["garbage", "namespace", "tokens"]],
  [
    ["*", "tokens"],
    ["garbage", "namespace", "tokens"],
  ],
  [["*,-garbage"], ["namespace"]],
  [["auto"], ["garbage", "namespace"]],
  [["auto,-garbage"], ["namespace"]],
  [["-garbage,*"], ["namespace"]],
  [["-garbage"], []],
  [["namespace"], ["namespace"]],
  [[" namespace , tokens "], ["namespace", "tokens"]],
  [["*,-tokens"], ["garbage", "namespace"]],
  [["garbage,-garbage"], ["garbage"]],
  [["-garbage", "garbage,*"], ["namespace"]],
  [[""], []],
  [[","], []],
])("--controllers %j enables %j", (flags, names) => {
  expect([...enabledControllers(flags, KNOWN, OFF)]).toEqual(names);
});

test('"*" enables all known controllers if none is off by default', () => {
  expect([...enabledControllers(["*"], KNOWN)]).toEqual(KNOWN);
});

test.each(["gc", "-gc", "--garbage", "Garbage", "**"])(
  "a list with %s is rejected, and the error lists the known controllers",
  (flag) => {
    const name = flag.replace(/^-/, "");
    expect(() => enabledControllers([`*,${flag}`], KNOWN)).toThrow(
      `"${name}" is not a known controller: use one of garbage, namespace, tokens`,
    );
  },
);

test.each([
  [["*"], []],
  [["garbage"], []],
  [["auto"], ["garbage", "namespace"]],
  [["auto,garbage"], ["namespace"]],
  [["auto,-garbage"], ["namespace"]],
  [
    ["*", "auto"],
    ["garbage", "namespace"],
  ],
])("with --controllers %j, %j stand back", (flags, names) => {
  const enabled = enabledControllers(flags, KNOWN);
  expect([...standingBack(flags, ["garbage", "namespace"], enabled)]).toEqual(names);
});
