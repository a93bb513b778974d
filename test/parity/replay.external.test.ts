/**
 * Replays recorded requests of a real kube-apiserver, if the recordings are beside the repository, and compares the
 * steps whose responses differ with known-differences.json. The test fails for a new difference, and for a known one
 * that has disappeared.
 */
import { spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, test } from "vitest";
import { startEtcd } from "../testing/storage/kv-etcd/start-etcd.ts";

const ROOT = join(import.meta.dirname, "../..");
const RECORDINGS = join(ROOT, "../shared/fidelity");
const AREAS = [
  "meta/",
  "crud/",
  "list/",
  "watch/",
  "storageversion/",
  "patch/",
  "kinds/",
  "workload/",
  "crd/",
  "review/",
];
const REPLAY_MS = 120_000;

interface KnownDifference {
  readonly reason: string;
  /** Steps as "case#step", with steps counted from 1. */
  readonly steps: readonly string[];
}

function listed(file: string): Set<string> {
  const groups = JSON.parse(readFileSync(join(import.meta.dirname, file), "utf8")) as KnownDifference[];
  return new Set(groups.flatMap(({ steps }) => steps));
}

const known = listed("known-differences.json");
const dependOnTheSecond = listed("depend-on-the-second.json");
const directories: string[] = [];

afterAll(() => {
  for (const directory of directories) rmSync(directory, { recursive: true, force: true });
});

async function differencesOf(flags: readonly string[]): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-parity-"));
  directories.push(directory);
  writeFileSync(join(directory, "tokens"), 'parity-token,admin,1,"system:masters"\n');
  // The recorded server had no controllers, and therefore no service accounts for pods.
  const alone = ["--controllers=", "--disable-admission-plugins=ServiceAccount"];
  const base = ["serve", "--release", "1.36", ...alone, "--secure-port", "0"];
  const server = spawn(join(ROOT, "bin/evenkeel"), [
    ...base,
    "--data-dir",
    join(directory, "data"),
    "--token-auth-file",
    join(directory, "tokens"),
    ...flags,
  ]);
  try {
    const url = await new Promise<string>((resolve, reject) => {
      let output = "";
      server.stdout.on("data", (chunk: Buffer) => {
        output += chunk.toString();
        if (/^Ready/m.test(output)) resolve(/https:\/\/\S+/.exec(output)![0]);
      });
      server.on("exit", (code) => reject(new Error(`the server exited with ${code}: ${output}`)));
    });
    return AREAS.flatMap((area) => replay(url, area));
  } finally {
    server.removeAllListeners("exit");
    const ended = new Promise((resolve) => server.once("exit", resolve));
    server.kill("SIGTERM");
    await ended;
  }
}

function replay(url: string, area: string): string[] {
  const args = [
    join(RECORDINGS, "replay.mjs"),
    "--server",
    url,
    "--token",
    "parity-token",
    "--only",
    area,
    "--verbose",
  ];
  const { stdout } = spawnSync(process.execPath, args, { encoding: "utf8", timeout: REPLAY_MS });
  expect(stdout).toMatch(/^all steps \d+\/\d+/m);
  return [...differingFields(stdout)]
    .filter(([step, fields]) => !dependOnTheSecond.has(step) || !fields.every(isAboutManagers))
    .map(([step]) => step);
}

/** Ages in tables, which may differ by a second from the recording. */
const AGE = /^ {6}\.body\.rows\.\d+\.cells\.\d+: want "\d+s", got "\d+s"$/;

/** The fields that differ, by step, except the ages of objects. */
function differingFields(report: string): Map<string, string[]> {
  const fields = new Map<string, string[]>();
  let name = "";
  let step = "";
  for (const line of report.split("\n")) {
    const start = /^differs: (\S+)/.exec(line);
    const number = /^ {2}step (\d+) /.exec(line);
    const field = AGE.test(line) ? null : /^ {6}(\S+)/.exec(line);
    if (start !== null) name = start[1]!;
    else if (number !== null) fields.set((step = `${name}#${number[1]!}`), []);
    else if (field !== null) fields.get(step)!.push(field[1]!);
  }
  return new Map([...fields].filter(([, differing]) => differing.length > 0));
}

function isAboutManagers(field: string): boolean {
  return field.startsWith(".body.metadata.managedFields.");
}

const hasRecordings = existsSync(RECORDINGS);
if (!hasRecordings) console.log("There are no recordings beside this repository: parity was not checked.");

describe.skipIf(!hasRecordings)("responses differ from kube-apiserver 1.36.4 only in the known steps", () => {
  const expected = [...known].sort();

  test("on the embedded store", { timeout: REPLAY_MS }, async () => {
    expect((await differencesOf([])).sort()).toEqual(expected);
  });

  test("on etcd", { timeout: REPLAY_MS }, async ({ skip }) => {
    const etcd = await startEtcd();
    if (etcd === undefined) return skip("etcd is not installed: install Debian's etcd-server to run this test");
    try {
      expect((await differencesOf(["--etcd-servers", etcd.endpoint])).sort()).toEqual(expected);
    } finally {
      await etcd.stop();
    }
  });
});
