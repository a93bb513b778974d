// npm run demo: install, build, and play the false 404 and its cure with a real kubectl.
import { join } from "node:path";
import { buildIfNeeded, install, node, root, run } from "./prepare.mjs";

install();
buildIfNeeded();
process.exit(run(node, [join(root, "scripts", "demo", "play.ts"), ...process.argv.slice(2)]));
