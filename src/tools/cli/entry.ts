#!/usr/bin/env node
/** The built command: what has been compiled before is not compiled again. From source it is main.ts alone. */
import { enableCompileCache } from "node:module";
import { join } from "node:path";

// Beside the code itself: whoever may write there may change the code as well. Where nobody may, nothing is kept.
enableCompileCache(join(import.meta.dirname, "compiled"));
await import("./main.ts");
