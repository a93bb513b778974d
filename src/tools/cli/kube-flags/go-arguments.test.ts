import { expect, test } from "vitest";
import { fromGoArguments, type ArityOf } from "./go-arguments.ts";

const KNOWN: Readonly<Record<string, "boolean" | "value">> = {
  "--profiling": "boolean",
  "--help": "boolean",
  "--secure-port": "value",
  "--v": "value",
};
const arityOf: ArityOf = (name) => KNOWN[name];

test.each([
  [["--secure-port", "1"], ["--secure-port=1"]],
  [["--secure-port=1"], ["--secure-port=1"]],
  [["--secure-port="], ["--secure-port="]],
  [["--secure-port", "--profiling"], ["--secure-port=--profiling"]],
  [["--secure-port=a=b\nc"], ["--secure-port=a=b\nc"]],
  [["--secure-port"], ["--secure-port"]],
  [["--secure_port", "1"], ["--secure-port=1"]],
  [["--profiling"], ["--profiling=true"]],
  [["--profiling=false"], ["--profiling=false"]],
  [
    ["--profiling", "false"],
    ["--profiling=true", "false"],
  ],
  [["-v", "4"], ["--v=4"]],
  [["-v=4"], ["--v=4"]],
  [["-v4"], ["--v=4"]],
  [["-h"], ["--help"]],
  [["--help=true"], ["--help"]],
  [["--help=false"], []],
  [
    ["-x", "1"],
    ["-x", "1"],
  ],
  [
    ["--unknown_flag", "--profiling"],
    ["--unknown_flag", "--profiling=true"],
  ],
  [
    ["--", "--secure-port", "1"],
    ["--", "--secure-port", "1"],
  ],
  [
    ["---secure-port", "-"],
    ["---secure-port", "-"],
  ],
])("the arguments %j are parsed as pflag parses them", (args, translated) => {
  expect(fromGoArguments(args, arityOf)).toEqual(translated);
});
