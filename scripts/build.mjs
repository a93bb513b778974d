// Bundles the command and the storage worker into dist/, with the catalogue's data beside them.
import { cpSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { build } from "esbuild";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const root = new URL("..", import.meta.url).pathname;

// Built beside it and put in its place whole: a build that fails, and a server that runs, keep what they have.
const fresh = `${root}node_modules/.cache/evenkeel/dist-new-${process.pid}`;
const stale = `${root}node_modules/.cache/evenkeel/dist-old-${process.pid}`;
await build({
  absWorkingDir: root,
  entryPoints: { cli: "src/cli/main.ts", "kv-sqlite-worker": "src/storage/kv-sqlite/worker.ts" },
  outdir: fresh,
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
  banner: {
    js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
  },
});
cpSync(`${root}src/catalogue/data`, `${fresh}/data`, { recursive: true });
if (existsSync(`${root}dist`)) renameSync(`${root}dist`, stale);
renameSync(fresh, `${root}dist`);
rmSync(stale, { recursive: true, force: true });
