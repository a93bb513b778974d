/** Starts a real kube-controller-manager, which KUBE_CONTROLLER_MANAGER names. */
import { execFileSync } from "node:child_process";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runProgram, TOKEN, type Command } from "../smoke/start-evenkeel.ts";
import type { RealCluster } from "./real-cluster.ts";

/** The path that the variable contains; "" if it is not set. */
export const CONTROLLER_MANAGER = process.env["KUBE_CONTROLLER_MANAGER"] ?? "";

/** Prints in one line why the tests are skipped; undefined if they can run. */
export function whyNoControllerManager(): string | undefined {
  const path = CONTROLLER_MANAGER;
  const printed = existsSync(path) ? execFileSync(path, ["--version"], { encoding: "utf8" }) : "";
  if (/^Kubernetes v1\.\d+\./.test(printed)) return undefined;
  const why = path === "" ? "KUBE_CONTROLLER_MANAGER is not set" : `${path} is not a kube-controller-manager`;
  console.warn(`tests beside a real kube-controller-manager were skipped: ${why}`);
  return why;
}

/** Connects to the API server at the URL. The certificate of the API server must be valid for its host. */
export function startControllerManager(
  { files }: Pick<RealCluster, "files">,
  { path, url }: { readonly path: string; readonly url: string },
): Command {
  const kubeconfig = join(files.directory, "kube-controller-manager.json");
  const config = {
    apiVersion: "v1",
    kind: "Config",
    clusters: [{ name: "cluster", cluster: { server: url, "certificate-authority": files.ca } }],
    users: [{ name: "admin", user: { token: TOKEN } }],
    contexts: [{ name: "context", context: { cluster: "cluster", user: "admin" } }],
    "current-context": "context",
  };
  writeFileSync(kubeconfig, JSON.stringify(config), { mode: 0o600 });
  return runProgram(path, [
    `--kubeconfig=${kubeconfig}`,
    "--secure-port=0",
    `--service-account-private-key-file=${files.signingKey}`,
    `--root-ca-file=${files.ca}`,
  ]);
}

/** The errors in a log of klog, with numbers, names and IDs replaced, and how often each occurred. */
export function errorsByCause(log: string): ReadonlyMap<string, number> {
  const causes = new Map<string, number>();
  for (const line of log.split("\n")) {
    const [, source, message] = /^E\d{4} \S+ +\d+ ([\w.-]+):\d+\] (.*)$/.exec(line) ?? [];
    if (source === undefined || message === undefined) continue;
    const cause = `${source}: ${message
      .replaceAll(/\b[\da-f-]*\d[\da-f-]*\b/g, "N")
      .replaceAll(/\\?"/g, "'")
      .slice(0, MESSAGE_MAX)}`;
    causes.set(cause, (causes.get(cause) ?? 0) + 1);
  }
  return causes;
}

const MESSAGE_MAX = 200;
