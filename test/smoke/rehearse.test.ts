import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { RehearsalReport } from "../../src/tools/rehearsal/report.ts";
import { ensureBuilt, EVENKEEL } from "./built.ts";
import { disposableDirectory, run, runProgram, type Command, type Exit } from "./start-evenkeel.ts";

interface Ended extends Exit {
  readonly stdout: string;
  readonly stderr: string;
}

async function rehearse(...flags: string[]): Promise<Ended> {
  await using command = run("rehearse", ...flags);
  return await ended(command);
}

async function ended(command: Command): Promise<Ended> {
  const exit = await command.exited;
  return { ...exit, stdout: command.stdout, stderr: command.stderr };
}

/** How long both releases were served together; negative if the second server was stopped first. */
function mixedMs({ steps: [first, second] }: RehearsalReport["runs"][number]): number {
  return (second?.stoppedAtMs ?? 0) - (first?.readyAtMs ?? Infinity);
}

/** The clients read a resource of only one release several times in this time. */
const MIXED_MS_MIN = 4_000;
/** Longer than a rehearsal of a few minutes takes on a busy machine. */
const TIMEOUT_MS = 300_000;
const UPGRADE = ["--from", "1.33", "--to", "1.36"];
const SHORT = ["--from", "1.33", "--to", "1.34", "--servers", "2", "--minutes", "2"];

describe("evenkeel rehearse", { timeout: TIMEOUT_MS }, () => {
  test("--help names every flag and shows examples", async () => {
    const { code, stdout } = await rehearse("--help");
    expect(code).toBe(0);
    for (const flag of ["--from", "--to", "--servers", "--manifests", "--down", "--minutes", "--faults", "--subject"])
      expect(stdout).toContain(flag);
    expect(stdout).toContain("$ evenkeel rehearse --from 1.33 --to 1.36");
  });

  test("from 1.33 to 1.36 of Evenkeel in 5 virtual minutes reports no wrong response, and exits with 0", async () => {
    using directory = disposableDirectory();
    const html = join(directory.path, "rehearsal.html");
    const flags = [...UPGRADE, "--minutes", "5", "--subject", "evenkeel", "--html", html];
    const { code, stdout, stderr } = await rehearse(...flags);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^Rehearsal of 1\.33 to 1\.36: 3 servers, 5 virtual minutes/);
    expect(stdout.replaceAll(/\n +/g, " ")).toContain(`evenkeel rehearse ${flags.join(" ")}\n`);
    expect(stdout).toMatch(/^WRONG +[1-9]\d* +0$/m);
    expect(stdout).toMatch(/\nPass: Evenkeel: 0 wrong responses\./);
    expect(readFileSync(html, "utf8")).toMatch(/^<!doctype html>/);
  });

  test("is about kube-apiserver as it comes by default: fails with exit code 1, and compares it with the proxy", async () => {
    const { code, stdout, stderr } = await rehearse(...SHORT, "-o", "json");
    expect({ code, stderr }).toEqual({ code: 1, stderr: "" });
    const report = JSON.parse(stdout) as RehearsalReport;
    expect(report.verdict.sentence).toMatch(
      /^Fail: kube-apiserver as it comes: \d+ wrong responses.* With the mixed version proxy: /,
    );
    expect(report.runs.map(({ subject }) => subject)).toEqual(["kube-apiserver", "kube-apiserver-with-proxy"]);
    expect(report.runs[0]?.firstWrong.length).toBeGreaterThan(0);
  });

  test("with a manifest whose API version is removed fails, and names the replacement", async () => {
    using directory = disposableDirectory();
    const manifests = join(directory.path, "deploy");
    mkdirSync(join(manifests, "below"), { recursive: true });
    const text =
      "apiVersion: flowcontrol.apiserver.k8s.io/v1beta3\nkind: FlowSchema\nmetadata: {name: mine}\nspec: {}\n";
    writeFileSync(join(manifests, "below", "flow.yaml"), text);
    writeFileSync(join(manifests, "notes.txt"), "not: [a manifest");
    const flags = ["--from", "1.31", "--to", "1.32", "--servers", "1", "--minutes", "2"];
    const { code, stdout } = await rehearse(...flags, "--manifests", manifests, "-o", "json");
    const { manifests: examined, verdict } = JSON.parse(stdout) as RehearsalReport;
    expect(code).toBe(1);
    expect(examined?.findings).toMatchObject([
      {
        kind: "vanishes",
        file: join("below", "flow.yaml"),
        release: "1.32",
        replacement: expect.stringMatching(/v1 /),
      },
    ]);
    expect(verdict.sentence).toContain("1 manifest uses an API");
  });
});

