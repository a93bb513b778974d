/** `evenkeel up`: runs a control plane of several servers, of one or more releases, on this machine. */
import { Command, Option } from "commander";
import { resolve } from "node:path";
import { makeDirectory } from "../../base/make-directory.ts";
import { StorageError } from "../../storage/kv.ts";
import { withAccessFlags } from "./access-flags.ts";
import { CommandFailure } from "./failure.ts";
import { address, commaList, port } from "./flags.ts";
import { withRoutingFlags } from "./peer-flags.ts";
import { asUsable } from "./read-file.ts";
import { stopOnSignals } from "./stop-on-signals.ts";
import { readState } from "./up/cluster-files.ts";
import { openClusterStore } from "./up/cluster-store.ts";
import { openControl } from "./up/control.ts";
import { HOST } from "./up/hosted-server.ts";
import { DEFAULT_PORT } from "./up/open-balancer.ts";
import { UpSession } from "./up/up-session.ts";
import { DEFAULT_SERVERS } from "./up/server-spec.ts";
import { startCluster, unusable } from "./up/start-cluster.ts";
import { specsOf, type UpFlags } from "./up/up-flags.ts";

export function upCommand(): Command {
  const command = new Command("up")
    .summary("Run a local cluster of servers of one or more releases")
    .description("Run a control plane of several API servers, of one or more releases, on this machine.")
    .option(
      "--servers <list>",
      `releases of the servers, with optional runtime config as in 1.36+batch/v1=false (default: those of the data directory, initially ${DEFAULT_SERVERS})`,
      commaList,
    )
    .option(
      "--data-dir <directory>",
      "directory for objects (without etcd), certificates and the kubeconfig",
      ".evenkeel",
    )
    .option(
      "--port <port>",
      `port of the load balancer, followed by those of the servers; 0 selects free ports (default: those of the data directory, initially ${DEFAULT_PORT} if free)`,
      port,
    )
    .option("--bind-address <ip>", "address on which the load balancer listens", address, HOST)
    .option("--etcd-servers <urls>", "etcd URLs; store objects in etcd instead of the data directory", commaList)
    .option("--processes", "run each server in a separate process")
    .option("--feature-gates <pairs>", "feature gates to set on all servers, Name=true or Name=false", commaList)
    .option(
      "--controllers <names>",
      'controllers to run on the leader: "*" for all, "auto" for all that kube-controller-manager does not run, name, -name (default: "auto")',
      commaList,
    );
  return withAccessFlags(withRoutingFlags(command))
    .option("--json", "print only one line of JSON, when all servers are ready")
    .addOption(
      new Option("--log-level <level>", "lowest level to log on standard error")
        .choices(["debug", "info", "warn", "error"])
        .default("error"),
    )
    .action((flags: UpFlags) => up(flags));
}

async function up(flags: UpFlags): Promise<void> {
  const directory = resolve(flags.dataDir);
  const kept = readState(directory);
  // Invalid flags fail before anything is written to the disk.
  const specs = specsOf(flags, kept);
  // Objects include Secrets: only the user of this process may read its files.
  process.umask(0o077);
  asUsable(() => makeDirectory(directory), unusable(directory));
  const running = new UpSession();
  try {
    // The store is opened before anything is written, because it fails if another process uses the directory.
    const store = await openClusterStore(flags, directory);
    running.onStop(() => store.close());
    const control = await openControl(directory, (request) => running.handle(request));
    running.onStop(() => control.close());
    stopOnSignals({ what: "the cluster", stop: () => running.stop() });
    await startCluster({ flags, directory, kept, specs, running, store });
  } catch (thrown) {
    await running.stop();
    throw asFailure(thrown);
  }
}

function asFailure(thrown: unknown): unknown {
  return thrown instanceof StorageError ? new CommandFailure(thrown.message, 1) : thrown;
}
