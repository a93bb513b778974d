/** Names rotated logs and decides which of them to remove or compress, as lumberjack does. Pure. */

export interface Retention {
  /** Maximum number of rotated logs; 0 means no limit. */
  readonly backupsMax: number;
  /** Maximum age of rotated logs; 0 means no limit. */
  readonly ageDaysMax: number;
  readonly compress: boolean;
}

export interface LogName {
  readonly prefix: string;
  readonly extension: string;
}

interface BackupTasks {
  readonly remove: readonly string[];
  readonly compress: readonly string[];
}

export const COMPRESSED = ".gz";
const DAY_MS = 86_400_000;

/**
 * Splits a file name. As Go's filepath.Ext, the extension begins at the last dot, even if that is the first character.
 */
export function logNameOf(fileName: string): LogName {
  const dot = fileName.lastIndexOf(".");
  const stem = dot === -1 ? fileName : fileName.slice(0, dot);
  return { prefix: `${stem}-`, extension: dot === -1 ? "" : fileName.slice(dot) };
}

/** The name of a rotated log: audit.log becomes audit-2030-01-02T03-04-05.678.log. */
export function backupName({ prefix, extension }: LogName, epochMs: number): string {
  return `${prefix}${new Date(epochMs).toISOString().slice(0, -1).replaceAll(":", "-")}${extension}`;
}

/** Selects the rotated logs of a directory that are to be removed or compressed. */
export function backupTasksOf(
  fileNames: readonly string[],
  log: LogName,
  options: Retention & { nowMs: number },
): BackupTasks {
  const { backupsMax, ageDaysMax, compress, nowMs } = options;
  const remove: string[] = [];
  let kept = backupsOf(fileNames, log);
  if (backupsMax > 0) {
    const names = new Set<string>();
    kept = kept.filter(({ fileName }) => {
      names.add(uncompressedName(fileName));
      return names.size <= backupsMax || remove.push(fileName) === 0;
    });
  }
  if (ageDaysMax > 0) {
    const oldestMs = nowMs - ageDaysMax * DAY_MS;
    kept = kept.filter(({ fileName, epochMs }) => epochMs >= oldestMs || remove.push(fileName) === 0);
  }
  const plain = compress ? kept.filter(({ fileName }) => !fileName.endsWith(COMPRESSED)) : [];
  return { remove, compress: plain.map(({ fileName }) => fileName) };
}

interface Backup {
  readonly fileName: string;
  readonly epochMs: number;
}

/** The rotated logs among the files, newest first. */
function backupsOf(fileNames: readonly string[], log: LogName): Backup[] {
  const backups: Backup[] = [];
  for (const fileName of fileNames) {
    const epochMs = timeIn(fileName, log) ?? timeIn(fileName, { ...log, extension: log.extension + COMPRESSED });
    if (epochMs !== undefined) backups.push({ fileName, epochMs });
  }
  return backups.sort((left, right) => right.epochMs - left.epochMs);
}

function timeIn(fileName: string, { prefix, extension }: LogName): number | undefined {
  if (!fileName.startsWith(prefix) || !fileName.endsWith(extension)) return undefined;
  const said = fileName.slice(prefix.length, fileName.length - extension.length);
  const parts = /^(\d{4}-\d\d-\d\dT)(\d\d)-(\d\d)-(\d\d\.\d{3})$/.exec(said);
  if (parts === null) return undefined;
  const epochMs = Date.parse(`${parts[1]!}${parts[2]!}:${parts[3]!}:${parts[4]!}Z`);
  return Number.isNaN(epochMs) ? undefined : epochMs;
}

function uncompressedName(fileName: string): string {
  return fileName.endsWith(COMPRESSED) ? fileName.slice(0, -COMPRESSED.length) : fileName;
}
