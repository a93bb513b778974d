#!/usr/bin/env node
/** The `evenkeel` program: registers the commands, and ends with an error message and an exit code if one fails. */
// oxlint-disable-next-line import/no-unassigned-import -- it must run before the other modules are loaded
import "./start-storage-early.ts";
import { Command, CommanderError } from "commander";
import { controlCommands } from "./control-commands.ts";
import { certsCommand } from "./certs.ts";
import { checkCommand } from "./check.ts";
import { explainRouteCommand } from "./explain-route.ts";
import { CommandFailure } from "./failure.ts";
import { argumentProblems } from "./kube-flags/argument-problems.ts";
import { REMOVED_FLAGS } from "./kube-flags/flag-table.ts";
import { fromGoArguments } from "./kube-flags/go-arguments.ts";
import { arityIn } from "./kube-flags/kube-options.ts";
import { inspectCommand } from "./inspect.ts";
import { purgeNamespaceCommand } from "./purge-namespace.ts";
import { rehearseCommand } from "./rehearse.ts";
import { rollbackCheckCommand } from "./rollback-check.ts";
import { serveCommand } from "./serve.ts";
import { statusCommand } from "./status.ts";
import { storedVersionsCommand } from "./stored-versions.ts";
import { childServerCommand } from "./up/child-server.ts";
import { upCommand } from "./up.ts";

const USAGE_ERROR = 2;
const NO_OUTPUT = 2;

async function main(argv: readonly string[]): Promise<void> {
  const program = new Command("evenkeel")
    .description(
      "A Kubernetes-compatible API server that keeps a control plane of mixed versions consistent during upgrades.",
    )
    .version(VERSION)
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "evenkeel: ")) })
    .exitOverride()
    // `serve` has a flag --version of its own.
    .enablePositionalOptions()
    .addCommand(exitOverridden(upCommand()))
    .addCommand(exitOverridden(serveCommand()))
    .addCommand(exitOverridden(certsCommand()))
    .addCommand(exitOverridden(statusCommand()))
    .addCommand(exitOverridden(explainRouteCommand()))
    .addCommand(exitOverridden(storedVersionsCommand()))
    .addCommand(exitOverridden(rollbackCheckCommand()))
    .addCommand(exitOverridden(purgeNamespaceCommand()))
    .addCommand(exitOverridden(inspectCommand(VERSION)))
    .addCommand(exitOverridden(rehearseCommand(VERSION)))
    .addCommand(exitOverridden(checkCommand()))
    .addCommand(exitOverridden(childServerCommand()), { hidden: true });
  for (const command of controlCommands()) program.addCommand(exitOverridden(command));
  process.stdout.on("error", outputFailed);
  try {
    await program.parseAsync(argumentsOf(argv, program));
  } catch (thrown) {
    process.exitCode = explain(thrown);
  }
}

/**
 * Ignores that the reader of standard output closes it early (`| head`), or that the terminal is gone; a server keeps
 * running. Any other failure would lose the result, for example on a full disk, so the command must not succeed.
 */
function outputFailed(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE" || error.code === "EIO") return;
  process.stderr.write(`evenkeel: cannot write to standard output: ${error.message}\n`);
  process.exitCode = NO_OUTPUT;
}

function argumentsOf([runtime = "", script = "", name, ...rest]: readonly string[], program: Command): string[] {
  const command = program.commands.find((one) => one.name() === name);
  const parsed = command === undefined ? rest : argumentsFor(command, rest);
  return [runtime, script, ...(name === undefined ? [] : [name]), ...parsed];
}

function argumentsFor(command: Command, args: readonly string[]): string[] {
  if (command.name() === "serve") return serveArguments(args, command);
  // Commander suggests a flag for --misspelled, but not for --misspelled=value.
  const known = new Set(command.options.map(({ long }) => long));
  return args.map((arg) => {
    const [, flag] = /^(--[^=]+)=/.exec(arg) ?? [];
    return flag === undefined || known.has(flag) ? arg : flag;
  });
}

/** `serve` parses its flags as kube-apiserver does. If any are invalid, the command fails with all problems. */
function serveArguments(args: readonly string[], serve: Command): string[] {
  const parsed = fromGoArguments(args, arityIn(serve));
  const problems = parsed.includes("--help") ? [] : argumentProblems(parsed, serve, REMOVED_FLAGS);
  if (problems.length > 0) throw new CommandFailure(problems.join("\nevenkeel: "), USAGE_ERROR);
  return parsed;
}

/** Commander does not pass these settings to subcommands. Without them a subcommand ends the process itself. */
function exitOverridden(command: Command): Command {
  return command
    .exitOverride()
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "evenkeel: ")) });
}

function explain(thrown: unknown): number {
  // Commander has printed the error. Help and version are not errors.
  if (thrown instanceof CommanderError) return thrown.exitCode === 0 ? 0 : USAGE_ERROR;
  if (thrown instanceof CommandFailure) {
    process.stderr.write(`evenkeel: ${thrown.message}\n`);
    return thrown.exitCode;
  }
  process.stderr.write(
    `evenkeel: unexpected error: ${thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)}\n`,
  );
  return 1;
}

declare const EVENKEEL_VERSION: string | undefined;
/** The build sets it. */
const VERSION = typeof EVENKEEL_VERSION === "string" ? EVENKEEL_VERSION : "development";

// Not awaited, because the build makes a script of this file, and scripts have no top-level await.
void main(process.argv);
