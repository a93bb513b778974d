/**
 * Damages valid files, and reads them: the result must be a sentence, or, if a SHA-256 protects the file, what the
 * undamaged file contains. EVENKEEL_FUZZ_CASES sets the number of cases; 10,000 take a minute.
 */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { writeEtcdFile } from "../../../test/testing/storage/etcd-file/etcd-writer.ts";
import { KeyHistory } from "../../../test/testing/storage/etcd-file/key-history.ts";
import { readAll, type ReadFile } from "../../../test/testing/storage/etcd-file/read-all.ts";
import { DatabaseFileError } from "../database-file/database-file-error.ts";

const CASES = Number(process.env["EVENKEEL_FUZZ_CASES"] ?? 300);
const TIMEOUT_MS = 60_000 + 60 * CASES;

let directory: string;
let path: string;

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "evenkeel-fuzz-"));
  path = join(directory, "damaged.db");
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Has branch pages, overflow pages, deleted and recreated keys. */
function history(): KeyHistory {
  const result = new KeyHistory();
  for (let index = 0; index < 120; index++) result.put(`/registry/configmaps/shop/${index}`, "v".repeat(index * 3));
  result.put("/registry/configmaps/shop/large", "v".repeat(9_000));
  for (let index = 0; index < 120; index += 4) result.delete(`/registry/configmaps/shop/${index}`);
  for (let index = 0; index < 120; index += 8) result.put(`/registry/configmaps/shop/${index}`, "again");
  return result;
}

function valid(isHashed: boolean): Buffer {
  const file = join(directory, `valid-${isHashed}.db`);
  writeEtcdFile(file, history().changes, { isHashed, layout: { pageSize: 1024, childrenMax: 5 } });
  return readFileSync(file);
}

interface Damage {
  readonly keep: number;
  readonly writes: readonly { readonly at: number; readonly value: number; readonly isWord: boolean }[];
}

/** Small values and the largest ones are where sizes and page numbers go wrong. */
const VALUE = fc.oneof(
  fc.integer({ min: 0, max: 0xffff_ffff }),
  fc.constantFrom(0, 1, 2, 0xffff, 0x7fff_ffff, 0xffff_ffff),
);

function damageOf(size: number): fc.Arbitrary<Damage> {
  // Headers and tables are at the start of pages.
  const position = fc.oneof(
    fc.integer({ min: 0, max: size - 1 }),
    fc
      .tuple(fc.integer({ min: 0, max: Math.floor(size / 1024) - 1 }), fc.integer({ min: 0, max: 99 }))
      .map(([page, offset]) => page * 1024 + offset),
  );
  const writes = fc.array(fc.record({ at: position, value: VALUE, isWord: fc.boolean() }), {
    minLength: 1,
    maxLength: 4,
  });
  return fc.oneof(
    { weight: 3, arbitrary: fc.record({ keep: fc.constant(size), writes }) },
    { weight: 1, arbitrary: fc.record({ keep: fc.integer({ min: 0, max: size - 1 }), writes: fc.constant([]) }) },
  );
}

function damaged(content: Buffer, { keep, writes }: Damage): Buffer {
  const bytes = Buffer.from(content.subarray(0, keep));
  for (const { at, value, isWord } of writes) {
    if (isWord && at + 4 <= bytes.length) bytes.writeUInt32LE(value, at);
    else if (at < bytes.length) bytes[at] = value & 0xff;
  }
  return bytes;
}

async function readDamaged(content: Buffer): Promise<ReadFile | undefined> {
  writeFileSync(path, content);
  try {
    return await readAll(path);
  } catch (thrown) {
    if (!(thrown instanceof DatabaseFileError)) throw thrown;
    expect(thrown.message).toMatch(/^(is|has|changed|cannot) .+; .+[^.]$/);
    return undefined;
  }
}

describe("a damaged file is rejected, or read as far as its checksum allows", () => {
  test(
    "with a SHA-256 it never has other keys",
    async () => {
      const content = valid(true);
      const expected = history();
      await fc.assert(
        fc.asyncProperty(damageOf(content.length), async (damage) => {
          const bytes = damaged(content, damage);
          const read = await readDamaged(bytes);
          if (read === undefined) return;
          // The end of the file may be cut so that it looks like the database of a member, and the source then has a warning.
          if (bytes.equals(content) || !read.isHashed) expect(read.walked.keys).toBe(expected.live.size);
          else throw new Error("read a damaged snapshot");
        }),
        { numRuns: CASES },
      );
    },
    TIMEOUT_MS,
  );

  test(
    "without a SHA-256 it is read within bounds",
    async () => {
      const content = valid(false);
      const changes = history().changes.length;
      await fc.assert(
        fc.asyncProperty(damageOf(content.length), async (damage) => {
          const read = await readDamaged(damaged(content, damage));
          if (read !== undefined) expect(read.walked.keys).toBeLessThanOrEqual(changes);
        }),
        { numRuns: CASES },
      );
    },
    TIMEOUT_MS,
  );

  test(
    "a gzipped one never has other keys",
    async () => {
      const content = gzipSync(valid(true));
      const expected = history();
      await fc.assert(
        fc.asyncProperty(damageOf(content.length), async (damage) => {
          const read = await readDamaged(damaged(content, damage));
          if (read !== undefined) expect(read.walked.keys).toBe(expected.live.size);
        }),
        { numRuns: CASES },
      );
    },
    TIMEOUT_MS,
  );
});
