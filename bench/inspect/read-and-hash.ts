/** The floor of an inspection: reads a file from its start to its end, and computes its SHA-256. */
import { createHash } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";

const READ_BYTES = 1024 * 1024;

const hash = createHash("sha256");
const buffer = Buffer.allocUnsafeSlow(READ_BYTES);
const descriptor = openSync(process.argv[2]!, "r");
for (;;) {
  const bytes = readSync(descriptor, buffer);
  if (bytes === 0) break;
  hash.update(buffer.subarray(0, bytes));
}
closeSync(descriptor);
process.stdout.write(`${hash.digest("hex")}\n`);
