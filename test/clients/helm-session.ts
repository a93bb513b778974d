/** Runs one version of helm against one server, with its own home directory, namespace and release. */
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { SmokeResponse } from "../smoke/client.ts";
import { runProgram, type Evenkeel } from "../smoke/start-evenkeel.ts";
import { withControllers } from "./simulated-controllers.ts";
import type { Tool } from "./tools.ts";

export class HelmSession {
  readonly server: Evenkeel;
  readonly namespace: string;
  readonly #path: string;

  constructor(server: Evenkeel, { path, version }: Tool) {
    this.server = server;
    this.namespace = `helm-${version.replace(".", "-")}`;
    this.#path = path!;
  }

  /**
   * Runs a command that must succeed, and returns its standard output. Meanwhile the test does the work of the
   * controllers.
   */
  async run(...commandLine: string[]): Promise<string> {
    const { stdout } = await this.#ended(commandLine, { code: 0, stderr: "" });
    return stdout;
  }

  /** Runs a command that must fail, and returns its standard error. */
  async fails(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 1 })).stderr;
  }

  get(resource: string, groupVersion = ""): Promise<SmokeResponse> {
    const root = groupVersion === "" ? "/api/v1" : `/apis/${groupVersion}`;
    return this.server.request("GET", `${root}/namespaces/${this.namespace}/${resource}`);
  }

  async #ended(commandLine: readonly string[], expected: object): Promise<{ stdout: string; stderr: string }> {
    await using command = runProgram(this.#path, ["--namespace", this.namespace, ...commandLine], {
      PATH: process.env["PATH"],
      HOME: join(this.server.dataDir, `home-of-${this.namespace}`),
      KUBECONFIG: this.server.kubeconfig,
    });
    const { code } = await withControllers(command.exited, this.server, this.namespace);
    const { stdout } = command;
    // Removes the log lines of Helm 4 about what it waits for and that it stops waiting; the latter are not always
    // printed.
    const stderr = command.stderr.replaceAll(
      /^(level=(INFO|DEBUG|WARN)|I\d{4} \S+ +\d+ reflector\.go:\d+\]) .*\n/gm,
      "",
    );
    const said = commandLine.join(" ");
    // oxlint-disable-next-line vitest/no-standalone-expect -- every test ends here
    expect({ said, code, stdout, stderr }).toMatchObject({ said, ...expected });
    return { stdout, stderr };
  }
}

/** Writes a chart and returns its directory. */
export function writeChart(directory: string, files: Readonly<Record<string, string>>): string {
  for (const [name, text] of Object.entries(files)) {
    const path = join(directory, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  return directory;
}
