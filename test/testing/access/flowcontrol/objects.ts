/** Objects, users and requests that the flow control tests share. */
import type { User, WithUser } from "../../../../src/access/auth/user.ts";
import { infoRequest, type RequestOptions } from "../../serving/http/requests.ts";
import type { JsonObject } from "../../../../src/meta/json.ts";

export function priorityLevel(name: string, limited: JsonObject = {}): JsonObject {
  return {
    metadata: { name, uid: `level-${name}` },
    spec: { type: "Limited", limited: { limitResponse: { type: "Reject" }, ...limited } },
  };
}

export function queued(queues: number, handSize: number, queueLengthLimit: number): JsonObject {
  return { limitResponse: { type: "Queue", queuing: { queues, handSize, queueLengthLimit } } };
}

const ALL: readonly string[] = ["*"];

export const EVERYTHING: JsonObject = {
  resourceRules: [{ verbs: ALL, apiGroups: ALL, resources: ALL, namespaces: ALL, clusterScope: true }],
  nonResourceRules: [{ verbs: ALL, nonResourceURLs: ALL }],
};

export const group = (name: string): JsonObject => ({ kind: "Group", group: { name } });

export function flowSchema(name: string, level: string, spec: JsonObject = {}): JsonObject {
  return {
    metadata: { name, uid: `schema-${name}` },
    spec: {
      priorityLevelConfiguration: { name: level },
      matchingPrecedence: 100,
      rules: [{ subjects: [group("*")], ...EVERYTHING }],
      ...spec,
    },
  };
}

export function userNamed(name: string, ...groups: string[]): User {
  return { name, uid: "", groups: [...groups, "system:authenticated"], extra: {} };
}

export function userRequest(user: User, options: RequestOptions = {}): WithUser {
  return { ...infoRequest(options), user, isVerifiedPeer: false, isProxied: false };
}
