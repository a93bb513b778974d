/** Runs one kubectl against one server, with its own home directory and namespace. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Json } from "../smoke/client.ts";
import { runProgram, type Command, type Evenkeel } from "../smoke/start-evenkeel.ts";

/** Options for the tests of one session, which build on each other and must not run concurrently. */
export const IN_ORDER = { concurrent: false } as const;

interface SessionOptions {
  readonly path: string;
  readonly server: Evenkeel;
  readonly namespace: string;
  readonly env?: NodeJS.ProcessEnv;
}

export class KubectlSession {
  readonly server: Evenkeel;
  readonly namespace: string;
  readonly #path: string;
  readonly #home: string;
  readonly #env: NodeJS.ProcessEnv;

  constructor({ path, server, namespace, env = {} }: SessionOptions) {
    this.#path = path;
    this.#env = env;
    this.server = server;
    this.namespace = namespace;
    // kubectl caches discovery in its home, so versions must not share one.
    this.#home = join(server.dataDir, `home-of-${namespace}`);
    mkdirSync(this.#home, { recursive: true });
  }

  /** The same session with additional environment variables. */
  withEnv(env: NodeJS.ProcessEnv): KubectlSession {
    const { server, namespace } = this;
    return new KubectlSession({ path: this.#path, server, namespace, env: { ...this.#env, ...env } });
  }

  start(...commandLine: string[]): Command {
    return runProgram(this.#path, ["--namespace", this.namespace, ...commandLine], {
      PATH: process.env["PATH"],
      HOME: this.#home,
      KUBECONFIG: this.server.kubeconfig,
      ...this.#env,
    });
  }

  /** Runs a command that must succeed and print nothing on standard error. Returns its standard output. */
  async run(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 0, stderr: "" })).stdout;
  }

  /** Runs a command that must succeed and print nothing on standard output. Returns its standard error. */
  async runWithMessages(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 0, stdout: "" })).stderr;
  }

  /** Runs a command that must fail and print nothing on standard output. Returns its standard error. */
  async fails(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 1, stdout: "" })).stderr;
  }

  /** Runs a command that must succeed. Returns both outputs. */
  async both(...commandLine: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const { stdout, stderr } = await this.#ended(commandLine, { code: 0 });
    return { stdout, stderr };
  }

  async json<T = unknown>(...commandLine: string[]): Promise<T> {
    return JSON.parse(await this.run(...commandLine, "-o", "json")) as T;
  }

  /** Writes a file for the flag -f and returns its path. */
  file(name: string, content: string | object): string {
    const path = join(this.#home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /** Writes a shell script that kubectl runs as an editor; $1 is the file to edit. */
  script(name: string, text: string): string {
    const path = this.file(name, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** The path of a resource in the namespace of this session. */
  path(resources: string, groupVersion = ""): string {
    const root = groupVersion === "" ? "/api/v1" : `/apis/${groupVersion}`;
    return `${root}/namespaces/${this.namespace}/${resources}`;
  }

  /** Reads an object from the server without kubectl. */
  async object(resource: string, groupVersion = ""): Promise<Json> {
    return (await this.server.request("GET", this.path(resource, groupVersion))).body;
  }

  async #ended(commandLine: readonly string[], expected: object): Promise<Command> {
    await using command = this.start(...commandLine);
    const { code } = await command.exited;
    const { stdout, stderr } = command;
    const said = `kubectl ${commandLine.join(" ")}`;
    // oxlint-disable-next-line vitest/no-standalone-expect -- every test ends here
    expect({ said, code, stdout, stderr }).toMatchObject({ said, ...expected });
    return command;
  }
}

/** The cells of a table that kubectl has printed: columns are three or more blanks apart. */
export function cells(table: string): string[][] {
  return table
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd().split(/ {3,}/));
}
