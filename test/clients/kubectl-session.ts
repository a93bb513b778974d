/** One kubectl against one server, with a home and a namespace of its own. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { runProgram, type Command, type Evenkeel } from "../smoke/start-evenkeel.ts";

/** For tests of one session: they build on each other. */
export const IN_ORDER = { concurrent: false } as const;

export class KubectlSession {
  readonly server: Evenkeel;
  readonly namespace: string;
  readonly #path: string;
  readonly #home: string;

  constructor({ path, server, namespace }: { path: string; server: Evenkeel; namespace: string }) {
    this.#path = path;
    this.server = server;
    this.namespace = namespace;
    // kubectl keeps what it has discovered in its home: several versions must not share one.
    this.#home = join(server.dataDir, `home-of-${namespace}`);
    mkdirSync(this.#home, { recursive: true });
  }

  start(...commandLine: string[]): Command {
    return runProgram(this.#path, ["--namespace", this.namespace, ...commandLine], {
      PATH: process.env["PATH"],
      HOME: this.#home,
      KUBECONFIG: this.server.kubeconfig,
    });
  }

  /** Standard output of a command that must succeed and say nothing on standard error. */
  async run(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 0, stderr: "" })).stdout;
  }

  /** Standard error of a command that must succeed and print nothing else. */
  async says(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 0, stdout: "" })).stderr;
  }

  /** Standard error of a command that must fail and print nothing else. */
  async fails(...commandLine: string[]): Promise<string> {
    return (await this.#ended(commandLine, { code: 1, stdout: "" })).stderr;
  }

  async json<T = unknown>(...commandLine: string[]): Promise<T> {
    return JSON.parse(await this.run(...commandLine, "-o", "json")) as T;
  }

  /** A file to give to -f. */
  file(name: string, content: string | object): string {
    const path = join(this.#home, name);
    writeFileSync(path, typeof content === "string" ? content : JSON.stringify(content));
    return path;
  }

  /** A path within this namespace. */
  path(resources: string): string {
    return `/api/v1/namespaces/${this.namespace}/${resources}`;
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
