import { describe, expect, test } from "vitest";
import { parsePolicy, AuditPolicyError } from "./parse-policy.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { policyEvaluator, type AuditDecision } from "./policy.ts";

const ALICE = { name: "alice", uid: "", groups: ["devs", "system:authenticated"], extra: {} };

function policy(rules: readonly object[], more: object = {}): unknown {
  return { apiVersion: "audit.k8s.io/v1", kind: "Policy", rules, ...more };
}

function decide(value: unknown, url: string, method = "GET"): AuditDecision {
  return policyEvaluator(parsePolicy(value).policy)(ALICE, infoRequest({ url, method }).info);
}

function isMatch(rule: object, url: string, method = "GET"): boolean {
  return decide(policy([{ level: "Request", ...rule }]), url, method).level === "Request";
}

const POD = "/api/v1/namespaces/ns/pods/p";

describe("a rule", () => {
  test.each<[rule: object, url: string, fits: boolean, method?: string]>([
    [{}, POD, true],
    [{ users: ["alice"] }, POD, true],
    [{ users: ["bob"] }, POD, false],
    [{ userGroups: ["ops", "devs"] }, POD, true],
    [{ userGroups: ["ops"] }, POD, false],
    [{ verbs: ["get"] }, POD, true],
    [{ verbs: ["list", "watch"] }, POD, false],
    [{ verbs: ["deletecollection"] }, "/api/v1/namespaces/ns/pods", true, "DELETE"],
    [{ namespaces: ["ns"] }, POD, true],
    [{ namespaces: ["other"] }, POD, false],
    [{ namespaces: [""] }, "/api/v1/nodes/n", true],
    [{ namespaces: ["ns"] }, "/api/v1/namespaces/ns", true],
    [{ namespaces: ["ns"] }, "/healthz", false],
    [{ resources: [{ group: "" }] }, POD, true],
    [{ resources: [{ group: "apps" }] }, POD, false],
    [{ resources: [{ group: "*" }] }, POD, true],
    [{ resources: [{ group: "*" }] }, "/healthz", false],
    [{ resources: [{ group: "", resources: ["pods"] }] }, POD, true],
    [{ resources: [{ group: "", resources: ["pods"] }] }, `${POD}/log`, false],
    [{ resources: [{ group: "", resources: ["pods/log"] }] }, `${POD}/log`, true],
    [{ resources: [{ group: "", resources: ["pods/*"] }] }, `${POD}/log`, true],
    [{ resources: [{ group: "", resources: ["pods/*"] }] }, POD, true],
    [{ resources: [{ group: "", resources: ["*/log"] }] }, `${POD}/log`, true],
    [{ resources: [{ group: "", resources: ["*/status"] }] }, `${POD}/log`, false],
    [{ resources: [{ group: "", resources: ["*"] }] }, `${POD}/log`, true],
    [{ resources: [{ group: "", resources: ["pods"], resourceNames: ["p"] }] }, POD, true],
    [{ resources: [{ group: "", resources: ["pods"], resourceNames: ["q"] }] }, POD, false],
    [{ nonResourceURLs: ["/healthz"] }, "/healthz", true],
    [{ nonResourceURLs: ["/healthz*"] }, "/healthz/etcd", true],
    [{ nonResourceURLs: ["/metrics"] }, "/healthz", false],
    [{ nonResourceURLs: ["*"] }, "/healthz", true],
    [{ nonResourceURLs: ["*"] }, POD, false],
  ])("%j matches a request for %s: %s", (rule, url, fits, method) => {
    expect(isMatch(rule, url, method)).toBe(fits);
  });
});

test("the first matching rule decides, and a request that no rule matches is not audited", () => {
  const rules = [{ level: "None", verbs: ["get"] }, { level: "Metadata" }];
  expect(decide(policy(rules), POD).level).toBe("None");
  expect(decide(policy(rules), POD, "DELETE").level).toBe("Metadata");
  expect(decide(policy([rules[0]!]), POD, "DELETE").level).toBe("None");
});

