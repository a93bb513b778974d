#!/usr/bin/env node
/** The `evenkeel` program: registers the commands, and ends with an error message and an exit code if one fails. */
import { Command, CommanderError } from "commander";
import { controlCommands } from "./control-commands.ts";
import { certsCommand } from "./certs.ts";
import { explainRouteCommand } from "./explain-route.ts";
import { CommandFailure } from "./failure.ts";
import { purgeNamespaceCommand } from "./purge-namespace.ts";
import { rehearseCommand } from "./rehearse.ts";
import { rollbackCheckCommand } from "./rollback-check.ts";
import { serveCommand } from "./serve.ts";
import { statusCommand } from "./status.ts";
import { storedVersionsCommand } from "./stored-versions.ts";
import { childServerCommand } from "./up/child-server.ts";
import { upCommand } from "./up.ts";

const USAGE_ERROR = 2;

async function main(argv: readonly string[]): Promise<void> {
  const program = new Command("evenkeel")
    .description(
      "A Kubernetes-compatible API server that keeps a control plane of mixed versions consistent during upgrades.",
    )
    .version(VERSION)
    .showSuggestionAfterError()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, "evenkeel: ")) })
    .exitOverride()
    .addCommand(exitOverridden(upCommand()))
    .addCommand(exitOverridden(serveCommand()))
    .addCommand(exitOverridden(certsCommand()))
    .addCommand(exitOverridden(statusCommand()))
    .addCommand(exitOverridden(explainRouteCommand()))
    .addCommand(exitOverridden(storedVersionsCommand()))
    .addCommand(exitOverridden(rollbackCheckCommand()))
    .addCommand(exitOverridden(purgeNamespaceCommand()))
    .addCommand(exitOverridden(rehearseCommand()))
    .addCommand(exitOverridden(childServerCommand()), { hidden: true });
  for (const command of controlCommands()) program.addCommand(exitOverridden(command));
  // Ignores that the reader of standard output closes it early (`| head`); a server keeps running.
  process.stdout.on("error", () => {});
  try {
    await program.parseAsync([...argv]);
  } catch (thrown) {
    process.exitCode = explain(thrown);
  }
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
