/**
 * The process that the crash test kills. Its writers commit until then, and it prints one line `key revision value` for
 * each acknowledged commit. If the store cannot be opened, it prints one line `refused …`.
 */
import { StorageError, type Kv } from "../../../../src/storage/kv.ts";
import { openSqliteKv } from "../../../../src/storage/kv-sqlite/kv.ts";
import { realClock } from "../../real-clock.ts";

const WRITERS = 8;

async function main(directory: string): Promise<void> {
  let kv: Kv;
  try {
    kv = await openSqliteKv({ directory, clock: realClock() });
  } catch (thrown) {
    if (!(thrown instanceof StorageError)) throw thrown;
    process.stdout.write(`refused ${thrown.code}: ${thrown.message}\n`);
    return;
  }
  await Promise.all(Array.from({ length: WRITERS }, (_, writer) => writeForever(kv, `/registry/crash/${writer}`)));
}

async function writeForever(kv: Kv, key: string): Promise<never> {
  let revision = (await kv.range({ start: key })).items[0]?.modRevision ?? 0;
  for (let index = 0; ; index++) {
    const text = `${index}-${revision}`;
    const result = await kv.commit({
      kind: "put",
      key,
      value: Buffer.from(text.padEnd(3000, ".")),
      expectedRevision: revision,
    });
    if (!result.committed) throw new Error(`${key} was written by another process`);
    ({ revision } = result);
    process.stdout.write(`${key} ${revision} ${text}\n`);
  }
}

await main(process.argv[2]!);
