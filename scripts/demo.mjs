// npm run demo: installs the dependencies, builds, and shows with a real kubectl how the proxy prevents a false 404.
import { join } from "node:path";
import { buildIfNeeded, install, node, root, run } from "./prepare.mjs";

const [first] = process.argv.slice(2);
if (first !== undefined) {
  const isHelp = first === "--help" || first === "-h";
  const help =
    "Usage: npm run demo\n\nStarts two API servers of different releases on one store. Shows with a real kubectl the 404 that a client\ngets from the older server, and the same request through the mixed version proxy.";
  console[isHelp ? "log" : "error"](isHelp ? help : `demo: unexpected argument ${first}; see --help`);
  process.exit(isHelp ? 0 : 2);
}
install();
buildIfNeeded();
process.exit(run(node, [join(root, "scripts", "demo", "play.ts")]));
