/**
 * Prints a CPU profile by folder of the source, and its most expensive functions. Make the profile with a server that
 * runs from source, because the built command is one file:
 *
 *   node --cpu-prof --cpu-prof-dir DIR src/tools/cli/main.ts serve --data-dir DATA    (then load, and kill -TERM PID)
 *   node bench/profile-table.ts FILE [REQUESTS]
 *
 * With the number of requests, it prints microseconds per request instead of milliseconds.
 */
import { readFileSync } from "node:fs";

interface Profile {
  readonly nodes: readonly {
    readonly id: number;
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number };
  }[];
  readonly samples: readonly number[];
  readonly timeDeltas: readonly number[];
}

const FUNCTIONS_SHOWN = 20;
const IDLE = "(idle)";

/** Two folders deep within src/, because rooms are large. */
function folderOf(url: string, name: string): string {
  if (url === "") return name.startsWith("(") ? name : "native functions";
  if (url.startsWith("node:")) return "Node.js";
  const [, room, part] = /\/src\/([a-z]+)\/(?:([a-z-]+)\/)?/.exec(url) ?? [];
  const [, dependency] = /\/node_modules\/([^/]+)\//.exec(url) ?? [];
  return dependency ?? (room === undefined ? "other" : `src/${room}${part === undefined ? "" : `/${part}`}`);
}

function print(title: string, microseconds: ReadonlyMap<string, number>, shown: number): void {
  process.stdout.write(`\n${title}\n`);
  const sorted = [...microseconds].sort(([, left], [, right]) => right - left).slice(0, shown);
  for (const [name, value] of sorted) process.stdout.write(`${(value / divisor).toFixed(1).padStart(9)}  ${name}\n`);
}

const [file, requests] = process.argv.slice(2);
if (file === undefined) throw new Error("usage: node bench/profile-table.ts FILE [REQUESTS]");
const divisor = requests === undefined ? 1_000 : Number(requests);
const profile = JSON.parse(readFileSync(file, "utf8")) as Profile;
const nodes = new Map(profile.nodes.map(({ id, callFrame }) => [id, callFrame]));
const byFolder = new Map<string, number>();
const byFunction = new Map<string, number>();
profile.samples.forEach((sample, index) => {
  const { functionName, url, lineNumber } = nodes.get(sample)!;
  if (functionName === IDLE) return;
  const spent = profile.timeDeltas[index]!;
  const folder = folderOf(url, functionName);
  const name = `${functionName || "(anonymous)"} ${url.slice(url.lastIndexOf("/src/") + 1)}:${lineNumber + 1}`;
  byFolder.set(folder, (byFolder.get(folder) ?? 0) + spent);
  byFunction.set(name, (byFunction.get(name) ?? 0) + spent);
});
print(requests === undefined ? "ms by folder" : "µs per request, by folder", byFolder, Infinity);
print("functions", byFunction, FUNCTIONS_SHOWN);