test("stages are omitted if the policy or the rule omits them, and omitManagedFields of a rule overrides that of the policy", () => {
  const value = policy(
    [
      { level: "Request", verbs: ["get"], omitStages: ["Panic"], omitManagedFields: false },
      { level: "Request", omitManagedFields: null },
    ],
    { omitStages: ["RequestReceived"], omitManagedFields: true },
  );
  const ofGet = decide(value, POD);
  expect([...ofGet.omitStages].sort()).toEqual(["Panic", "RequestReceived"]);
  expect(ofGet.omitManagedFields).toBe(false);
  expect(decide(value, POD, "DELETE").omitManagedFields).toBe(true);
});

test("a request without a user matches only rules without users and groups", () => {
  const rules = [
    { level: "Request", userGroups: ["devs"] },
    { level: "Request", users: ["alice"] },
    { level: "Metadata" },
  ];
  const evaluate = policyEvaluator(parsePolicy(policy(rules)).policy);
  expect(evaluate(undefined, infoRequest({ url: POD }).info).level).toBe("Metadata");
});

describe("an invalid policy is rejected", () => {
  const rule = (more: object): unknown => policy([{ level: "None", ...more }]);
  test.each<[value: unknown, message: string]>([
    [policy([]), "loaded illegal policy with 0 rules"],
    [policy([{}]), "rules[0].level: Required value"],
    [
      policy([{ level: "Bad" }]),
      'rules[0].level: Unsupported value: "Bad": supported values: "None", "Metadata", "Request", "RequestResponse"',
    ],
    [
      policy([{ level: "None" }], { omitStages: ["Foo"] }),
      'omitStages[0]: Invalid value: "Foo": allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic',
    ],
    [
      rule({ nonResourceURLs: ["a", "/x*y"] }),
      `[rules[0].nonResourceURLs[0]: Invalid value: "a": non-resource URL rules must begin with a '/' character, rules[0].nonResourceURLs[1]: Invalid value: "/x*y": non-resource URL wildcards '*' must be the final character of the rule]`,
    ],
    [
      rule({ nonResourceURLs: ["/a"], namespaces: ["q"] }),
      'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and non-resource URLs',
    ],
    [
      rule({ resources: [{ group: "", resourceNames: ["x"] }] }),
      'rules[0].resources.resourceNames: Invalid value: ["x"]: using resourceNames requires at least one resource',
    ],
    [{ kind: "Policy" }, "unknown group version field audit.k8s.io/__internal, Kind=Policy in policy"],
  ])("with kube-apiserver's message: %j", (value, message) => {
    expect(() => parsePolicy(value)).toThrow(new AuditPolicyError(message));
  });

  test.each<[value: unknown, message: RegExp]>([
    [rule({ resources: [{ group: "apps/v1" }] }), /^rules\[0\]\.resources\.group: Invalid value: "apps\/v1": a lower/],
    [{ apiVersion: "audit.k8s.io/v1beta1", kind: "Policy" }, /^failed decoding: no kind "Policy" is registered/],
    [rule({ verbs: "get" }), /rules\[0\]\.verbs must be a list/],
    [rule({ verbs: [1] }), /rules\[0\]\.verbs must be a list of strings/],
    [policy(["x"] as never), /rules must be a list of objects/],
    [rule({ level: 3 }), /rules\[0\]\.level must be a string/],
    [rule({ omitManagedFields: "yes" }), /must be true or false/],
    [[], /not an object/],
    [null, /not an object/],
  ])("with a message that names the problem: %j", (value, message) => {
    expect(() => parsePolicy(value)).toThrow(message);
  });
});

test("a list that a YAML alias repeats counts each time toward the limit", () => {
  const verbs = Array.from({ length: 2_000 }, () => "get");
  const rules = Array.from({ length: 1_000 }, () => ({ level: "None", verbs }));
  expect(() => parsePolicy(policy(rules))).toThrow(/more than 1000000 entries/);
});

test("an unknown field returns a warning", () => {
  expect(parsePolicy(policy([{ level: "None", verb: ["get"] }])).warnings).toEqual(['unknown field "rules[0].verb"']);
});
