// Builds dist/: the command with its compile cache, the library, the storage worker, the catalog data, and the client
// package.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
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

const forNode = {
  ...shared,
  outdir: fresh,
  platform: "node",
  target: "node24",
  mainFields: ["module", "main"],
  alias: { "node:http": `${root}scripts/node-http.mjs` },
  define: { EVENKEEL_VERSION: JSON.stringify(version) },
};

const buildLibrary = () =>
  build({
    ...forNode,
    entryPoints: { cli: "src/tools/cli/entry.ts", index: LIBRARY_ENTRY },
    // Some dependencies are CommonJS and call require() for Node's built-in modules.
    banner: {
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
  });

// The command is one script, which entry.ts compiles: only for scripts can Node.js store the compiled functions that a
// run has called. V8 keeps the source text in memory, so white space is removed. Lines stay short for stack traces.
const buildCommand = () =>
  build({
    ...forNode,
    splitting: false,
    format: "cjs",
    minifyWhitespace: true,
    lineLimit: 160,
    stdin: { contents: 'import "./src/tools/cli/main.ts";', resolveDir: root, sourcefile: "evenkeel.ts" },
    outfile: `${fresh}/evenkeel.cjs`,
    outdir: undefined,
    define: { ...forNode.define, "import.meta.url": "__moduleUrl" },
    banner: { js: "(function (require, __moduleUrl) {" },
    footer: { js: "})" },
  });

// CommonJS, so that the worker thread does not load the module loader of Node.js.
const buildWorker = () =>
  build({
    ...forNode,
    splitting: false,
    format: "cjs",
    entryPoints: { "kv-sqlite-worker": "src/storage/kv-sqlite/worker.ts" },
    outExtension: { ".js": ".cjs" },
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
  for (const file of readdirSync(fresh).filter((name) => /\.c?js$/.test(name))) {
    const found = /^.*[^\0-\x7f].*$/m.exec(readFileSync(join(fresh, file), "utf8"));
    if (found !== null)
      throw new Error(`use \\u… escapes for the non-ASCII characters in: ${found[0].trim().slice(0, 200)}`);
  }
}

/**
 * Starts a server once, which writes the compile cache when it exits. The package contains this cache; it is valid for
 * this version of Node.js only.
 */
async function writeCompileCache() {
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-build-"));
  const server = spawn(
    process.execPath,
    [`${fresh}/cli.js`, "serve", "--data-dir", directory, "--secure-port", "0", "--bind-address", "127.0.0.1"],
    { stdio: ["ignore", "pipe", "inherit"] },
  );
  server.stdout.setEncoding("utf8");
  let output = "";
  server.stdout.on("data", (text) => {
    if (!output.includes("Ready.") && (output += text).includes("Ready.")) server.kill("SIGTERM");
  });
  const [code] = await once(server, "exit");
  rmSync(directory, { recursive: true });
  if (code !== 0) throw new Error("the built server did not start");
}

await Promise.all([buildCommand(), buildLibrary(), buildWorker(), buildClient(), declareTypes()]);
rejectNonAscii();
cpSync(`${root}src/objects/catalog/data`, `${fresh}/data`, { recursive: true });
await writeCompileCache();
if (existsSync(`${root}dist`)) renameSync(`${root}dist`, stale);
renameSync(fresh, `${root}dist`);
rmSync(stale, { recursive: true, force: true });
