// npm start: install, build, and run one server on the embedded store. Arguments go to `evenkeel serve`.
import { spawn } from "node:child_process";
import { join } from "node:path";
import { buildIfNeeded, install, root } from "./prepare.mjs";

install();
buildIfNeeded();
const server = spawn(join(root, "bin", "evenkeel"), ["serve", ...process.argv.slice(2)], {
  cwd: root,
  stdio: "inherit",
});
// The terminal sends Ctrl-C to everybody; this process only waits for the server to end.
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => signal === "SIGTERM" && server.kill(signal));
server.on("exit", (code, signal) => process.exit(code === null ? (signal === "SIGINT" ? 130 : 1) : code));
