import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { disposableDirectory, runProgram, startEvenkeel } from "../smoke/start-evenkeel.ts";

/** Debian's python3-kubernetes is installed for Debian's Python, which may not be the first Python in PATH. */
const PYTHONS = ["/usr/bin/python3", "python3"];
const SCRIPT = fileURLToPath(new URL("python-client.py", import.meta.url));
const INSTALL_TIMEOUT_MS = 120_000;

function findPython(): string | undefined {
  return PYTHONS.find((python) => spawnSync(python, ["-c", "import kubernetes"], { stdio: "ignore" }).status === 0);
}

function install(): void {
  if (process.getuid?.() !== 0) return;
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive" };
  const apt = (...commandLine: string[]): boolean =>
    spawnSync("apt-get", commandLine, { stdio: "ignore", env, timeout: INSTALL_TIMEOUT_MS }).status === 0;
  if (!apt("install", "-y", "python3-kubernetes") && apt("update")) apt("install", "-y", "python3-kubernetes");
}

let python = findPython();
if (python === undefined) {
  install();
  python = findPython();
}
if (python === undefined)
  console.warn("Python's kubernetes package is not installed, so its test was not run (install python3-kubernetes)");

test.skipIf(python === undefined)(
  "the typed and the dynamic Python client create, read, replace, patch, page, watch and delete objects",
  async () => {
    await using server = await startEvenkeel();
    // The dynamic client caches discovery in the temporary directory, by the address of the server, so each test has
    // its own directory.
    using directory = disposableDirectory();
    const env = { PATH: process.env["PATH"], HOME: directory.path, TMPDIR: directory.path };
    await using script = runProgram(python!, ["-W", "ignore", SCRIPT, server.kubeconfig], env);
    const { code } = await script.exited;
    expect({ code, stderr: script.stderr }).toEqual({ code: 0, stderr: "" });
    expect(script.stdout.trim().split("\n")).toEqual(["typed", "deployments", "paging", "watching", "dynamic_client"]);
  },
);
