import { expect, test } from "vitest";
import { backupName, backupTasksOf, logNameOf } from "./backup-files.ts";

const LOG = logNameOf("audit.log");
const NOW = Date.UTC(2030, 0, 10);
const DAY_MS = 86_400_000;
const [NEW, MIDDLE, OLD] = [1, 2, 8].map((days) => backupName(LOG, NOW - days * DAY_MS)) as [string, string, string];
const KEEP_ALL = { backupsMax: 0, ageDaysMax: 0, compress: false, nowMs: NOW };

test.each([
  ["audit.log", "audit-2030-01-10T00-00-00.000.log"],
  ["audit", "audit-2030-01-10T00-00-00.000"],
  [".log", "-2030-01-10T00-00-00.000.log"],
  ["a.b.log", "a.b-2030-01-10T00-00-00.000.log"],
])("the log %s is rotated to the backup %s", (name, backup) => {
  expect(backupName(logNameOf(name), NOW)).toBe(backup);
});

test("only the newest backups are kept; a backup and its compressed copy count as one", () => {
  const files = [OLD, `${NEW}.gz`, NEW, MIDDLE];
  expect(backupTasksOf(files, LOG, { ...KEEP_ALL, backupsMax: 2 }).remove).toEqual([OLD]);
  expect(backupTasksOf(files, LOG, { ...KEEP_ALL, backupsMax: 3 }).remove).toEqual([]);
});

test("expired backups are removed and the others compressed", () => {
  const chores = backupTasksOf([OLD, `${MIDDLE}.gz`, NEW], LOG, { ...KEEP_ALL, ageDaysMax: 7, compress: true });
  expect(chores).toEqual({ remove: [OLD], compress: [NEW] });
});

test("unrelated files are ignored", () => {
  const others = [
    ...["audit.log", "audit-x.log", "audit-2030-13-10T00-00-00.000.log", "other-2030-01-01T00-00-00.000.log"],
    ...["audit-2030-01-01T00-00-00.000.txt", "audit-2030-01-01T00-00-00.000.log.bak", "audit.log.gz"],
  ];
  const strict = { backupsMax: 1, ageDaysMax: 1, compress: true, nowMs: NOW };
  expect(backupTasksOf(others, LOG, strict)).toEqual({ remove: [], compress: [] });
});
