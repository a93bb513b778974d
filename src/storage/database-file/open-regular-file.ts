/** Opens a file for reading, but not a named pipe or a device, which could wait or never end. */
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { DatabaseFileError } from "./database-file-error.ts";

/** Without O_NONBLOCK, opening a named pipe would wait for a writer. */
export function openRegularFile(path: string): number {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  if (fstatSync(descriptor).isFile()) return descriptor;
  closeSync(descriptor);
  throw new DatabaseFileError("is not a regular file; pass the path of a file");
}
