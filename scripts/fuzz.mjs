// npm run fuzz: installs the dependencies and sends malformed requests to servers. Arguments go to the fuzzer; see
// --help.
import { join } from "node:path";
import { install, node, root, run } from "./prepare.mjs";

install();
process.exit(run(node, [join(root, "test", "fuzz", "main.ts"), ...process.argv.slice(2)]));
