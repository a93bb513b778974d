// npm run bench: installs the dependencies, builds the server and measures it. Arguments go to the benchmark; see
// --help.
import { join } from "node:path";
import { buildIfNeeded, install, node, root, run } from "./prepare.mjs";

install();
buildIfNeeded();
process.exit(run(node, [join(root, "bench", "main.ts"), ...process.argv.slice(2)]));
