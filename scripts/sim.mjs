// npm run sim: installs the dependencies and runs simulated clusters with faults. Arguments go to the simulator; see
// --help.
import { join } from "node:path";
import { install, node, root, run } from "./prepare.mjs";

install();
process.exit(run(node, [join(root, "scripts", "simulate.ts"), ...process.argv.slice(2)]));
