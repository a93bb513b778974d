import { expect, test } from "vitest";
import { serveCommand } from "../serve.ts";
import { argumentProblems } from "./argument-problems.ts";
import { REMOVED_FLAGS } from "./flag-table.ts";
import { fromGoArguments } from "./go-arguments.ts";
import { arityIn } from "./kube-options.ts";

function problems(...args: readonly string[]): readonly string[] {
  const serve = serveCommand();
  return argumentProblems(fromGoArguments(args, arityIn(serve)), serve, REMOVED_FLAGS);
}

test("valid arguments have no problems", () => {
  expect(problems("--secure-port", "0", "--anonymous-auth=false", "--profiling", "-v", "2", "--")).toEqual([]);
});

test("every invalid argument is described, in the order of the arguments", () => {
  expect(
    problems("--request-timeout=soon", "--kubelet_port", "x", "--nonsense", "--log-level=loud", "y", "--secure-port"),
  ).toEqual([
    '--request-timeout=soon is invalid: "soon" is not a duration such as 30s, 5m or 1h0m0s',
    '--kubelet-port=x is invalid: "x" is not a whole number',
    "unknown flag --nonsense",
    "--log-level=loud is invalid: Allowed choices are debug, info, warn, error",
    "y is not a flag: the command has no other arguments; the value of a boolean flag follows =, as in --anonymous-auth=false",
    "--secure-port needs a value: --secure-port <port>",
  ]);
});

test.each([
  ["--authorisation-mode=RBAC", "--authorization-mode"],
  ["--tls-min-versoin", "--tls-min-version"],
  ["--oidc-isuer-url=https://a.example", "--oidc-issuer-url"],
])("the unknown flag %s has the suggestion %s", (arg, suggestion) => {
  const [name] = arg.split("=", 1);
  expect(problems(arg)).toEqual([`unknown flag ${name}, did you mean ${suggestion}?`]);
});

test("a flag that kube-apiserver has removed is reported with the release that removed it", () => {
  expect(problems("--cloud-provider=external")).toEqual([
    "unknown flag --cloud-provider: kube-apiserver removed it in 1.33; remove it here, too",
  ]);
});

test("a value with a line break or of great length is one short line", () => {
  const [problem = ""] = problems(`--bind-address=\n${"x".repeat(100_000)}`);
  expect(problem).toMatch(/^--bind-address=\?x{199} is invalid: [^\n]{1,400}$/);
});
