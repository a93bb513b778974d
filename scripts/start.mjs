// npm start: installs the dependencies, builds, and runs a cluster of several releases. Arguments go to `evenkeel up`.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { buildIfNeeded, install, root } from "./prepare.mjs";

install();
buildIfNeeded();
const cluster = spawn(join(root, "bin", "evenkeel"), ["up", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
// On SIGINT only waits for the cluster to exit, because the terminal sends Ctrl-C to the whole process group. SIGTERM
// is forwarded.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => signal === "SIGTERM" && cluster.kill(signal));
cluster.on("exit", (code, signal) => process.exit(code === null ? (signal === "SIGINT" ? 130 : 1) : code));
