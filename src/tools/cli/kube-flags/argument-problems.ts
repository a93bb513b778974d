/**
 * Describes every argument that a command does not accept. Commander reports only the first one, and suggests no flag
 * for a misspelled one that has a value, so that an operator would need one start for each mistake.
 */
import { InvalidArgumentError, type Command, type Option } from "commander";
import { closestName } from "../../../base/closest-name.ts";

/** A value in a message is cut after so many characters. */
const SHOWN_CHARACTERS = 200;
/** A reason repeats the value. */
const REASON_CHARACTERS = 400;

/**
 * One sentence for each problem. `args` are those of `fromGoArguments`. `removed` has the flags that earlier
 * kube-apiservers had, and the release that removed each.
 */
export function argumentProblems(
  args: readonly string[],
  command: Command,
  removed: ReadonlyMap<string, string>,
): readonly string[] {
  const options = new Map(command.options.map((option) => [option.long ?? "", option]));
  return args.flatMap((arg) => {
    if (arg === HELP || arg === END_OF_FLAGS) return [];
    if (!arg.startsWith("-")) return [`${shown(arg)} is not a flag: the command has no other arguments${VALUE_HINT}`];
    const [name, value] = split(arg);
    const option = options.get(name);
    const problem = option === undefined ? unknown(name, [...options.keys()], removed) : invalid(option, value);
    return problem === undefined ? [] : [problem];
  });
}

const HELP = "--help";
const END_OF_FLAGS = "--";

const VALUE_HINT = "; the value of a boolean flag follows =, as in --anonymous-auth=false";

function split(arg: string): [name: string, value?: string] {
  const at = arg.indexOf("=");
  return at < 0 ? [arg] : [arg.slice(0, at), arg.slice(at + 1)];
}

function unknown(name: string, known: readonly string[], removed: ReadonlyMap<string, string>): string {
  const release = removed.get(name.replace(/^--/, ""));
  if (release !== undefined)
    return `unknown flag ${name}: kube-apiserver removed it in ${release}; remove it here, too`;
  const suggestion = closestName(name, known);
  return `unknown flag ${shown(name)}${suggestion === undefined ? "" : `, did you mean ${suggestion}?`}`;
}

function invalid(option: Option, value: string | undefined): string | undefined {
  if (value === undefined) return option.required ? `${option.long} needs a value: ${option.flags}` : undefined;
  try {
    option.parseArg?.(value, undefined);
    return undefined;
  } catch (thrown) {
    if (!(thrown instanceof InvalidArgumentError)) throw thrown;
    return `${option.long}=${shown(value)} is invalid: ${thrown.message.slice(0, REASON_CHARACTERS).replace(/\.$/, "")}`;
  }
}

/** Without control characters, so that each problem is one line. */
function shown(text: string): string {
  return text.slice(0, SHOWN_CHARACTERS).replaceAll(/\p{Cc}/gu, "?");
}
