/**
 * Shows a false 404, and how the mixed version proxy prevents it, with a real kubectl: two servers of different
 * releases share one store, first with the proxy disabled, then with it enabled, which is the default.
 */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { findTools } from "../../test/clients/tools.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const SERVERS = "1.33,1.36";
const GATE_OFF = ["--feature-gates", "UnknownVersionInteroperabilityProxy=false"] as const;
const DEVICE_CLASS = "apiVersion: resource.k8s.io/v1\nkind: DeviceClass\nmetadata: { name: gpu }\nspec: {}\n";
const RESOURCE = "deviceclasses.v1.resource.k8s.io";

interface Summary {
  readonly servers: readonly { readonly id: string; readonly release: string }[];
  readonly kubeconfig: string;
}

interface Running {
  readonly child: ChildProcess;
  readonly summary: Summary;
}

async function main(): Promise<void> {
  const kubectl = newestKubectl();
  if (kubectl === undefined) {
    printLine(
      "The demo needs kubectl, but none was found and none could be downloaded. Install kubectl and try again.",
    );
    process.exitCode = 1;
    return;
  }
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-demo-"));
  try {
    printLine(`Two API servers share one store: Kubernetes 1.33, and 1.36, which alone serves resource.k8s.io/v1.\n`);
    printLine("1. Without the mixed version proxy, as during any upgrade:\n");
    await withCluster(directory, GATE_OFF, async (summary) => {
      const [older, newer] = contexts(summary);
      const stage = new CommandPrinter(kubectl, summary.kubeconfig, directory);
      await stage.kubectl(newer, ["create", "-f", "-"], DEVICE_CLASS);
      await stage.kubectl(newer, ["get", RESOURCE]);
      await stage.kubectl(older, ["get", "--raw", "/apis/resource.k8s.io/v1/deviceclasses/gpu"]);
      printLine("   The object exists. The 404 is false, and a garbage collector would trust it.\n");
    });
    printLine("2. The same two servers, the same store, with the mixed version proxy:\n");
    await withCluster(directory, [], async (summary) => {
      const [older] = contexts(summary);
      const stage = new CommandPrinter(kubectl, summary.kubeconfig, directory);
      await stage.kubectl(older, ["get", RESOURCE]);
      await stage.kubectl(older, ["delete", RESOURCE, "gpu"]);
      await stage.evenkeel(older, ["explain-route", "list", "/apis/resource.k8s.io/v1/deviceclasses"]);
      printLine("   Whichever server a client reaches, it sees one complete, truthful API.");
    });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function newestKubectl(): string | undefined {
  return findTools().kubectls.findLast(({ path }) => path !== undefined)?.path;
}

function contexts({ servers }: Summary): [older: string, newer: string] {
  const idOf = (release: string): string => servers.find((server) => server.release === release)!.id;
  return [idOf("1.33"), idOf("1.36")];
}

async function withCluster(
  directory: string,
  flags: readonly string[],
  play: (summary: Summary) => Promise<void>,
): Promise<void> {
  const { child, summary } = await startCluster(directory, flags);
  try {
    await play(summary);
  } finally {
    child.kill("SIGTERM");
    await once(child, "exit");
  }
}

async function startCluster(directory: string, flags: readonly string[]): Promise<Running> {
  const args = ["up", "--servers", SERVERS, "--data-dir", join(directory, "data"), "--port", "0", "--json", ...flags];
  const child = spawn(join(ROOT, "bin", "evenkeel"), args, { cwd: ROOT, stdio: ["ignore", "pipe", "inherit"] });
  for await (const line of createInterface({ input: child.stdout })) {
    return { child, summary: JSON.parse(line) as Summary };
  }
  throw new Error("the cluster did not start");
}

/** Prints each command, runs it, and prints its output. */
class CommandPrinter {
  readonly #kubectl: string;
  readonly #kubeconfig: string;
  readonly #home: string;

  constructor(kubectl: string, kubeconfig: string, home: string) {
    this.#kubectl = kubectl;
    this.#kubeconfig = kubeconfig;
    this.#home = home;
  }

  kubectl(context: string, args: readonly string[], input = ""): Promise<void> {
    return this.#run(this.#kubectl, "kubectl", ["--context", context, ...args], input);
  }

  evenkeel(context: string, args: readonly string[]): Promise<void> {
    const at = ["--kubeconfig", this.#kubeconfig, "--context", context];
    return this.#run(join(ROOT, "bin", "evenkeel"), "evenkeel", [...args, ...at], "");
  }

  async #run(program: string, name: string, args: readonly string[], input: string): Promise<void> {
    printLine(`   $ ${[name, ...args.filter((arg) => arg !== this.#kubeconfig && arg !== "--kubeconfig")].join(" ")}`);
    const env = { PATH: process.env["PATH"], HOME: this.#home, KUBECONFIG: this.#kubeconfig };
    const child = spawn(program, args, { env, stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(input);
    const said: string[] = [];
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding("utf8").on("data", (text: string) => said.push(text));
    await once(child, "close");
    printLine(said.join("").trimEnd().replaceAll(/^/gm, "   "));
    printLine("");
  }
}

function printLine(line: string): void {
  process.stdout.write(`${line}\n`);
}

await main();
