/** Reads one file of a ZIP archive by its central directory; supports stored and deflated files. */
import { inflateRawSync } from "node:zlib";

const DIRECTORY_ENTRY = 0x02014b50;
const DIRECTORY_END = Buffer.from("PK\x05\x06", "latin1");

export function fileInZip(zip: Buffer, name: string): Buffer {
  const end = zip.lastIndexOf(DIRECTORY_END);
  if (end < 0) throw new Error("not a ZIP file");
  let at = zip.readUInt32LE(end + 16);
  while (zip.readUInt32LE(at) === DIRECTORY_ENTRY) {
    const nameLength = zip.readUInt16LE(at + 28);
    if (zip.toString("utf8", at + 46, at + 46 + nameLength) === name) {
      const local = zip.readUInt32LE(at + 42);
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28);
      const bytes = zip.subarray(start, start + zip.readUInt32LE(at + 20));
      return zip.readUInt16LE(at + 10) === 0 ? bytes : inflateRawSync(bytes);
    }
    at += 46 + nameLength + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32);
  }
  throw new Error(`the ZIP file has no ${name}`);
}
