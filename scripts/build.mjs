// Bundles the command and the storage worker into dist/, with the catalogue's data beside them.
import { cpSync, readFileSync, rmSync } from "node:fs";
import { build } from "esbuild";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const root = new URL("..", import.meta.url).pathname;

rmSync(`${root}dist`, { recursive: true, force: true });
await build({
  absWorkingDir: root,
  entryPoints: { cli: "src/cli/main.ts", "kv-sqlite-worker": "src/storage/kv-sqlite/worker.ts" },
  outdir: "dist",
  bundle: true,
  splitting: true,
  platform: "node",
  target: "node24",
  format: "esm",
  mainFields: ["module", "main"],
  minifyWhitespace: false,
  sourcemap: false,
  logLevel: "warning",
  define: { EVENKEEL_VERSION: JSON.stringify(version) },
  // Some dependencies are CommonJS and ask for Node's own modules.
  banner: { js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);' },
});
cpSync(`${root}src/catalogue/data`, `${root}dist/data`, { recursive: true });
