/** Verifies the SHA-256 that `etcdctl snapshot save` appends to the database. */
import { createHash } from "node:crypto";
import { DatabaseFileError } from "../database-file/database-file-error.ts";
import { HASH_BYTES, type RawFile } from "./raw-file.ts";
import { Slices, type SliceOptions } from "../database-file/slices.ts";

const READ_BYTES = 1024 * 1024;

export async function verifyHash(file: RawFile, options: SliceOptions): Promise<void> {
  const slices = new Slices(options);
  const hash = createHash("sha256");
  const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
  for (let position = 0; position < file.dataBytes; position += READ_BYTES) {
    const length = Math.min(READ_BYTES, file.dataBytes - position);
    file.read(buffer, length, position);
    hash.update(length === READ_BYTES ? buffer : buffer.subarray(0, length));
    if (slices.isOver) await slices.next(position + length, file.dataBytes);
  }
  const expected = Buffer.alloc(HASH_BYTES);
  file.read(expected, HASH_BYTES, file.dataBytes);
  if (!hash.digest().equals(expected)) {
    throw new DatabaseFileError(
      "is damaged or incomplete: its content does not match the SHA-256 at its end; copy it again, or take a new snapshot",
    );
  }
}
