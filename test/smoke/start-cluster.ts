/** Runs `evenkeel up` in a separate process. Tests see its servers through the output of --json, as scripts do. */
import { readFileSync, rmSync } from "node:fs";
import { Agent } from "node:https";
import { ask, type SmokeResponse, type Json, type Target } from "./client.ts";
import { run, temporaryDirectory, type Command, type Exit } from "./start-evenkeel.ts";

export interface ClusterServer extends Target {
  readonly id: string;
  readonly release: string;
  readonly pid: number;
  request(method: string, path: string, body?: unknown): Promise<SmokeResponse>;
}

export interface RunningCluster extends AsyncDisposable {
  readonly command: Command;
  readonly dataDir: string;
  /** The line that --json prints, parsed. */
  readonly printed: Json;
  readonly servers: readonly ClusterServer[];
  readonly balancer: ClusterServer;
  /** Runs a command such as `fault kill apiserver-2` on this cluster and returns its result. */
  control(...commandLine: string[]): Promise<Json>;
  stop(): Promise<Exit>;
}

export interface ClusterOptions {
  /** The data directory. It is kept if given; otherwise it is created, and removed with the cluster. */
  readonly dataDir?: string;
  readonly flags?: readonly string[];
}

export async function startCluster(options: ClusterOptions = {}): Promise<RunningCluster> {
  const dataDir = options.dataDir ?? temporaryDirectory();
  const removeData = (): void =>
    options.dataDir === undefined ? rmSync(dataDir, { recursive: true, force: true }) : undefined;
  const command = run("up", "--json", "--port", "0", "--data-dir", dataDir, ...(options.flags ?? []));
  const agents: Agent[] = [];
  const dispose = async (): Promise<void> => {
    for (const agent of agents) agent.destroy();
    await command[Symbol.asyncDispose]();
    removeData();
  };
  try {
    const printed: Json = JSON.parse((await command.printed(/^\{.*\}$/m))[0]);
    const target = (server: Json): ClusterServer => targetOf(server, printed, agents);
    return {
      command,
      dataDir,
      printed,
      servers: printed.servers.map(target),
      balancer: target({ id: "evenkeel", url: printed.loadBalancer }),
      control: (...commandLine) => control(dataDir, commandLine),
      async stop() {
        command.child.kill("SIGTERM");
        return command.exited;
      },
      [Symbol.asyncDispose]: dispose,
    };
  } catch (thrown) {
    await dispose();
    throw thrown;
  }
}

function targetOf({ id, url, release, pid }: Json, { caFile, token }: Json, agents: Agent[]): ClusterServer {
  const agent = new Agent({ keepAlive: true });
  agents.push(agent);
  const target: Target = { url, port: Number(new URL(url).port), ca: readFileSync(caFile, "utf8"), token, agent };
  return { ...target, id, release, pid, request: (method, path, body) => ask(target, { method, path, body }) };
}

async function control(dataDir: string, commandLine: readonly string[]): Promise<Json> {
  await using command = run(...commandLine, "--json", "--data-dir", dataDir);
  const { code } = await command.exited;
  if (code !== 0) throw new Error(command.stderr.trim());
  return JSON.parse(command.stdout);
}
