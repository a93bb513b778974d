/** Protects the input files of a command: an output flag that names one of them would destroy, for example, a snapshot. */
import { statSync } from "node:fs";
import { CommandFailure } from "./failure.ts";

const USAGE = 2;

/** Fails if `output` is the same file as one of the inputs, also through a link. `flag` names the output in the message. */
export function rejectOverwrite(flag: string, output: string, inputs: readonly (string | undefined)[]): void {
  const id = identityOf(output);
  const same = inputs.find((input) => input !== undefined && id !== undefined && identityOf(input) === id);
  if (same !== undefined)
    throw new CommandFailure(`${flag} ${output} would overwrite the input ${same}: name another file`, USAGE);
}

/** Undefined if there is no such file, or if it cannot be examined: opening it then fails with the reason. */
function identityOf(path: string): string | undefined {
  try {
    const { dev, ino } = statSync(path, { bigint: true });
    return `${dev} ${ino}`;
  } catch {
    return undefined;
  }
}
