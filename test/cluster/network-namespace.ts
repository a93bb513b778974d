/** Network namespaces for tests. Each exists as long as an idle process in it. */
import { execFileSync } from "node:child_process";
import { runProgram, type Command } from "../smoke/start-evenkeel.ts";

export interface Namespace {
  readonly pid: number;
  /** The command line prefix that runs a program in the namespace. */
  readonly wrapper: readonly string[];
}

/** Why this process may not create network namespaces; undefined if it may. */
export function namespacesMissing(): string | undefined {
  if (process.platform === "linux" && process.getuid?.() === 0) return undefined;
  return "network namespaces need Linux and root";
}

/** Starts an idle process in its own network namespace. The caller ends the process with `release`. */
export async function openNamespace(holders: Command[]): Promise<Namespace> {
  const holder = runProgram("unshare", ["--net", "sh", "-c", "echo made; exec sleep 600"]);
  holders.push(holder);
  await holder.printed(/made/);
  return { pid: holder.pid, wrapper: ["nsenter", `--net=/proc/${holder.pid}/ns/net`] };
}

/** Ends the idle processes. Their network namespaces, links and routes are removed with them. */
export async function release(holders: readonly Command[]): Promise<void> {
  await Promise.all(holders.map((holder) => holder[Symbol.asyncDispose]()));
}

/** Runs the `ip` command, in a namespace if its wrapper is given. */
export function ip(line: string, wrapper: readonly string[] = []): void {
  const [program, ...rest] = [...wrapper, "ip", ...line.split(" ")];
  execFileSync(program!, rest, { stdio: ["ignore", "ignore", "pipe"] });
}

/**
 * A subnet that is probably unused. It depends on the process that holds the namespace, so that tests can run at the same
 * time, also in threads of one process.
 */
export function testSubnet(second: number, { pid }: Pick<Namespace, "pid">): string {
  return `10.${second}.${pid % 250}`;
}

export interface OwnAddresses extends AsyncDisposable {
  /** The address of this process in the test network. */
  readonly near: string;
  /** The addresses in the namespace. */
  readonly far: readonly string[];
  readonly wrapper: readonly string[];
}

/**
 * Opens a namespace with several addresses, so that each server in it has its own. Returns the reason as a string if
 * that is not possible.
 */
export async function openOwnAddresses(count: number): Promise<OwnAddresses | string> {
  const missing = namespacesMissing();
  if (missing !== undefined) return missing;
  const holders: Command[] = [];
  try {
    const { pid, wrapper } = await openNamespace(holders);
    const subnet = testSubnet(232, { pid });
    const near = `${subnet}.1`;
    const far = Array.from({ length: count }, (_, index) => `${subnet}.${index + 2}`);
    const [outer, inner] = [`ek${pid}o`, `ek${pid}i`];
    ip(`link add ${outer} type veth peer name ${inner}`);
    ip(`link set ${inner} netns ${pid}`);
    ip(`addr add ${near}/24 dev ${outer}`);
    ip(`link set ${outer} up`);
    for (const address of far) ip(`addr add ${address}/24 dev ${inner}`, wrapper);
    for (const link of ["lo", inner]) ip(`link set ${link} up`, wrapper);
    return { near, far, wrapper, [Symbol.asyncDispose]: () => release(holders) };
  } catch (thrown) {
    await release(holders);
    return `network namespaces could not be created: ${String(thrown)}`;
  }
}
