/**
 * Unpacks a gzipped database to a temporary file, because its pages are read in an order of their own. The file has no
 * name, so it is gone with the process, and nobody else can open it.
 */
import { randomUUID } from "node:crypto";
import { closeSync, constants, fstatSync, openSync, readSync, statfsSync, unlinkSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { createGunzip } from "node:zlib";
import type { SliceOptions } from "../database-file/slices.ts";
import { isBolt, META_BYTES_MAX, notBolt } from "./bolt-meta.ts";
import { DatabaseFileError } from "../database-file/database-file-error.ts";
import { FREE_BYTES_KEPT, UNPACKED_BYTES_MAX } from "./etcd-file-limits.ts";
import { RawFile } from "./raw-file.ts";

const CHUNK_BYTES = 256 * 1024;
/** How many bytes are written between two looks at the free space. */
const BYTES_PER_LOOK = 64 * 1024 * 1024;
/** The last bytes of a gzip file are the size of the content, modulo 2^32. */
const SIZE_BYTES = 4;

export function isGzip(descriptor: number): boolean {
  const magic = Buffer.alloc(2);
  return readSync(descriptor, magic, 0, 2, 0) === 2 && magic[0] === 0x1f && magic[1] === 0x8b;
}

/** Returns the descriptor of the unpacked file. The caller closes both. */
export async function unpack(packed: number, { signal, onProgress }: SliceOptions): Promise<number> {
  const directory = tmpdir();
  const total = fstatSync(packed).size;
  requireSpace(directory, leastSize(packed, total));
  const unpacked = openNameless(directory);
  try {
    const sink = new BoundedWriter(unpacked, directory);
    await pipeline(
      packedChunks(packed, (done) => onProgress({ done, total })),
      createGunzip({ chunkSize: CHUNK_BYTES }),
      async (chunks: AsyncIterable<Buffer>) => {
        for await (const chunk of chunks) sink.write(chunk);
      },
      { signal },
    );
    return unpacked;
  } catch (thrown) {
    closeSync(unpacked);
    signal.throwIfAborted();
    if (isZlibError(thrown)) {
      throw new DatabaseFileError("is a gzip file that is damaged or incomplete; copy it again", { cause: thrown });
    }
    throw thrown;
  }
}

/** A stream of the file would close it. */
function* packedChunks(packed: number, onRead: (bytes: number) => void): Generator<Buffer> {
  for (let position = 0; ;) {
    const chunk = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    const bytes = readSync(packed, chunk, 0, CHUNK_BYTES, position);
    if (bytes === 0) return;
    position += bytes;
    onRead(position);
    yield chunk.subarray(0, bytes);
  }
}

/** The size that the file states. The true size may be greater by a multiple of 4 GB, or any other. */
function leastSize(packed: number, packedBytes: number): number {
  const size = Buffer.alloc(SIZE_BYTES);
  const bytes = readSync(packed, size, 0, SIZE_BYTES, Math.max(0, packedBytes - SIZE_BYTES));
  return bytes === SIZE_BYTES ? size.readUInt32LE(0) : 0;
}

function openNameless(directory: string): number {
  const path = join(directory, `evenkeel-${randomUUID()}.db`);
  const descriptor = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_EXCL, 0o600);
  unlinkSync(path);
  return descriptor;
}

function requireSpace(directory: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(directory);
  if (bavail * bsize - FREE_BYTES_KEPT >= bytes) return;
  throw new DatabaseFileError(
    `cannot be unpacked, because ${directory} has too little free space; set TMPDIR to a directory with more`,
  );
}

/** Writes until the free space ends, or the content proves to be no database of etcd. */
class BoundedWriter {
  readonly #descriptor: number;
  readonly #directory: string;
  #written = 0;
  #nextLook = BYTES_PER_LOOK;
  #isChecked = false;

  constructor(descriptor: number, directory: string) {
    this.#descriptor = descriptor;
    this.#directory = directory;
  }

  write(chunk: Buffer): void {
    if (this.#written + chunk.length > UNPACKED_BYTES_MAX) {
      throw new DatabaseFileError(`unpacks to more than ${UNPACKED_BYTES_MAX} bytes; unpack it and pass the result`);
    }
    for (let done = 0; done < chunk.length;) done += writeSync(this.#descriptor, chunk, done);
    this.#written += chunk.length;
    if (!this.#isChecked && this.#written >= META_BYTES_MAX) {
      this.#isChecked = true;
      if (!isBolt(new RawFile(this.#descriptor))) throw notBolt();
    }
    if (this.#written < this.#nextLook) return;
    requireSpace(this.#directory, BYTES_PER_LOOK);
    this.#nextLook = this.#written + BYTES_PER_LOOK;
  }
}

function isZlibError(thrown: unknown): boolean {
  return thrown instanceof Error && "code" in thrown && String(thrown.code).startsWith("Z_");
}
