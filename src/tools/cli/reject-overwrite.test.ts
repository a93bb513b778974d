import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { rejectOverwrite } from "./reject-overwrite.ts";

function fileIn(): { readonly directory: string; readonly snapshot: string } {
  const directory = mkdtempSync(join(tmpdir(), "evenkeel-overwrite-"));
  onTestFinished(() => rmSync(directory, { recursive: true }));
  const snapshot = join(directory, "before.db");
  writeFileSync(snapshot, "data");
  return { directory, snapshot };
}

test("an output that is an input is rejected, by its path and through a link", () => {
  const { directory, snapshot } = fileIn();
  const link = join(directory, "link.html");
  symlinkSync(snapshot, link);
  for (const output of [snapshot, link])
    expect(() => rejectOverwrite("--html", output, [undefined, snapshot])).toThrow(
      `--html ${output} would overwrite the input ${snapshot}: name another file`,
    );
});

test("another file is accepted as output, whether it or the inputs exist or not", () => {
  const { directory, snapshot } = fileIn();
  const other = join(directory, "report.html");
  expect(() => rejectOverwrite("--html", other, [snapshot, undefined])).not.toThrow();
  writeFileSync(other, "");
  expect(() => rejectOverwrite("--html", other, [snapshot, join(directory, "missing")])).not.toThrow();
});
