/** What flow control never lets go of: the flows and levels that every server has as they are. */
import type { JsonObject } from "../../../meta/json.ts";
import type { GoType } from "../storage/go-value.ts";

const EVERYTHING: JsonObject = {
  resourceRules: [{ verbs: ["*"], apiGroups: ["*"], resources: ["*"], clusterScope: true, namespaces: ["*"] }],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
};

function groups(...names: readonly string[]): JsonObject[] {
  return names.map((name) => ({ kind: "Group", group: { name } }));
}

export const MANDATORY_FLOW_SCHEMAS: ReadonlyMap<string, JsonObject> = new Map([
  [
    "exempt",
    {
      priorityLevelConfiguration: { name: "exempt" },
      matchingPrecedence: 1,
      rules: [{ subjects: groups("system:masters"), ...EVERYTHING }],
    },
  ],
  [
    "catch-all",
    {
      priorityLevelConfiguration: { name: "catch-all" },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: "ByUser" },
      rules: [{ subjects: groups("system:unauthenticated", "system:authenticated"), ...EVERYTHING }],
    },
  ],
]);

export const MANDATORY_PRIORITY_LEVELS: ReadonlyMap<string, JsonObject> = new Map<string, JsonObject>([
  ["exempt", { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }],
  [
    "catch-all",
    {
      type: "Limited",
      limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: "Reject" } },
    },
  ],
]);

const NAMED: GoType = { struct: [["Name", "name", "string"]], isPointer: true };

const SUBJECT: GoType = {
  struct: [
    ["Kind", "kind", "string"],
    ["User", "user", NAMED],
    ["Group", "group", NAMED],
    [
      "ServiceAccount",
      "serviceAccount",
      {
        struct: [
          ["Namespace", "namespace", "string"],
          ["Name", "name", "string"],
        ],
        isPointer: true,
      },
    ],
  ],
};

const RESOURCE_RULE: GoType = {
  struct: [
    ["Verbs", "verbs", "any"],
    ["APIGroups", "apiGroups", "any"],
    ["Resources", "resources", "any"],
    ["ClusterScope", "clusterScope", "boolean"],
    ["Namespaces", "namespaces", "any"],
  ],
};

const NON_RESOURCE_RULE: GoType = {
  struct: [
    ["Verbs", "verbs", "any"],
    ["NonResourceURLs", "nonResourceURLs", "any"],
  ],
};

export const DISTINGUISHER_METHOD: GoType = { struct: [["Type", "type", "string"]], isPointer: true };

export const FLOW_SCHEMA_SPEC: GoType = {
  struct: [
    ["PriorityLevelConfiguration", "priorityLevelConfiguration", { struct: [["Name", "name", "string"]] }],
    ["MatchingPrecedence", "matchingPrecedence", "number"],
    ["DistinguisherMethod", "distinguisherMethod", DISTINGUISHER_METHOD],
    [
      "Rules",
      "rules",
      {
        list: {
          struct: [
            ["Subjects", "subjects", { list: SUBJECT }],
            ["ResourceRules", "resourceRules", { list: RESOURCE_RULE }],
            ["NonResourceRules", "nonResourceRules", { list: NON_RESOURCE_RULE }],
          ],
        },
      },
    ],
  ],
};

const LIMIT_RESPONSE: GoType = {
  struct: [
    ["Type", "type", "string"],
    [
      "Queuing",
      "queuing",
      {
        struct: [
          ["Queues", "queues", "number"],
          ["HandSize", "handSize", "number"],
          ["QueueLengthLimit", "queueLengthLimit", "number"],
        ],
        isPointer: true,
      },
    ],
  ],
};

export const PRIORITY_LEVEL_SPEC: GoType = {
  struct: [
    ["Type", "type", "string"],
    [
      "Limited",
      "limited",
      {
        struct: [
          ["NominalConcurrencyShares", "nominalConcurrencyShares", "number"],
          ["LimitResponse", "limitResponse", LIMIT_RESPONSE],
          ["LendablePercent", "lendablePercent", "any"],
          ["BorrowingLimitPercent", "borrowingLimitPercent", "any"],
        ],
        isPointer: true,
      },
    ],
    [
      "Exempt",
      "exempt",
      {
        struct: [
          ["NominalConcurrencyShares", "nominalConcurrencyShares", "any"],
          ["LendablePercent", "lendablePercent", "any"],
        ],
        isPointer: true,
      },
    ],
  ],
};
