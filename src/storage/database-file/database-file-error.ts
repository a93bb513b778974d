/** Why a database file cannot be read, so that callers can tell a bad file from a defect of the reader. */

/** The message continues a sentence that begins with the name of the file, and says what to do. */
export class DatabaseFileError extends Error {
  override readonly name = "DatabaseFileError";
}
