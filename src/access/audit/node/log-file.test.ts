import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { SILENT_LOG } from "../../../base/log.ts";
import { World } from "../../../tools/simulator/world.ts";
import type { AuditOutput } from "../backend.ts";
import type { LogFileOptions } from "../options.ts";
import { openAuditOutput } from "./open-output.ts";

let directory: string;
let world: World;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "audit-"));
  world = new World({ seed: 1 });
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

function open(options: Partial<LogFileOptions> = {}): Promise<AuditOutput> {
  const file = { path: join(directory, "audit.log"), bytesMax: 10, backupsMax: 0, ageDaysMax: 0, compress: false };
  return openAuditOutput({ ...file, ...options }, { clock: world.clock, log: SILENT_LOG });
}

function lines(...texts: string[]): Buffer[] {
  return texts.map((text) => Buffer.from(`${text}\n`));
}

function files(): Record<string, string> {
  return Object.fromEntries(readdirSync(directory).map((name) => [name, readFileSync(join(directory, name), "utf8")]));
}

const FIRST = "audit-2030-01-01T00-00-00.000.log";
const SECOND = "audit-2030-01-01T00-00-00.001.log";

test("the file and its directory are created with access for the server's user only", async () => {
  const path = join(directory, "a", "b", "audit.log");
  const output = await open({ path });
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(directory, "a")).mode & 0o777).toBe(0o700);
  await output.close();
});

test("the server does not start if the file cannot be created", async () => {
  writeFileSync(join(directory, "a"), "");
  await expect(open({ path: join(directory, "a", "audit.log") })).rejects.toThrow(/ENOTDIR|EEXIST/);
});

test.runIf(process.platform === "linux")("the server does not start if the directory cannot be created", async () => {
  await expect(open({ path: "/proc/foo/audit.log" })).rejects.toThrow("ENOENT");
});

describe("a log", () => {
  test("is appended to, and rotated before it exceeds the maximum size", async () => {
    writeFileSync(join(directory, "audit.log"), "old\n");
    const output = await open();
    expect(await output.write(lines("1234"))).toEqual([]);
    expect(await output.write(lines("5678", "9", "abcdefg"))).toEqual([]);
    await output.close();
    expect(files()).toEqual({ [FIRST]: "old\n1234\n", [SECOND]: "5678\n9\n", "audit.log": "abcdefg\n" });
  });

  test("grows without a limit if rotation is disabled", async () => {
    const output = await open({ bytesMax: 0 });
    await output.write(lines("0123456789", "0123456789"));
    await output.close();
    expect(files()).toEqual({ "audit.log": "0123456789\n0123456789\n" });
  });

  test("keeps its file mode after rotation", async () => {
    const path = join(directory, "audit.log");
    writeFileSync(path, "0123456789\n");
    chmodSync(path, 0o700);
    const output = await open();
    await output.write(lines("x"));
    await output.close();
    expect(statSync(path).mode & 0o777).toBe(0o700);
  });

  test("skips a line that exceeds the maximum file size, and writes the other lines", async () => {
    const output = await open();
    const lost = await output.write(lines("a", "0123456789", "b"));
    expect(lost.map(({ index, error }) => [index, error.message])).toEqual([
      [1, "write length 11 exceeds maximum file size 10"],
    ]);
    await output.close();
    expect(files()).toEqual({ "audit.log": "a\nb\n" });
  });

  test("drops lines that cannot be written, and opens the file again for the next lines", async () => {
    const path = join(directory, "sub", "audit.log");
    const output = await open({ path });
    renameSync(join(directory, "sub"), join(directory, "gone"));
    writeFileSync(join(directory, "sub"), "");
    expect((await output.write(lines("1", "2"))).map(({ index }) => index)).toEqual([0, 1]);
    rmSync(join(directory, "sub"));
    expect(await output.write(lines("3"))).toEqual([]);
    await output.close();
    expect(readFileSync(path, "utf8")).toBe("3\n");
  });
});

describe("rotated logs", () => {
  test("beyond the maximum number are removed", async () => {
    const output = await open({ backupsMax: 1 });
    for (const text of ["1234567", "2345678", "3456789"]) await output.write(lines(text));
    await output.close();
    expect(files()).toEqual({ [SECOND]: "2345678\n", "audit.log": "3456789\n" });
  });

  test("are compressed", async () => {
    const output = await open({ compress: true });
    await output.write(lines("1234567", "2345678"));
    await output.close();
    expect(Object.keys(files())).toEqual([`${FIRST}.gz`, "audit.log"]);
    expect(gunzipSync(readFileSync(join(directory, `${FIRST}.gz`))).toString()).toBe("1234567\n");
  });
});
