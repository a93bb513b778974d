/** The command line of the benchmark. */
import { parseArgs } from "node:util";
import { againstOptions, type AgainstOptions } from "./against-options.ts";
import { UsageError } from "./usage-error.ts";

export const ROW_NAMES = [
  "start",
  "publish",
  "get",
  "list",
  "create",
  "cold",
  "create-watched",
  "deployment",
  "watch",
  "memory",
  "migrate",
  "namespace",
  "owner-graph",
  "custom",
  "access",
  "proxy",
  "filter",
  "encryption",
  "if-ready",
  "defaults",
  "merge",
  "growth",
  "inspect",
] as const;
/** Growth takes far longer than all others, and several GB of memory; inspect writes a file of 2 GB. */
const ONLY_IF_NAMED: readonly string[] = ["growth", "inspect"];
export type RowName = (typeof ROW_NAMES)[number];

export interface BenchOptions {
  readonly only: ReadonlySet<RowName>;
  readonly rounds: number;
  /** The amount of work per round, relative to a full benchmark. */
  readonly scale: number;
  readonly compareWith: string | undefined;
  readonly stores: ReadonlySet<"embedded" | "etcd">;
  /** Another API server that is measured instead of the floor. */
  readonly against: AgainstOptions | undefined;
}

export const HELP = `npm run bench -- [flags]

Starts the built server as a user would and measures the CPU cost of requests, compared with a plain Node TLS server
that returns the same bytes (the floor); for writes it also parses, lists managed fields, serializes and, beside the
embedded store, commits to SQLite durably. Rounds of both alternate; the figures are medians.
For publish, migrate, owner-graph, if-ready and defaults the floor is the same server without the measured feature: publish measures
the cost of publishing storage versions at startup, migrate the latency that clients see during a storage migration that
is killed and resumed, owner-graph the memory of the garbage collector. namespace deletes a full namespace; it has no floor.
access compares RBAC with 10,000 bindings with AlwaysAllow.
cold measures the first writes of new servers and new floors, and the memory of both.
create-watched creates ConfigMaps while up to 9,000 clients watch them; it has no floor.
custom compares 1,000 CRDs with one, and custom resources with Deployments of the same content.
growth measures writes and events with up to 1,000,000 objects, 5,000 CRDs and 50 servers, and draws bench-results/growth.html;
its floor is the smallest size.
inspect reads a synthetic snapshot of 1,000,000 keys and 2 GB in the directory for temporary files (TMPDIR); its floor reads and hashes that
file once.

  --only LIST      rows to measure (default all but growth and inspect): ${ROW_NAMES.join(", ")}
  --stores LIST    stores to measure: embedded, etcd (default both; etcd is skipped if it is not installed);
                   servers that call each other (proxy, merge) need etcd;
                   publish, cold, if-ready, migrate, namespace, owner-graph, custom and access use embedded only
  --rounds N       rounds per row (default 5); at most 3 for migrate and owner-graph, 5 for custom, which take minutes
  --scale SHARE    share of the work per round, such as 0.05 (default 1); values below 1 are not a measurement
  --quick          3 short rounds at scale 0.2: a first impression, not a measurement
  --compare FILE   result to compare with (default the newest of the same scale in bench-results/)
  --against URL    measure another API server, such as a kube-apiserver, instead of the floor: writes, GET, LIST, watch
                   and discovery; the objects are in a namespace of their own, which is removed afterwards, and start no pods
  --token T        bearer token for that server; its user needs full access. --token-file FILE keeps the token out of
                   the list of processes
  --ca-file FILE   certificate authority of that server (default the system's); --insecure-skip-tls-verify trusts any
                   certificate
  --against-pid P  process IDs of that server, if it runs on this machine; without them latencies are compared, not CPU time
  --help           print this help
`;

const ROUNDS_MAX = 1_000;
const QUICK_SCALE = 0.2;

/** Undefined if only help was requested. */
export function parseOptions(argv: readonly string[]): BenchOptions | undefined {
  const { values } = parse(argv);
  if (values.help === true) return undefined;
  const quick = values.quick === true;
  const rounds = values.rounds === undefined ? (quick ? 3 : 5) : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1 || rounds > ROUNDS_MAX)
    throw new UsageError(`--rounds must be a whole number from 1 to ${ROUNDS_MAX}`);
  const scale = values.scale === undefined ? (quick ? QUICK_SCALE : 1) : Number(values.scale);
  if (!(scale > 0 && scale <= 1)) throw new UsageError("--scale must be greater than 0 and at most 1");
  return {
    only: new Set(
      values.only === undefined
        ? ROW_NAMES.filter((name) => !ONLY_IF_NAMED.includes(name))
        : listed(values.only, ROW_NAMES, "--only"),
    ),
    stores: new Set(listed(values.stores, ["embedded", "etcd"] as const, "--stores")),
    rounds,
    scale,
    compareWith: values.compare,
    against: againstOptions(values),
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        only: { type: "string" },
        stores: { type: "string" },
        rounds: { type: "string" },
        scale: { type: "string" },
        quick: { type: "boolean" },
        compare: { type: "string" },
        against: { type: "string" },
        token: { type: "string" },
        "token-file": { type: "string" },
        "ca-file": { type: "string" },
        "insecure-skip-tls-verify": { type: "boolean" },
        "against-pid": { type: "string" },
        help: { type: "boolean" },
      },
    });
  } catch (thrown) {
    throw new UsageError(thrown instanceof Error ? thrown.message : String(thrown));
  }
}

function listed<Name extends string>(text: string | undefined, known: readonly Name[], flag: string): readonly Name[] {
  if (text === undefined) return known;
  return text.split(",").map((part) => {
    const name = known.find((candidate) => candidate === part.trim());
    if (name === undefined) throw new UsageError(`${flag} accepts ${known.join(", ")}, not ${JSON.stringify(part)}`);
    return name;
  });
}
