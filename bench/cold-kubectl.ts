/** Runs kubectl with an empty cache, as on a new machine, so that it performs discovery first. */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { findTools } from "../test/clients/tools.ts";
import { openHttp1 } from "./client/http1.ts";
import { TOKEN, temporaryDirectory, type RunningServer } from "./servers.ts";

export interface ColdRun {
  readonly requests: number;
  readonly wallMs: number;
}

export interface Kubectl {
  readonly name: string;
  readonly path: string;
}

/** Undefined if no kubectl is available. */
export function newestKubectl(): Kubectl | undefined {
  const minor = (version: string): number => Number(version.split(".")[1] ?? 0);
  const found = findTools().kubectls.flatMap(({ name, version, path }) =>
    path === undefined ? [] : [{ name, path, minor: minor(version) }],
  );
  return found.sort((left, right) => right.minor - left.minor)[0];
}

/** Rejects if kubectl fails. */
export async function runCold(kubectl: Kubectl, server: RunningServer, args: readonly string[]): Promise<ColdRun> {
  const home = temporaryDirectory();
  const access = ["--server", `https://127.0.0.1:${server.port}`, "--insecure-skip-tls-verify", "--token", TOKEN];
  try {
    const before = await servedRequests(server);
    const started = performance.now();
    await promisify(execFile)(kubectl.path, [...access, ...args], { env: { HOME: home.path } });
    const wallMs = performance.now() - started;
    return { requests: (await servedRequests(server)) - before - 1, wallMs };
  } finally {
    home.remove();
  }
}

/**
 * The number of requests that the server has served, without its own lease renewals. The request that reads this metric
 * is counted only in the next result.
 */
async function servedRequests(server: RunningServer): Promise<number> {
  const requester = await openHttp1({ port: server.port }, TOKEN);
  try {
    const { body } = await requester.fetch({ method: "GET", path: "/metrics", expectStatus: 200 }, 0);
    return body
      .split("\n")
      .filter((line) => line.startsWith("apiserver_request_total{") && !line.includes('resource="leases"'))
      .reduce((sum, line) => sum + Number(line.slice(line.lastIndexOf(" ") + 1)), 0);
  } finally {
    requester.close();
  }
}
