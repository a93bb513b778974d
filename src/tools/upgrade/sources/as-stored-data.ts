/** Turns the problems of a database file into errors that name the file. */
import { DatabaseFileError } from "../../../storage/database-file/database-file-error.ts";
import { StoredDataError } from "../stored-data.ts";

export async function asStoredData<Result>(path: string, read: () => Result | Promise<Result>): Promise<Result> {
  try {
    return await read();
  } catch (thrown) {
    if (thrown instanceof DatabaseFileError) throw new StoredDataError(`${path} ${thrown.message}`, { cause: thrown });
    if (thrown instanceof Error && "syscall" in thrown) {
      throw new StoredDataError(`cannot read ${path}: ${thrown.message}; check the path and its permissions`, {
        cause: thrown,
      });
    }
    throw thrown;
  }
}
