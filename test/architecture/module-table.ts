/**
 * Which module of src/ may import which, lowest layer first. What is not listed is forbidden; if two modules
 * need each other, the consumer declares a function type and server/ passes it in.
 */
export interface ModuleRule {
  /** Modules, or single files of a module such as `serving/http/message.ts`. */
  readonly imports: readonly string[];
  /** May be named in `import type` in addition. */
  readonly types?: readonly string[];
}

const LAYERS = {
  base: { imports: [] },
  meta: { imports: ["base"] },
  object: { imports: ["base", "meta"] },
  // The expression language of rules: knows values and types, and nothing of objects.
  cel: { imports: ["base", "meta"] },
  // Schemas of custom resources.
  structural: { imports: ["base", "meta", "object", "cel"] },
  kinds: { imports: ["base", "meta", "object", "cel", "structural"] },
  catalogue: { imports: ["base", "meta", "object"] },
  storage: { imports: ["base", "meta"] },
  registry: { imports: ["base", "meta", "object", "kinds", "storage"] },
  http: { imports: ["base", "meta"] },
  // A watch hands on the entries of the watch cache and says how fresh a read must be.
  endpoints: { imports: ["base", "meta", "object", "registry", "http"], types: ["storage"] },
  auth: { imports: ["base", "meta", "http"] },
  // Its filter stands behind authentication and knows who asks.
  audit: { imports: ["base", "meta", "http"], types: ["auth"] },
  // Who waits for whom: its filter stands behind authentication and knows who asks.
  flowcontrol: { imports: ["base", "meta", "http"], types: ["auth"] },
  // Between decoding and the store: what may change or refuse a write beside the rules of its kind.
  admission: {
    imports: ["base", "meta", "object", "cel", "structural", "kinds"],
    types: ["auth", "registry"],
  },
  // OpenAPI shows the schemas that objects/ defines; every document can be had as YAML.
  discovery: { imports: ["base", "meta", "object", "catalogue", "http"] },
  // Runs in browsers, so it knows the message types of serving/http/ and nothing that serves them.
  client: { imports: ["base", "meta", "http/message.ts", "http/request-body.ts", "http/closed-sink.ts"] },
  // Its filters stand behind authentication and know who asks.
  peers: { imports: ["base", "meta", "http", "client", "discovery"], types: ["auth"] },
  storageversion: { imports: ["base", "meta", "http", "client"] },
  controllers: { imports: ["base", "meta", "client"] },
  // Definitions become resources: what they say is made into what the catalogue says of built-in ones.
  crd: {
    imports: ["base", "meta", "object", "cel", "structural", "kinds", "catalogue", "registry", "discovery", "client"],
  },
  // Its filter stands behind authentication and knows who asks.
  aggregation: { imports: ["base", "meta", "http", "client", "discovery"], types: ["auth"] },
  // Reads the store itself, past the registry: also what no server here serves.
  inspect: { imports: ["base", "meta", "object", "catalogue", "storage"] },
} as const satisfies Record<string, ModuleRule>;

const BELOW_SERVER = Object.keys(LAYERS);

export const MODULE_TABLE: Readonly<Record<string, ModuleRule>> = {
  ...LAYERS,
  server: { imports: BELOW_SERVER },
  simulator: { imports: [...BELOW_SERVER, "server"] },
  testkit: { imports: ["base", "meta", "server", "client", "simulator"] },
  // Clients outside of a simulated cluster, and what is true of it.
  rehearsal: {
    imports: [
      "base",
      "meta",
      "object",
      "catalogue",
      "http",
      "discovery",
      "client",
      "peers",
      "storageversion",
      "simulator",
    ],
  },
  // The command names releases, explains what the store refused, and makes the certificate of the first start.
  cli: {
    imports: ["base", "meta", "server", "client", "simulator", "rehearsal", "catalogue", "storage", "http", "peers"],
    types: ["audit"],
  },
};

/** The public entries, which are also the only files that may do nothing but re-export. */
export const PUBLIC_ENTRIES: readonly string[] = ["src/index.ts", "src/client/index.ts", "src/testkit/index.ts"];

/** Where the shipped program starts: all other source files are reached from these, or are dead. */
export const ENTRIES: readonly string[] = [
  ...PUBLIC_ENTRIES,
  "src/client/node-transport.ts",
  "src/client/client-node/with-evenkeel.ts",
  "src/tools/cli/entry.ts",
  "src/tools/cli/main.ts",
  "src/storage/kv-sqlite/worker.ts",
];