describe("evenkeel rehearse --real", () => {
  test("runs in real time with processes, reports both runs separately, and leaves no files or processes behind", async () => {
    using directory = disposableDirectory();
    const temporary = { ...process.env, TMPDIR: directory.path };
    const flags = ["--from", "1.33", "--to", "1.34", "--servers", "2", "--minutes", "0.5", "-o", "json"];
    ensureBuilt();
    await using command = runProgram(EVENKEEL, ["rehearse", "--real", ...flags], temporary);
    const { code, stdout, stderr } = await ended(command);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    const { runs, settings } = JSON.parse(stdout) as RehearsalReport;
    expect(settings.time).toBe("real");
    const [off, on] = runs as [RehearsalReport["runs"][number], RehearsalReport["runs"][number]];
    expect(on).toMatchObject({ subject: "evenkeel", wrong: 0, failures: [] });
    expect(off).toMatchObject({ subject: "evenkeel-without-proxy", failures: [] });
    if (mixedMs(off) >= MIXED_MS_MIN) expect(off.wrong).toBeGreaterThan(0);
    else console.warn("this machine is too busy for this rehearsal, so the wrong responses were not checked");
    for (const { steps } of runs)
      expect(steps.map(({ to, readyAtMs }) => [to, readyAtMs !== null])).toEqual([
        ["1.34", true],
        ["1.34", true],
      ]);
    expect(readdirSync(directory.path)).toEqual([]);
  }, 240_000);
});

describe("the error about a rehearsal that cannot run", () => {
  const cases: readonly (readonly [flags: readonly string[], names: string])[] = [
    [["--from", "1.33"], "--to"],
    [["--to", "1.36"], "--from"],
    [["--to", "1.36", "--snapshot", "/nowhere/at/all.db"], "/nowhere/at/all.db"],
    [["--to", "1.36", "--kubeconfig", "/nowhere/at/all"], "/nowhere/at/all"],
    [["--to", "1.36", "--snapshot", "a.db", "--kubeconfig", "b"], "--snapshot"],
    [["--from", "1.33", "--to", "1.99"], "1.99"],
    [["--from", "1.36", "--to", "1.33"], "--to"],
    [["--from", "1.33", "--to", "1.36", "--minutes", "1"], "--minutes"],
    [["--from", "1.33", "--to", "1.36", "--minutes", "soon"], "soon"],
    [["--from", "1.33", "--to", "1.36", "--servers", "0"], "0"],
    [["--from", "1.33", "--to", "1.36", "--servers", "99"], "--servers"],
    [["--from", "1.33", "--to", "1.36", "--faults", "some"], "some"],
    [["--from", "1.33", "--to", "1.36", "--subject", "etcd"], "etcd"],
    [["--from", "1.33", "--to", "1.36", "--real", "--subject", "kube-apiserver"], "--real"],
    [["--from", "1.33", "--to", "1.36", "--seed", "-1"], "-1"],
    [["--from", "1.33", "--to", "1.36", "-o", "yaml"], "yaml"],
    [["--from", "1.33", "--to", "1.36", "--manifests", "/nowhere/at/all"], "/nowhere/at/all"],
    [["--from", "1.33", "--to", "1.36", "--html", "/nowhere/at/all.html"], "/nowhere/at/all.html"],
  ];
  test.each(cases)("with %j is one sentence that contains the value, with exit code 2", async (flags, names) => {
    const { code, stdout, stderr } = await rehearse(...flags);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/^evenkeel: [^\n]+\n$/);
    expect(stderr).toContain(names);
  });

  test("with manifests that cannot be read is one sentence that contains the file name", async () => {
    using directory = disposableDirectory();
    writeFileSync(join(directory.path, "broken.yaml"), "a: [1\n");
    const html = join(directory.path, "rehearsal.html");
    const flags = ["--manifests", directory.path, "--html", html];
    const { code, stderr } = await rehearse("--from", "1.33", "--to", "1.36", ...flags);
    expect({ code, stderr }).toEqual({ code: 2, stderr: expect.stringMatching(/^evenkeel: broken\.yaml [^\n]+\n$/) });
    expect(existsSync(html)).toBe(false);
  });
});
