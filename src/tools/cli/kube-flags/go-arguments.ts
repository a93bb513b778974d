/**
 * Translates an argument list as kube-apiserver parses it (Go's pflag) to one that Commander parses in the same way.
 * The two libraries differ: after a boolean flag, Commander takes the next word as its value, pflag never does; and
 * kube-apiserver accepts underscores in the names of flags.
 */

import { parseBoolean } from "../../../meta/boolean.ts";

/** "boolean": the value is optional and follows "=". "value": the flag needs a value. Undefined for unknown flags. */
export type ArityOf = (name: string) => "boolean" | "value" | undefined;

/** Every flag of the result that has a value has it in the form --name=value. */
export function fromGoArguments(args: readonly string[], arityOf: ArityOf): string[] {
  const translated: string[] = [];
  for (let index = 0; index < args.length; index++) {
    const arg = args[index]!;
    if (arg === "--") return [...translated, ...args.slice(index)];
    const flag = parseFlag(arg);
    const arity = flag && arityOf(flag.name);
    if (flag === undefined || arity === undefined) translated.push(arg);
    else if (flag.name === HELP) translated.push(...(parseBoolean(flag.value ?? "true") === false ? [] : [HELP]));
    else if (flag.value !== undefined) translated.push(`${flag.name}=${flag.value}`);
    else if (arity === "boolean") translated.push(`${flag.name}=true`);
    else if (index + 1 < args.length) translated.push(`${flag.name}=${args[++index]}`);
    else translated.push(flag.name);
  }
  return translated;
}

interface GivenFlag {
  /** With the leading dashes. */
  readonly name: string;
  readonly value: string | undefined;
}

/** Commander's own flag, which never has a value. */
const HELP = "--help";

/** The flags with a short name: -v is the verbosity of the log. */
const SHORT_NAMES: Readonly<Record<string, string>> = { v: "--v", h: HELP };

function parseFlag(arg: string): GivenFlag | undefined {
  const [, name, value] = /^(--[^=-][^=]*)(?:=(.*))?$/s.exec(arg) ?? [];
  if (name !== undefined) return { name: name.replaceAll("_", "-"), value };
  const [, short = "", rest] = /^-([vh])(?:=?(.+))?$/s.exec(arg) ?? [];
  const long = SHORT_NAMES[short];
  return long === undefined ? undefined : { name: long, value: rest };
}
