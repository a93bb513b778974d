/**
 * The rooms of src/ (its top-level folders) and the imports that each may use, lowest first. An import that no row
 * allows fails the architecture test. If two rooms need each other, the lower room declares a function type, and
 * server/ passes the function in.
 *
 * A row names a room ("storage") or a part of a room ("serving/http"). A file belongs to the longest row that matches
 * its path. docs/ARCHITECTURE.md explains the same rows, and a test checks that both match the folders.
 */
export interface ModuleRule {
  /** The rows that may be imported, or single files such as `serving/http/message.ts`. */
  readonly imports: readonly string[];
  /** Rows of which only the types may be imported. */
  readonly types?: readonly string[];
}

const VOCABULARY = ["base", "meta"];
const OBJECTS = [...VOCABULARY, "objects", "objects/cel", "objects/kinds", "objects/catalog"];

const LAYERS = {
  base: { imports: [] },
  meta: { imports: ["base"] },

  objects: { imports: VOCABULARY },
  "objects/cel": { imports: VOCABULARY },
  "objects/kinds": { imports: [...VOCABULARY, "objects", "objects/cel"] },
  "objects/catalog": { imports: [...VOCABULARY, "objects"] },

  storage: { imports: VOCABULARY },

  "serving/http": { imports: VOCABULARY },
  "serving/registry": { imports: [...VOCABULARY, "objects", "objects/kinds", "storage"] },
  // Needs the types of watch cache entries and of the freshness that a read requires.
  "serving/endpoints": {
    imports: [...VOCABULARY, "objects", "serving/registry", "serving/http"],
    types: ["storage"],
  },
  "serving/discovery": { imports: [...VOCABULARY, "objects", "objects/catalog", "serving/http"] },
  "serving/resources": { imports: [...OBJECTS, "storage", "serving/registry", "serving/endpoints"] },

  // The client also runs in browsers, so it may import the message types of serving/http, but not its server code.
  client: {
    imports: [...VOCABULARY, "serving/http/message.ts", "serving/http/request-body.ts", "serving/http/closed-sink.ts"],
  },

  "access/auth": {
    imports: [...VOCABULARY, "serving/http", "serving/resources"],
    types: ["client", "serving/endpoints", "storage"],
  },
  "access/audit": { imports: [...VOCABULARY, "serving/http"], types: ["access/auth"] },
  "access/flowcontrol": {
    imports: [...VOCABULARY, "storage", "serving/http", "serving/registry", "serving/resources", "access/auth"],
    types: ["client"],
  },
  "access/webhook-client": { imports: [...VOCABULARY, "objects", "serving/http"], types: ["client"] },
  "access/admission": {
    imports: [
      ...OBJECTS,
      "storage",
      "serving/registry",
      "serving/endpoints",
      "serving/resources",
      "access/auth",
      "access/webhook-client",
    ],
    types: ["serving/http"],
  },
  access: {
    imports: [
      ...OBJECTS,
      "serving/http",
      "serving/endpoints",
      "serving/resources",
      "access/auth",
      "access/audit",
      "access/flowcontrol",
      "access/admission",
    ],
    types: ["storage", "serving/registry", "client", "access/webhook-client"],
  },

  "cluster/allocation": {
    imports: [...VOCABULARY, "objects/kinds", "storage", "serving/registry"],
    types: ["objects"],
  },
  // Leader election and work queues, which the controllers of all parts of the cluster use.
  "cluster/controller-runtime": { imports: [...VOCABULARY, "client"] },
  "cluster/storageversion": {
    imports: [
      ...VOCABULARY,
      "objects/catalog",
      "storage",
      "serving/http",
      "serving/discovery",
      "client",
      "cluster/controller-runtime",
    ],
    types: ["serving/registry"],
  },
  "cluster/peers": {
    imports: [
      ...VOCABULARY,
      "objects",
      "objects/catalog",
      "storage",
      "serving/http",
      "serving/discovery",
      "serving/endpoints",
      "client",
      "cluster/storageversion",
    ],
    types: ["access/auth"],
  },
  "cluster/controllers": {
    imports: [...VOCABULARY, "objects/catalog", "serving/discovery", "client", "cluster/controller-runtime"],
    types: ["cluster/peers"],
  },
  "cluster/bootstrap": {
    imports: [
      ...VOCABULARY,
      "objects",
      "objects/catalog",
      "storage",
      "serving/registry",
      "serving/endpoints",
      "client",
      "access/auth",
      "cluster/controller-runtime",
      "cluster/peers",
    ],
  },
  // Reads the store directly, without the registry, because it also reads objects of resources that no server serves.
  "cluster/inspect": {
    imports: [
      ...VOCABULARY,
      "objects",
      "objects/catalog",
      "storage",
      "serving/http",
      "serving/registry",
      "client",
      "cluster/controller-runtime",
      "cluster/storageversion",
      "cluster/controllers",
      "cluster/peers",
    ],
    types: ["access/auth", "serving/discovery"],
  },

  "extensions/crd": {
    imports: [
      ...OBJECTS,
      "storage",
      "serving/registry",
      "serving/endpoints",
      "serving/discovery",
      "serving/resources",
      "client",
      "access/webhook-client",
      "cluster/peers",
      "cluster/storageversion",
    ],
    types: ["access/admission", "extensions/aggregation"],
  },
  "extensions/aggregation": {
    imports: [
      ...VOCABULARY,
      "objects/kinds",
      "serving/http",
      "serving/discovery",
      "client",
      "access/webhook-client",
      "cluster/peers",
    ],
    types: ["access/auth"],
  },
  "extensions/library": {
    imports: [
      ...OBJECTS,
      "storage",
      "serving/registry",
      "serving/endpoints",
      "serving/resources",
      "client",
      "cluster/peers",
      "cluster/storageversion",
      "cluster/inspect",
      "extensions/crd",
    ],
  },
} as const satisfies Record<string, ModuleRule>;

const BELOW_SERVER = Object.keys(LAYERS);

export const MODULE_TABLE: Readonly<Record<string, ModuleRule>> = {
  ...LAYERS,
  server: { imports: BELOW_SERVER },
  "tools/simulator": { imports: [...BELOW_SERVER, "server"] },
  "tools/upgrade": { imports: BELOW_SERVER },
  "tools/rehearsal": { imports: [...BELOW_SERVER, "tools/simulator", "tools/upgrade"] },
  "tools/cli": { imports: [...BELOW_SERVER, "server", "tools/simulator", "tools/upgrade", "tools/rehearsal"] },
};

/** The public entries. Only these files may contain nothing but re-exports. */
export const PUBLIC_ENTRIES: readonly string[] = ["src/index.ts", "src/client/index.ts"];

/** The entries of the shipped program. A source file that none of them reaches through imports is dead. */
export const ENTRIES: readonly string[] = [
  ...PUBLIC_ENTRIES,
  "src/client/node-transport.ts",
  "src/client/client-node/with-evenkeel.ts",
  "src/tools/cli/entry.ts",
  "src/tools/cli/main.ts",
  "src/storage/kv-sqlite/worker.ts",
];
