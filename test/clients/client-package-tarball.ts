/** Installs the package, as npm packs it, into the node_modules of a directory, without a registry. */
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { ensureBuilt, ROOT } from "../smoke/built.ts";

export function installPackage(directory: string): void {
  ensureBuilt();
  const packed = join(directory, "packed");
  mkdirSync(packed);
  const flags = ["--offline", "--ignore-scripts", "--workspaces=false", "--pack-destination", packed];
  execFileSync("npm", ["pack", ...flags], { cwd: ROOT, stdio: "ignore" });
  const installed = join(directory, "node_modules/evenkeel");
  mkdirSync(installed, { recursive: true });
  const [tarball] = readdirSync(packed);
  execFileSync("tar", ["-xzf", join(packed, tarball!), "--strip-components", "1", "-C", installed]);
}
