/** Turns errors of SQLite into sentences about the file. */
import { DatabaseFileError } from "../database-file/database-file-error.ts";

/** Primary result codes of SQLite. */
const BUSY = 5;
const CANNOT_OPEN = 14;
const CORRUPT = 11;
const NOT_A_DATABASE = 26;
const PRIMARY_MASK = 0xff;

/** Throws a `DatabaseFileError` if `read` throws an error of SQLite. */
export function throwingFileErrors<Result>(read: () => Result): Result {
  try {
    return read();
  } catch (thrown) {
    if (thrown instanceof Error && "code" in thrown) {
      const code = "errcode" in thrown && typeof thrown.errcode === "number" ? thrown.errcode : 0;
      if (thrown.code === "ERR_SQLITE_ERROR") {
        throw new DatabaseFileError(sentenceFor(code & PRIMARY_MASK, thrown.message), { cause: thrown });
      }
      if (thrown.code === "ERR_OUT_OF_RANGE") throw damagedDatabase("a number is beyond 2^53");
    }
    throw thrown;
  }
}

/** `problem` is a clause without a period. */
export function damagedDatabase(problem: string): DatabaseFileError {
  return new DatabaseFileError(
    `is damaged: ${problem}; stop k3s, and copy the file again together with the files that begin with its name`,
  );
}

function sentenceFor(code: number, message: string): string {
  switch (code) {
    case BUSY:
      return "is locked by another program; stop k3s, or pass a copy of the file and of those that begin with its name";
    case CANNOT_OPEN:
      return (
        "cannot be opened read-only together with the journal beside it; copy the file and those that begin with its " +
        "name to a directory in which you may write"
      );
    case CORRUPT:
    case NOT_A_DATABASE:
      return damagedDatabase(message).message;
    default:
      return `cannot be read: ${message}; copy the file again together with the files that begin with its name`;
  }
}
