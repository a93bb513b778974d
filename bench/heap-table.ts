/**
 * Prints what a heap snapshot contains: its size by kind of node, and its code by folder of the source. Make the
 * snapshot with a server that runs from source, because the built command is one file:
 *
 *   node --heapsnapshot-signal=SIGUSR2 src/tools/cli/main.ts serve --data-dir DIR    (then kill -USR2 PID)
 *   node bench/heap-table.ts FILE
 */
import { readFileSync } from "node:fs";

interface Snapshot {
  readonly snapshot: {
    readonly meta: { readonly node_fields: readonly string[]; readonly node_types: readonly [readonly string[]] };
  };
  readonly nodes: readonly number[];
  readonly edges: readonly number[];
  readonly strings: readonly string[];
}

/** Fields of an edge: its type, its name and the position of its target in `nodes`. */
const EDGE_FIELDS = 3;
const FUNCTION = "(shared function info)";

class Heap {
  readonly #data: Snapshot;
  readonly #width: number;
  readonly #firstEdge: Uint32Array;
  readonly count: number;

  constructor(file: string) {
    this.#data = JSON.parse(readFileSync(file, "utf8")) as Snapshot;
    this.#width = this.#data.snapshot.meta.node_fields.length;
    this.count = this.#data.nodes.length / this.#width;
    this.#firstEdge = new Uint32Array(this.count + 1);
    for (let node = 0; node < this.count; node++)
      this.#firstEdge[node + 1] = this.#firstEdge[node]! + this.#field(node, "edge_count");
  }

  kind(node: number): string {
    return this.#data.snapshot.meta.node_types[0][this.#field(node, "type")]!;
  }

  name(node: number): string {
    return this.#data.strings[this.#field(node, "name")]!;
  }

  size(node: number): number {
    return this.#field(node, "self_size");
  }

  edges(node: number): { readonly name: string | undefined; readonly to: number }[] {
    const { edges, strings } = this.#data;
    return Array.from({ length: this.#firstEdge[node + 1]! - this.#firstEdge[node]! }, (_, index) => {
      const at = (this.#firstEdge[node]! + index) * EDGE_FIELDS;
      return { name: strings[edges[at + 1]!], to: edges[at + 2]! / this.#width };
    });
  }

  #field(node: number, name: string): number {
    return this.#data.nodes[node * this.#width + this.#data.snapshot.meta.node_fields.indexOf(name)]!;
  }
}

/** The folder of a script: "node:…" for Node.js itself, a room of src/, or a package. */
function folderOf(url: string): string {
  if (url.startsWith("node:")) return "Node.js";
  const [, room] = /\/src\/([a-z]+)\//.exec(url) ?? [];
  const [, dependency] = /\/node_modules\/([^/]+)\//.exec(url) ?? [];
  return dependency ?? (room === undefined ? "other" : `src/${room}`);
}

/** Adds up the code that only the functions of a script reach: bytecode, constants, scopes and feedback. */
function codeByFolder(heap: Heap): Map<string, number> {
  const sizes = new Map<string, number>();
  const seen = new Set<number>();
  for (let node = 0; node < heap.count; node++) {
    if (heap.name(node) !== FUNCTION) continue;
    const script = heap.edges(node).find(({ name }) => name === "script");
    const folder = script === undefined ? "Node.js" : folderOf(heap.name(script.to));
    const pending = [node];
    for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
      const isOther = next !== node && heap.name(next) === FUNCTION;
      if (seen.has(next) || isOther || next === script?.to || heap.kind(next) !== "code") continue;
      seen.add(next);
      sizes.set(folder, (sizes.get(folder) ?? 0) + heap.size(next));
      pending.push(...heap.edges(next).map(({ to }) => to));
    }
  }
  return sizes;
}

function sizeByKind(heap: Heap): Map<string, number> {
  const sizes = new Map<string, number>();
  for (let node = 0; node < heap.count; node++)
    sizes.set(heap.kind(node), (sizes.get(heap.kind(node)) ?? 0) + heap.size(node));
  return sizes;
}

function print(title: string, sizes: ReadonlyMap<string, number>): void {
  console.log(title);
  for (const [name, bytes] of [...sizes].sort(([, a], [, b]) => b - a))
    if (bytes >= 10_000) console.log(`${(bytes / 1e6).toFixed(2).padStart(8)} MB  ${name}`);
}

const heap = new Heap(process.argv[2]!);
print("by kind", sizeByKind(heap));
print("code by folder", codeByFolder(heap));
