/** Commands for a cluster that `evenkeel up` runs: servers come, go, change and fail. */
import { resolve } from "node:path";
import { Argument, Command } from "commander";
import { FAULTS, type Fault } from "./up/cluster.ts";
import { askControl, type ControlRequest } from "./up/control.ts";

interface ControlFlags {
  readonly dataDir: string;
  readonly json?: boolean;
}

interface AnsweredServer {
  readonly id: string;
  readonly spec: string;
  readonly url: string;
}

const HAPPENED: Readonly<Record<Fault, string>> = {
  kill: "was killed",
  pause: "is paused",
  resume: "goes on",
  partition: "is cut off from the other servers",
  heal: "can reach the other servers again",
};

export function controlCommands(): Command[] {
  return [addServer(), removeServer(), upgrade(), fault()];
}

function addServer(): Command {
  return control("add-server", "Add a server to a running cluster.")
    .argument("<spec>", "its release, as in 1.37 or 1.36+batch/v1=false")
    .action((spec: string, flags: ControlFlags) =>
      ask(
        flags,
        { command: "add-server", spec },
        (server) => `${server.id} (${server.spec}) is ready at ${server.url}`,
      ),
    );
}

function removeServer(): Command {
  return control("remove-server", "Take a server out of a running cluster: it drains, leaves and stops.")
    .argument("<id>", "such as apiserver-2")
    .action((id: string, flags: ControlFlags) =>
      ask(flags, { command: "remove-server", id }, (server) => `${server.id} (${server.spec}) has left`),
    );
}

function upgrade(): Command {
  return control(
    "upgrade",
    "Stop a server of a running cluster and start it as another, with the same ID and port. An older release is refused " +
      "while objects are stored that it could not read or would not serve; see rollback-check.",
  )
    .argument("<id>", "such as apiserver-2")
    .argument("<spec>", "what it is from then on, as in 1.37 or 1.36+batch/v1=false")
    .option("--force", "also to an older release that could not use everything that is stored")
    .action((id: string, spec: string, { force = false, ...flags }: ControlFlags & { readonly force?: boolean }) =>
      ask(
        flags,
        { command: "upgrade", id, spec, force },
        (server) => `${server.id} is ${server.spec} now, at ${server.url}`,
      ),
    );
}

function fault(): Command {
  return control("fault", "Let a server of a running cluster fail, or go on.")
    .addArgument(new Argument("<fault>", "what happens to it").choices([...FAULTS]))
    .argument("<id>", "such as apiserver-2")
    .action((name: Fault, id: string, flags: ControlFlags) =>
      ask(flags, { command: "fault", fault: name, id }, (server) => `${server.id} ${HAPPENED[name]}`),
    );
}

function control(name: string, description: string): Command {
  return new Command(name)
    .description(description)
    .option("--data-dir <directory>", "of the running cluster", ".evenkeel")
    .option("--json", "print the answer as one line of JSON");
}

async function ask(
  flags: ControlFlags,
  request: ControlRequest,
  inWords: (server: AnsweredServer) => string,
): Promise<void> {
  const result = await askControl(resolve(flags.dataDir), request);
  process.stdout.write(`${flags.json ? JSON.stringify(result) : inWords(result as AnsweredServer)}\n`);
}
