/**
 * Makes Commander options of the flags that the server does not implement, sorts the options of the help into the
 * sections of kube-apiserver's help, and reports the unimplemented flags that a user has set.
 */
import { Help, InvalidArgumentError, Option, type Command } from "commander";
import { parseDurationMs } from "../duration.ts";
import { booleanOption } from "../flags.ts";
import type { FlagSection, Handling, ValueType } from "./flag-handling.ts";
import type { ArityOf } from "./go-arguments.ts";

/** The heading of the flags that kube-apiserver does not have. */
const OWN_SECTION = "Flags of Evenkeel:";

/**
 * Adds a hidden option for each unimplemented flag, and sorts all options into sections. The hidden options would make
 * the help twice as long; docs/flags.md lists them.
 */
export function withKubeFlags(command: Command, sections: readonly FlagSection[]): Command {
  for (const { name, handling } of flagsOf(sections))
    if (handling.kind !== "implemented") command.addOption(unimplementedOption(name, handling).hideHelp());
  const headings = new Map(sections.flatMap(({ title, flags }) => Object.keys(flags).map((name) => [name, title])));
  for (const option of command.options) {
    const title = headings.get(longName(option));
    option.helpGroup(title === undefined ? OWN_SECTION : `${title} flags:`);
  }
  const order = [...headings.keys()];
  const rank = (option: Option): number => (order.indexOf(longName(option)) + order.length + 1) % (order.length + 1);
  const byDefault = new Help();
  return command
    .addHelpOption(new Option("-h, --help", "display help for command").helpGroup(`${headings.get("help")} flags:`))
    .configureHelp({
      visibleOptions: (of) => byDefault.visibleOptions(of).toSorted((a, b) => rank(a) - rank(b)),
      // A value that may be absent follows "=".
      optionTerm: (option) => byDefault.optionTerm(option).replace(/ \[(\w+)\]$/, "[=$1]"),
      groupItems: (_all, visible, groupOf) => Map.groupBy(visible, groupOf),
    });
}

/** Whether a flag of the command needs a value. */
export function arityIn(command: Command): ArityOf {
  const arities = new Map(
    command.options.map((option) => [option.long, option.required ? ("value" as const) : ("boolean" as const)]),
  );
  return (name) => (name === "--help" ? "boolean" : arities.get(name));
}

export interface FlagFindings {
  /** The flags that have no effect, by the clause that says what the server does not do. */
  readonly withoutEffect: ReadonlyMap<string, readonly string[]>;
  /** A sentence for each flag with which the server does not start. */
  readonly errors: readonly string[];
}

/** Reports the unimplemented flags that the user has set to a value that the server does not honor. */
export function findingsIn(command: Command, sections: readonly FlagSection[]): FlagFindings {
  const withoutEffect = new Map<string, readonly string[]>();
  const errors: string[] = [];
  for (const { name, handling } of flagsOf(sections)) {
    if (handling.kind === "implemented") continue;
    const option = command.options.find((one) => longName(one) === name);
    const key = option?.attributeName() ?? "";
    if (command.getOptionValueSource(key) !== "cli") continue;
    const value = String(command.getOptionValue(key));
    if (handling.fine.includes(canonical(handling.type, value))) continue;
    const shown = `--${name}=${value.slice(0, SHOWN_CHARACTERS)}`;
    if (handling.kind === "rejected") errors.push(`${shown} is not supported: ${handling.because}`);
    else withoutEffect.set(handling.because, [...(withoutEffect.get(handling.because) ?? []), shown]);
  }
  return { withoutEffect, errors };
}

const SHOWN_CHARACTERS = 200;

function flagsOf(sections: readonly FlagSection[]): { readonly name: string; readonly handling: Handling }[] {
  return sections.flatMap(({ flags }) => Object.entries(flags).map(([name, { handling }]) => ({ name, handling })));
}

function longName({ long }: Option): string {
  return (long ?? "").replace(/^--/, "");
}

/** The value of the option is the text of the flag, so that messages can repeat it. */
function unimplementedOption(name: string, { type }: { readonly type: ValueType }): Option {
  if (type === "boolean") return booleanOption(`--${name}`, "");
  return new Option(`--${name} <${type}>`).argParser<string | undefined>((text, before) => {
    canonical(type, text);
    return type === "list" && before !== undefined ? `${before},${text}` : text;
  });
}

/** Equal texts for equal values: 1m0s and 60s are the same duration. Throws if the text is not of the type. */
function canonical(type: ValueType, text: string): string {
  switch (type) {
    case "duration": {
      const milliseconds = parseDurationMs(text.replace(/^-/, ""));
      if (milliseconds !== undefined) return String(milliseconds);
      throw new InvalidArgumentError(`${JSON.stringify(text)} is not a duration such as 30s, 5m or 1h0m0s.`);
    }
    case "integer":
      if (/^[-+]?[0-9]{1,15}$/.test(text)) return String(Number(text));
      throw new InvalidArgumentError(`${JSON.stringify(text)} is not a whole number.`);
    case "number":
      if (text.trim() !== "" && Number.isFinite(Number(text))) return String(Number(text));
      throw new InvalidArgumentError(`${JSON.stringify(text)} is not a number.`);
    default:
      return text;
  }
}
