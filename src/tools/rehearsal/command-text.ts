/** The command that repeats a rehearsal, as a user would type it in a POSIX shell. */
import type { ReportAbout } from "./report.ts";

export function commandText({ command }: ReportAbout): string {
  return ["evenkeel", "rehearse", ...command].map(quoted).join(" ");
}

function quoted(argument: string): string {
  return /^[\w@%+=:,./-]+$/.test(argument) ? argument : `'${argument.replaceAll("'", `'\\''`)}'`;
}
