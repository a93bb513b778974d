/** The mandatory flow schemas and priority levels. Every server has them, and clients cannot change their specs. */
import type { JsonObject } from "../../../meta/json.ts";

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
