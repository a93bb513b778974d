/** The default flow schemas and priority levels of a cluster, as data. */
import type { JsonObject } from "../../meta/json.ts";
import type { OwnedObject } from "./owned-object.ts";
import type { ServedAt, Serves } from "./served-version.ts";

const GROUP = "flowcontrol.apiserver.k8s.io";
/** The annotation by which kube-apiserver keeps the spec up to date, until a user sets it to "false". */
const METADATA: JsonObject = { annotations: { "apf.kubernetes.io/autoupdate-spec": "true" } };

export function flowControl(serves: Serves): OwnedObject[] {
  const levels = serves(GROUP, "prioritylevelconfigurations");
  const schemas = serves(GROUP, "flowschemas");
  return [
    ...(levels === undefined ? [] : PRIORITY_LEVELS.map((level) => priorityLevel(levels, level))),
    ...(schemas === undefined ? [] : FLOW_SCHEMAS.map((schema) => flowSchema(schemas, schema))),
  ];
}

interface PriorityLevel {
  readonly name: string;
  readonly shares: number;
  readonly lendablePercent: number;
  /**
   * Number of queues, and how many of them one flow may use. If absent, requests beyond the limit are rejected instead
   * of queued.
   */
  readonly queuing?: { readonly queues: number; readonly handSize: number };
}

const QUEUE_LENGTH_MAX = 50;

const PRIORITY_LEVELS: readonly PriorityLevel[] = [
  { name: "exempt", shares: 0, lendablePercent: 0 },
  { name: "catch-all", shares: 5, lendablePercent: 0 },
  { name: "system", shares: 30, lendablePercent: 33, queuing: { queues: 64, handSize: 6 } },
  { name: "node-high", shares: 40, lendablePercent: 25, queuing: { queues: 64, handSize: 6 } },
  { name: "leader-election", shares: 10, lendablePercent: 0, queuing: { queues: 16, handSize: 4 } },
  { name: "workload-high", shares: 40, lendablePercent: 50, queuing: { queues: 128, handSize: 6 } },
  { name: "workload-low", shares: 100, lendablePercent: 90, queuing: { queues: 128, handSize: 6 } },
  { name: "global-default", shares: 20, lendablePercent: 50, queuing: { queues: 128, handSize: 6 } },
];

function priorityLevel(at: ServedAt, { name, shares, lendablePercent, queuing }: PriorityLevel): OwnedObject {
  const limits = { nominalConcurrencyShares: shares, lendablePercent };
  const limitResponse =
    queuing === undefined
      ? { type: "Reject" }
      : { type: "Queue", queuing: { ...queuing, queueLengthLimit: QUEUE_LENGTH_MAX } };
  const spec =
    name === "exempt" ? { type: "Exempt", exempt: limits } : { type: "Limited", limited: { ...limits, limitResponse } };
  return {
    at,
    object: { apiVersion: at.apiVersion, kind: "PriorityLevelConfiguration", metadata: { name, ...METADATA }, spec },
  };
}

interface FlowSchema {
  readonly name: string;
  readonly level: string;
  readonly precedence: number;
  /** The method that distinguishes the flows of a schema; absent if all requests are one flow. */
  readonly distinguisher?: "ByUser" | "ByNamespace";
  readonly subjects: readonly JsonObject[];
  /** Absent if the flow schema matches all requests. */
  readonly rules?: JsonObject;
}

const group = (name: string): JsonObject => ({ kind: "Group", group: { name } });
const user = (name: string): JsonObject => ({ kind: "User", user: { name } });
const serviceAccountsIn = (namespace: string): JsonObject => ({
  kind: "ServiceAccount",
  serviceAccount: { namespace, name: "*" },
});

const EVERY_USER: readonly JsonObject[] = [group("system:unauthenticated"), group("system:authenticated")];
const NODES: readonly JsonObject[] = [group("system:nodes")];
const LEADERS: readonly JsonObject[] = [
  user("system:kube-controller-manager"),
  user("system:kube-scheduler"),
  serviceAccountsIn("kube-system"),
];

const EVERYTHING: Readonly<JsonObject> = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};
const PROBES: Readonly<JsonObject> = {
  nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
};
const LEADER_LEASES: Readonly<JsonObject> = {
  resourceRules: [
    {
      verbs: ["get", "create", "update"],
      apiGroups: ["coordination.k8s.io"],
      resources: ["leases"],
      namespaces: ["*"],
    },
  ],
};
const HEARTBEATS: Readonly<JsonObject> = {
  resourceRules: [
    { verbs: ["*"], apiGroups: [""], resources: ["nodes", "nodes/status"], clusterScope: true, namespaces: ["*"] },
    { verbs: ["*"], apiGroups: ["coordination.k8s.io"], resources: ["leases"], namespaces: ["*"] },
  ],
};

const FLOW_SCHEMAS: readonly FlowSchema[] = [
  { name: "exempt", level: "exempt", precedence: 1, subjects: [group("system:masters")] },
  { name: "probes", level: "exempt", precedence: 2, subjects: EVERY_USER, rules: PROBES },
  {
    name: "system-leader-election",
    level: "leader-election",
    precedence: 100,
    distinguisher: "ByUser",
    subjects: LEADERS,
    rules: LEADER_LEASES,
  },
  {
    name: "system-node-high",
    level: "node-high",
    precedence: 400,
    distinguisher: "ByUser",
    subjects: NODES,
    rules: HEARTBEATS,
  },
  { name: "system-nodes", level: "system", precedence: 500, distinguisher: "ByUser", subjects: NODES },
  {
    name: "kube-controller-manager",
    level: "workload-high",
    precedence: 800,
    distinguisher: "ByNamespace",
    subjects: [user("system:kube-controller-manager")],
  },
  {
    name: "kube-scheduler",
    level: "workload-high",
    precedence: 800,
    distinguisher: "ByNamespace",
    subjects: [user("system:kube-scheduler")],
  },
  {
    name: "kube-system-service-accounts",
    level: "workload-high",
    precedence: 900,
    distinguisher: "ByNamespace",
    subjects: [serviceAccountsIn("kube-system")],
  },
  {
    name: "service-accounts",
    level: "workload-low",
    precedence: 9000,
    distinguisher: "ByUser",
    subjects: [group("system:serviceaccounts")],
  },
  { name: "global-default", level: "global-default", precedence: 9900, distinguisher: "ByUser", subjects: EVERY_USER },
  { name: "catch-all", level: "catch-all", precedence: 10_000, distinguisher: "ByUser", subjects: EVERY_USER },
];

function flowSchema(at: ServedAt, schema: FlowSchema): OwnedObject {
  const { name, level, precedence, distinguisher, subjects, rules = EVERYTHING } = schema;
  const spec = {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    ...(distinguisher === undefined ? {} : { distinguisherMethod: { type: distinguisher } }),
    rules: [{ subjects, ...rules }],
  };
  const message = `This FlowSchema references the PriorityLevelConfiguration object named ${JSON.stringify(level)} and it exists`;
  return {
    at,
    object: { apiVersion: at.apiVersion, kind: "FlowSchema", metadata: { name, ...METADATA }, spec },
    condition: { type: "Dangling", status: "False", reason: "Found", message },
  };
}
