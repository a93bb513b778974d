// Builds dist/: the command, the library and the storage worker with the catalog data, and the client package.
import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { build } from "esbuild";

const { version } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));
const root = new URL("..", import.meta.url).pathname;

// dist/ is built in a separate directory and renamed at the end, so that the old files stay in place during the build,
// and if it fails.
const cache = `${root}node_modules/.cache/evenkeel`;
const fresh = `${cache}/dist-new-${process.pid}`;
const stale = `${cache}/dist-old-${process.pid}`;

const shared = {
  absWorkingDir: root,
  bundle: true,
  splitting: true,
  format: "esm",
  minifyWhitespace: false,
  sourcemap: false,
  logLevel: "warning",
};

const LIBRARY_ENTRY = "src/index.ts";

const buildCommand = () =>
  build({
    ...shared,
    entryPoints: {
      cli: "src/tools/cli/entry.ts",
      index: LIBRARY_ENTRY,
      "kv-sqlite-worker": "src/storage/kv-sqlite/worker.ts",
    },
    outdir: fresh,
    platform: "node",
    target: "node24",
    mainFields: ["module", "main"],
    alias: { "node:http": `${root}scripts/node-http.mjs` },
    define: { EVENKEEL_VERSION: JSON.stringify(version) },
    // Some dependencies are CommonJS and call require() for Node's built-in modules.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });

// The entries of the client package, as in package.json's "exports". Entries for browsers share code with the others.
const CLIENT_ENTRIES = {
  index: "src/client/index.ts",
  node: "src/client/node-transport.ts",
  "client-node": "src/client/client-node/with-evenkeel.ts",
};

const buildClient = () =>
  build({
    ...shared,
    entryPoints: CLIENT_ENTRIES,
    outdir: `${fresh}/client`,
    platform: "neutral",
    external: ["node:*"],
    target: "es2024",
  });

/** Emits declarations without checking types; `tsc -p .` checks them. */
async function declareTypes() {
  const types = `${fresh}/types`;
  const config = `${cache}/tsconfig-${process.pid}.json`;
  const compilerOptions = {
    noEmit: false,
    noCheck: true,
    declaration: true,
    emitDeclarationOnly: true,
    rootDir: `${root}src`,
    outDir: types,
    typeRoots: [`${root}node_modules/@types`],
  };
  const files = [LIBRARY_ENTRY, ...Object.values(CLIENT_ENTRIES)].map((file) => root + file);
  mkdirSync(cache, { recursive: true });
  writeFileSync(config, JSON.stringify({ extends: `${root}tsconfig.json`, compilerOptions, files, include: [] }));
  const tsc = spawn(process.execPath, [`${root}node_modules/typescript/bin/tsc`, "-p", config], { stdio: "inherit" });
  const [code] = await once(tsc, "exit");
  rmSync(config);
  if (code !== 0) throw new Error("failed to write the type declarations");
  const needed = declarationsFrom(files.map((file) => file.replace(`${root}src`, types).replace(/\.ts$/, ".d.ts")));
  for (const entry of readdirSync(types, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const file = join(entry.parentPath, entry.name);
    if (needed.has(file)) importBuilt(file);
    else rmSync(file);
  }
}

/** The declarations that the entries reference, directly or indirectly; all others are not part of the package. */
function declarationsFrom(entries) {
  const found = new Set(entries);
  for (const file of found)
    for (const [, path] of readFileSync(file, "utf8").matchAll(IMPORTED))
      found.add(join(dirname(file), `${path}.d.ts`));
  return found;
}

const IMPORTED = /(?:\bfrom |\bimport\()"(\.[^"]*)\.ts"/g;

/** Replaces imports of "x.ts" by "x.js", because some compilers do not resolve "x.ts" to "x.d.ts". */
function importBuilt(file) {
  const text = readFileSync(file, "utf8");
  writeFileSync(file, text.replace(/(\bfrom |\bimport\()"(\.[^"]*)\.ts"/g, '$1"$2.js"'));
}

/**
 * Fails for non-ASCII characters in the output: with a single one, V8 keeps the whole file in memory with two bytes per
 * character. esbuild escapes all of them except in regular expressions.
 */
function rejectNonAscii() {
  for (const file of readdirSync(fresh).filter((name) => name.endsWith(".js"))) {
    const found = /^.*[^\0-\x7f].*$/m.exec(readFileSync(join(fresh, file), "utf8"));
    if (found !== null)
      throw new Error(`use \\u… escapes for the non-ASCII characters in: ${found[0].trim().slice(0, 200)}`);
  }
}

await Promise.all([buildCommand(), buildClient(), declareTypes()]);
rejectNonAscii();
cpSync(`${root}src/objects/catalog/data`, `${fresh}/data`, { recursive: true });
if (existsSync(`${root}dist`)) renameSync(`${root}dist`, stale);
renameSync(fresh, `${root}dist`);
rmSync(stale, { recursive: true, force: true });
// Fills the compile cache of Node, so that the first start of the command is as fast as later ones.
execFileSync(process.execPath, [`${root}dist/cli.js`, "--version"], { stdio: "ignore" });
