/** The commands that change a cluster of `evenkeel up`: add, remove and upgrade servers, inject and clear faults. */
import { resolve } from "node:path";
import { Argument, Command } from "commander";
import { FAULTS, type Fault } from "./up/cluster.ts";
import { sendControlRequest, type ControlRequest } from "./up/control.ts";

interface ControlFlags {
  readonly dataDir: string;
  readonly json?: boolean;
}

interface ControlledServer {
  readonly id: string;
  readonly spec: string;
  readonly url: string;
}

const FAULT_RESULTS: Readonly<Record<Fault, string>> = {
  kill: "was killed",
  pause: "is paused",
  resume: "is running again",
  partition: "is partitioned from the other servers",
  heal: "can reach the other servers again",
};

export function controlCommands(): Command[] {
  return [addServer(), removeServer(), upgrade(), fault()];
}

function addServer(): Command {
  return control("add-server", "Add a server to a running cluster", "Add a server to a running cluster.")
    .argument("<spec>", "release of the server, for example 1.37 or 1.36+batch/v1=false")
    .action((spec: string, flags: ControlFlags) =>
      sendControl(
        flags,
        { command: "add-server", spec },
        (server) => `${server.id} (${server.spec}) is ready at ${server.url}`,
      ),
    );
}

function removeServer(): Command {
  return control(
    "remove-server",
    "Drain and remove a server of a running cluster",
    "Remove a server from a running cluster: drain it, then stop it.",
  )
    .argument("<id>", "ID of the server, for example apiserver-2")
    .action((id: string, flags: ControlFlags) =>
      sendControl(flags, { command: "remove-server", id }, (server) => `${server.id} (${server.spec}) was removed`),
    );
}

function upgrade(): Command {
  return control(
    "upgrade",
    "Restart a server as another release",
    "Restart a server of a running cluster as another release, with the same ID and port. A rollback is rejected while " +
      "stored objects exist that the older release cannot read or does not serve; see rollback-check.",
  )
    .argument("<id>", "ID of the server, for example apiserver-2")
    .argument("<spec>", "new release of the server, for example 1.37 or 1.36+batch/v1=false")
    .option("--force", "roll back even if the older release cannot read or does not serve some stored objects")
    .action((id: string, spec: string, { force = false, ...flags }: ControlFlags & { readonly force?: boolean }) =>
      sendControl(
        flags,
        { command: "upgrade", id, spec, force },
        (server) => `${server.id} is now ${server.spec} at ${server.url}`,
      ),
    );
}

function fault(): Command {
  return control(
    "fault",
    "Inject or clear a fault on a server",
    "Inject or clear a fault on a server of a running cluster.",
  )
    .addArgument(
      new Argument("<fault>", "fault to inject; resume clears pause, heal clears partition").choices([...FAULTS]),
    )
    .argument("<id>", "ID of the server, for example apiserver-2")
    .action((name: Fault, id: string, flags: ControlFlags) =>
      sendControl(flags, { command: "fault", fault: name, id }, (server) => `${server.id} ${FAULT_RESULTS[name]}`),
    );
}

function control(name: string, summary: string, description: string): Command {
  return new Command(name)
    .summary(summary)
    .description(description)
    .option("--data-dir <directory>", "data directory of the running cluster", ".evenkeel")
    .option("--json", "print the result as one line of JSON");
}

async function sendControl(
  flags: ControlFlags,
  request: ControlRequest,
  inWords: (server: ControlledServer) => string,
): Promise<void> {
  const result = await sendControlRequest(resolve(flags.dataDir), request);
  process.stdout.write(`${flags.json ? JSON.stringify(result) : inWords(result as ControlledServer)}\n`);
}
