import { describe, expect, test } from "vitest";

import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import type { JsonObject } from "../../meta/json.ts";
import { compareSchemas, isAbout, isSubject, readFlowSchema } from "./flow-schema.ts";
import { readPriorityLevel } from "./priority-level.ts";
import { deal, hashOfFlow, isDealable } from "./shuffle-sharding.ts";
import {
  EVERYTHING,
  flowSchema,
  group,
  priorityLevel,
  queued,
  userNamed,
} from "../../../test/testing/access/flowcontrol/objects.ts";

function ruleOf(rule: JsonObject) {
  return readFlowSchema(flowSchema("a", "b", { rules: [rule] })).rules[0]!;
}

describe("subjects", () => {
  const user = (name: string): JsonObject => ({ kind: "User", user: { name } });
  const account = (namespace: string, name: string): JsonObject => ({
    kind: "ServiceAccount",
    serviceAccount: { namespace, name },
  });
  const jane = userNamed("jane", "dev");
  const robot = userNamed("system:serviceaccount:kube-system:robot");

  test.each([
    [user("jane"), jane, true],
    [user("joe"), jane, false],
    [user("*"), jane, true],
    [group("dev"), jane, true],
    [group("ops"), jane, false],
    [group("*"), jane, true],
    [account("kube-system", "robot"), robot, true],
    [account("kube-system", "other"), robot, false],
    [account("kube-system", "*"), robot, true],
    [account("kube", "*"), robot, false],
    [account("kube-system", "*"), userNamed("system:serviceaccount:kube-system"), false],
    [account("kube-system", "*"), userNamed("kube-system:robot"), false],
    [{ kind: "User" }, jane, false],
    [{ kind: "Robot", user: { name: "jane" } }, jane, false],
  ])("%j match the user %j: %s", (subject, asked, expected) => {
    expect(isSubject(ruleOf({ subjects: [subject], ...EVERYTHING }).subjects, asked)).toBe(expected);
  });
});

describe("rules", () => {
  const resources = (rule: JsonObject): JsonObject => ({
    resourceRules: [
      { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true, ...rule },
    ],
  });
  const paths = (...nonResourceURLs: string[]): JsonObject => ({
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs }],
  });

  test.each([
    [resources({}), "/api/v1/namespaces/a/pods", true],
    [resources({}), "/version", false],
    [resources({ verbs: ["get"] }), "/api/v1/namespaces/a/pods/x", true],
    [resources({ verbs: ["get"] }), "/api/v1/namespaces/a/pods", false],
    [resources({ apiGroups: ["apps"] }), "/api/v1/namespaces/a/pods", false],
    [resources({ apiGroups: ["", "apps"] }), "/api/v1/namespaces/a/pods", true],
    [resources({ resources: ["pods"] }), "/api/v1/namespaces/a/pods/x/status", false],
    [resources({ resources: ["pods/status"] }), "/api/v1/namespaces/a/pods/x/status", true],
    [resources({ namespaces: ["b"] }), "/api/v1/namespaces/a/pods", false],
    [resources({ namespaces: ["b"] }), "/api/v1/pods", true],
    [resources({ clusterScope: false }), "/api/v1/pods", false],
    [resources({ verbs: ["get", "*"] }), "/api/v1/pods", false],
    [paths("/healthz"), "/healthz", true],
    [paths("/healthz"), "/healthz/ping", true],
    [paths("/healthz"), "/healthz2", false],
    [paths("/apis/*"), "/apis/apps", true],
    [paths("*"), "/anything", true],
    [paths("*"), "/api/v1/pods", false],
    [{ resourceRules: "odd", nonResourceRules: [null, 1] }, "/api/v1/pods", false],
  ])("%j match the request %s: %s", (rule, url, expected) => {
    expect(isAbout(ruleOf({ subjects: [group("*")], ...rule }), infoRequest({ url }).info)).toBe(expected);
  });

  test("FlowSchemas are matched by precedence, then by name", () => {
    const schemas = [
      flowSchema("b", "x"),
      flowSchema("c", "x", { matchingPrecedence: 1 }),
      flowSchema("a", "x"),
      flowSchema("d", "x", { matchingPrecedence: undefined }),
    ].map(readFlowSchema);
    expect(schemas.sort(compareSchemas).map(({ name }) => name)).toEqual(["c", "a", "b", "d"]);
  });
});

describe("priority levels", () => {
  test("are read with the API's defaults", () => {
    expect(readPriorityLevel(priorityLevel("a", { limitResponse: { type: "Queue" } }))).toEqual({
      name: "a",
      uid: "level-a",
      isExempt: false,
      shares: 30,
      lendablePercent: 0,
      borrowingLimitPercent: undefined,
      queuing: { queues: 64, handSize: 8, queueLengthLimit: 50 },
    });
  });

  test.each<[string, JsonObject]>([
    ["no type", { metadata: { name: "a" }, spec: {} }],
    ["type Exempt under another name", { metadata: { name: "a" }, spec: { type: "Exempt" } }],
    ["type Limited under the name exempt", priorityLevel("exempt")],
    ["a hand size above the number of queues", priorityLevel("a", queued(4, 5, 10))],
    ["too many queues for the hash", priorityLevel("a", queued(10_000_000, 3, 10))],
    ["no queues", priorityLevel("a", queued(0, 0, 10))],
    ["an unknown limit response", priorityLevel("a", { limitResponse: { type: "Panic" } })],
  ])("with %s are invalid and ignored", (_, object) => {
    expect(readPriorityLevel(object)).toBeUndefined();
  });
});

describe("hands (the sets of queues of a flow)", () => {
  test("contain distinct queues, are stable per flow, and use all queues", () => {
    const deck = { queues: 128, handSize: 6 };
    const dealt = new Set<number>();
    for (let user = 0; user < 500; user++) {
      const hand = deal(hashOfFlow("service-accounts", `user-${user}`), deck);
      expect(new Set(hand).size).toBe(6);
      expect(hand.every((queue) => queue >= 0 && queue < 128)).toBe(true);
      for (const queue of hand) dealt.add(queue);
    }
    expect(dealt.size).toBe(128);
    expect(deal(hashOfFlow("a", "b"), deck)).toEqual(deal(hashOfFlow("a", "b"), deck));
    expect(deal(hashOfFlow("a", "b"), deck)).not.toEqual(deal(hashOfFlow("a", "c"), deck));
  });

  test("equal those of kube-apiserver", () => {
    // For hash 0 all remainders are 0, so the first queues are dealt; for hash 2^64 − 1 the remainders are those below.
    expect(deal(0n, { queues: 5, handSize: 3 })).toEqual([0, 1, 2]);
    expect(deal(2n ** 64n - 1n, { queues: 16, handSize: 4 })).toEqual([15, 0, 8, 7]);
    expect(isDealable({ queues: 1, handSize: 1 })).toBe(true);
  });
});
