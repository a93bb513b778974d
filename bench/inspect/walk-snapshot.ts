/** Opens a snapshot, and visits all of its keys: an inspection without its rules. */
import { openStoredDataFile } from "../../src/tools/upgrade/sources/open-file.ts";

const options = { signal: new AbortController().signal, onProgress: (): void => {} };
const data = await openStoredDataFile(process.argv[2]!, options);
const walked = await data.walk({ ...options, prefix: "/registry/" }, () => {});
await data.close();
process.stdout.write(`${JSON.stringify(walked)}\n`);
