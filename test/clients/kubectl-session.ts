/** One kubectl against one server, with its own home and namespace. */
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { expect } from "vitest";
import type { Json } from "../smoke/client.ts";
import { runProgram, type Command, type Evenkeel } from "../smoke/start-evenkeel.ts";

/** For the tests of one session, which build on each other. */
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

  /** Returns standard output of a command that must succeed without standard error. */
  async run(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 0, stderr: "" })).stdout;
  }

  /** Returns standard error of a command that must succeed without standard output. */
  async runWithMessages(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 0, stdout: "" })).stderr;
  }

  /** Returns standard error of a command that must fail without standard output. */
  async fails(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 1, stdout: "" })).stderr;
  }

  /** Returns both outputs of a command that must succeed. */
  async both(...commandLine: string[]): Promise<{ readonly stdout: string; readonly stderr: string }> {
    const { stdout, stderr } = await this.#ended(commandLine, { code: 0 });
    return { stdout, stderr };
  }

  async json<T = unknown>(...commandLine: string[]): Promise<T> {
    return JSON.parse(await this.run(...commandLine, "-o", "json")) as T;
  }

  /** Writes a file for -f. */
  file(name: string, content: string | object): string {
    const path = join(this.#home, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /** Writes a shell script to use as an editor: $1 is the file to edit. */
  script(name: string, text: string): string {
    const path = this.file(name, `#!/bin/sh\n${text}\n`);
    chmodSync(path, 0o755);
    return path;
  }

  /** A path within this namespace. */
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

/** The cells of kubectl's tables: columns are three blanks or more apart. */
export function cells(table: string): string[][] {
  return table
    .trimEnd()
    .split("\n")
    .map((line) => line.trimEnd().split(/ {3,}/));
}
