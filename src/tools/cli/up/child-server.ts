/** One server of `evenkeel up --processes`, in its own process. It ends together with its parent process. */
import { Command } from "commander";
import { createNodeEnv, type LogLevel } from "../../../server/env-node.ts";
import { openChannelKv } from "../../../storage/kv-ipc/kv.ts";
import { CommandFailure } from "../failure.ts";
import { CHILD_COMMAND } from "./child-member.ts";
import { receiveAbout, sendAbout, storeChannel, type FromChild, type IpcEnd, type ToChild } from "./child-protocol.ts";
import { FaultSwitch } from "./fault-switch.ts";
import { hostServer, type HostedServer } from "./hosted-server.ts";
import { logOf } from "./member.ts";

export function childServerCommand(): Command {
  // The process ignores these arguments; they only identify the server in a list of processes.
  return new Command(CHILD_COMMAND).argument("<id>").argument("<release>").action(runChild);
}

function runChild(): void {
  if (process.send === undefined) throw new CommandFailure(`${CHILD_COMMAND} can only be started by evenkeel up`, 2);
  const parent = process as unknown as IpcEnd;
  const faults = new FaultSwitch();
  process.on("disconnect", () => process.exit(1));
  // Signals are ignored: a terminal sends Ctrl-C to all processes, but the parent decides in which order its servers
  // stop.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  let hosted: Promise<HostedServer> | undefined;
  receiveAbout(parent, "server", (received) => {
    const message = received as ToChild;
    if (message.kind === "start") {
      hosted = host(parent, message, faults);
      hosted.catch((thrown: unknown) => fail(parent, thrown));
    } else if (message.kind === "unreachable") faults.setUnreachable(message.authorities);
    else
      void Promise.resolve(hosted)
        .then((server) => server?.stop())
        .then(
          () => process.exit(0),
          () => process.exit(1),
        );
  });
}

interface Start {
  readonly launch: Parameters<typeof hostServer>[1];
  readonly logLevel: LogLevel;
  readonly store: "parent" | "own";
}

async function host(parent: IpcEnd, { launch, logLevel, store }: Start, faults: FaultSwitch): Promise<HostedServer> {
  const env = createNodeEnv({ logLevel });
  const openKv = store === "own" ? env.openKv : () => Promise.resolve(openChannelKv(storeChannel(parent)));
  const hosted = await hostServer({ ...env, log: logOf(launch.id, env.log), openKv }, launch, faults);
  notifyParent(parent, { kind: "listening", port: hosted.port });
  void hosted.ready.then(() => notifyParent(parent, { kind: "ready" }));
  return hosted;
}

function fail(parent: IpcEnd, thrown: unknown): void {
  const error: NodeJS.ErrnoException = thrown instanceof Error ? thrown : new Error(String(thrown));
  sendAbout(parent, "server", { kind: "failed", message: error.message, code: error.code } satisfies FromChild, () =>
    process.exit(1),
  );
}

function notifyParent(parent: IpcEnd, message: FromChild): void {
  sendAbout(parent, "server", message);
}
