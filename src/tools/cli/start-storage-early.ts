/**
 * Starts the storage thread of `evenkeel serve` while the rest of the program is loaded. main.ts imports this file
 * first. If the server uses no embedded store after all, the idle thread ends with the process.
 */
import { IdleStorageThread } from "../../storage/kv-sqlite/storage-thread.ts";

const [, , command, ...flags] = process.argv;
const isOther = flags.some((flag) => flag.startsWith("--etcd-servers") || flag === "--help");

export const idleStorageThread = command === "serve" && !isOther ? new IdleStorageThread() : undefined;
