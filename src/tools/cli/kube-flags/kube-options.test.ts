import { Command } from "commander";
import { expect, test } from "vitest";
import { ignored, implemented, rejected, type FlagSection } from "./flag-handling.ts";
import { fromGoArguments } from "./go-arguments.ts";
import { arityIn, findingsIn, withKubeFlags, type FlagFindings } from "./kube-options.ts";

const SECTIONS: readonly FlagSection[] = [
  {
    title: "First",
    flags: {
      "known-flag": implemented(),
      "one-webhook": ignored("duration", "no webhook is called"),
      "other-webhook": ignored("integer", "no webhook is called", "0"),
      "all-numbers": ignored("number", "numbers are not counted"),
      "some-names": ignored("list", "names are not checked"),
    },
  },
  {
    title: "Second",
    flags: {
      "issuer-url": rejected("text", "no issuer is trusted", ""),
      mirrored: rejected("boolean", "no mirror", "false"),
      help: implemented(),
    },
  },
];

function command(): Command {
  const bare = new Command("serve")
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .option("--own <value>", "a flag of Evenkeel")
    .option("--known-flag <value>", "a flag of kube-apiserver");
  return withKubeFlags(bare, SECTIONS);
}

function findings(...args: readonly string[]): FlagFindings {
  const parsed = command();
  parsed.parse(fromGoArguments(args, arityIn(parsed)), { from: "user" });
  return findingsIn(parsed, SECTIONS);
}

test("flags that are not set, or set to values that the server honors, are not reported", () => {
  const none = { withoutEffect: new Map(), errors: [] };
  expect(findings("--known-flag", "x", "--own=y")).toEqual(none);
  expect(findings("--other-webhook=00", "--issuer-url=", "--mirrored=F")).toEqual(none);
});

test("ignored flags are reported once for each reason", () => {
  expect(findings("--one_webhook", "90s", "--other-webhook=-1", "--some-names=a,b", "--some-names", "c")).toEqual({
    withoutEffect: new Map([
      ["no webhook is called", ["--one-webhook=90s", "--other-webhook=-1"]],
      ["names are not checked", ["--some-names=a,b,c"]],
    ]),
    errors: [],
  });
});

test("every rejected flag is reported with its value and the reason", () => {
  expect(findings("--issuer-url", "https://a.example", "--mirrored").errors).toEqual([
    "--issuer-url=https://a.example is not supported: no issuer is trusted",
    "--mirrored=true is not supported: no mirror",
  ]);
});

test.each([
  ["--one-webhook=soon", '"soon" is not a duration'],
  ["--other-webhook=1.5", '"1.5" is not a whole number'],
  ["--all-numbers=many", '"many" is not a number'],
  ["--mirrored=maybe", '"maybe" is not true or false'],
])("%s is an error, although the server ignores or rejects the flag", (flag, message) => {
  expect(() => findings(flag)).toThrow(message);
});

test("the help shows the flags that the server implements, in their sections, and its own flags last", () => {
  const shown = command().helpInformation();
  expect(shown.match(/^(?:\S.* flags|Flags of \w+):|--\S+/gm)).toEqual([
    ...["First flags:", "--known-flag", "Second flags:", "--help", "Flags of Evenkeel:", "--own"],
  ]);
});
