/** The error for a file whose content contradicts the format of etcd's database. */
import { DatabaseFileError } from "../database-file/database-file-error.ts";

/** `problem` is a clause without a period. */
export function damaged(problem: string): DatabaseFileError {
  return new DatabaseFileError(`is damaged: ${problem}; take a new snapshot with "etcdctl snapshot save"`);
}
