import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import { StatusError } from "../../../meta/status-error.ts";
import type { User } from "../user.ts";
import { createRbac } from "./rbac.ts";
import { checkedResource, checkRoleWrite, type RoleWrite } from "./role-write.ts";
import { binding, clusterRole, paths, role, rule, user } from "../../../../test/testing/access/auth/rbac/objects.ts";

const rbac = createRbac();
rbac.clusterRoles.reset([
  clusterRole("reader", rule("get core pods"), paths("get", "/x")),
  clusterRole("everything", rule("* * *"), paths("*", "*")),
  clusterRole("escalator", rule("escalate rbac.authorization.k8s.io clusterroles special")),
  clusterRole("binder", rule("bind rbac.authorization.k8s.io clusterroles everything")),
]);
rbac.roles.put(role("team", "local", rule("get core pods"), rule("delete core secrets")));
rbac.clusterRoleBindings.reset([
  binding("reader", "ClusterRole/reader", "User/jane"),
  binding("everything", "ClusterRole/everything", "User/root"),
  binding("escalator", "ClusterRole/escalator", "User/eva"),
  binding("binder", "ClusterRole/binder", "User/ben"),
  binding("dangling", "ClusterRole/gone", "User/dan"),
]);
rbac.roleBindings.put(binding("team/dangling", "Role/gone", "User/dan"));

async function refusal(who: User, write: Pick<RoleWrite, "resource" | "object"> & Partial<RoleWrite>) {
  const rejected = await checkRoleWrite({
    ...{ user: who, authorize: rbac.authorization.authorize, resolver: rbac.resolver, newest: async () => undefined },
    ...{ namespace: "", name: "", existing: undefined, ...write },
  }).catch((thrown: unknown) => thrown);
  if (rejected === undefined) return undefined;
  return rejected instanceof StatusError ? [rejected.code, rejected.message] : rejected;
}

const HELD = "is attempting to grant RBAC permissions not currently held:\n";
const JANE = `user "jane" (groups=["dev" "ops"]) ${HELD}`;
const jane = user("jane", "dev", "ops");
const roles = "clusterroles.rbac.authorization.k8s.io";

describe("a write of a role", () => {
  test.each<[User, JsonObject[], string | undefined]>([
    [jane, [], undefined],
    [jane, [rule("get core pods x")], undefined],
    [jane, [paths("get", "/x")], undefined],
    [user("root"), [rule("* * *")], undefined],
    [user("any", "system:masters"), [rule("* * *")], undefined],
    [
      jane,
      [rule("get,list core pods,nodes"), paths("get", "/y")],
      `${JANE}{APIGroups:[""], Resources:["nodes"], Verbs:["get" "list"]}\n` +
        '{APIGroups:[""], Resources:["pods"], Verbs:["list"]}\n{NonResourceURLs:["/y"], Verbs:["get"]}',
    ],
    [
      user("dan"),
      [rule("get core pods")],
      `user "dan" (groups=[]) ${HELD}{APIGroups:[""], Resources:["pods"], Verbs:["get"]}; ` +
        `resolution errors: [${roles} "gone" not found]`,
    ],
  ])("by %j with the rules %j has the error %j", async (who, rules, why) => {
    const rejected = await refusal(who, { resource: "clusterroles", object: clusterRole("new", ...rules) });
    expect(rejected).toEqual(why === undefined ? undefined : [403, `${roles} "new" is forbidden: ${why}`]);
  });

  test("is not checked if the user has the verb escalate for the name in the path", async () => {
    const write = { resource: "clusterroles", object: clusterRole("special", rule("* * *")) } as const;
    expect(await refusal(user("eva"), { ...write, name: "special" })).toBeUndefined();
    expect(await refusal(user("eva"), write)).toMatchObject([403, expect.stringContaining(HELD)]);
  });

  test("whose old or new object has an aggregationRule requires cluster-admin privileges", async () => {
    const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] };
    const [plain, gathering] = [clusterRole("new"), { ...clusterRole("new"), aggregationRule }];
    const why = `${roles} "new" is forbidden: must have cluster-admin privileges to use the aggregationRule`;
    expect(await refusal(jane, { resource: "clusterroles", object: gathering })).toEqual([403, why]);
    expect(await refusal(jane, { resource: "clusterroles", object: plain, existing: gathering })).toEqual([403, why]);
    expect(await refusal(user("root"), { resource: "clusterroles", object: gathering })).toBeUndefined();
  });

  test("is rejected if it grants too many permissions to compare", async () => {
    const words = Array.from({ length: 2000 }, (_, index) => `w${index}`);
    const vast = { verbs: words, apiGroups: words, resources: ["pods"], resourceNames: words };
    const rejected = await refusal(jane, { resource: "clusterroles", object: clusterRole("new", vast) });
    expect(rejected).toMatchObject([403, expect.stringMatching(/\n\.\.\.$/)]);
  });
});

describe("an update", () => {
  const existing = { ...clusterRole("reader", rule("* * *")), metadata: { name: "reader", resourceVersion: "7" } };
  const changed = (metadata: JsonObject) => ({ ...existing, metadata: { ...existing.metadata, ...metadata } });

  test.each<[JsonObject, isChecked: boolean]>([
    [{ finalizers: ["a/b"], ownerReferences: [{ uid: "x" }], managedFields: [{}] }, false],
    [{ labels: {} }, false],
    [{ labels: { a: "" } }, true],
    [{ annotations: { a: "b" } }, true],
    [{ resourceVersion: "8" }, true],
  ])("that makes the change %j is checked: %j", async (metadata, isChecked) => {
    const rejected = await refusal(jane, { resource: "clusterroles", object: changed(metadata), existing });
    expect(rejected !== undefined).toBe(isChecked);
  });
});

describe("a write of a binding", () => {
  const crb = (ref: string) => ({ resource: "clusterrolebindings", object: binding("new", ref, "User/x") }) as const;
  const rb = (ref: string) =>
    ({ resource: "rolebindings", namespace: "team", object: binding("team/new", ref, "User/x") }) as const;
  const missing = (resource: string) => [404, `${resource}.rbac.authorization.k8s.io "none" not found`];

  test.each([
    [jane, crb("ClusterRole/reader"), undefined],
    [jane, rb("ClusterRole/reader"), undefined],
    [user("ben"), crb("ClusterRole/everything"), undefined],
    [user("ben"), rb("ClusterRole/everything"), undefined],
    [user("any", "system:masters"), rb("ClusterRole/none"), undefined],
    [jane, crb("ClusterRole/none"), missing("clusterrolebindings")],
    [jane, rb("ClusterRole/none"), missing("rolebindings")],
    [jane, rb("Role/none"), missing("rolebindings")],
    [jane, crb("Role/local"), [400, "Namespace parameter required."]],
    [jane, rb("Strange/x"), [500, 'unsupported role reference kind: "Strange"']],
    [
      jane,
      rb("Role/local"),
      [
        403,
        `rolebindings.rbac.authorization.k8s.io "new" is forbidden: ${JANE}{APIGroups:[""], Resources:["secrets"], Verbs:["delete"]}`,
      ],
    ],
    [
      user("dan"),
      rb("Role/local"),
      [
        403,
        expect.stringMatching(/; resolution errors: \[rolebindings\.rbac\.authorization\.k8s\.io "gone" not found\]$/),
      ],
    ],
  ])("by %j with %j has the error %j", async (who, write, expected) => {
    expect(await refusal(who, write)).toEqual(expected);
  });

  test("reads a role that this server has not cached yet from the store", async () => {
    const asked: unknown[] = [];
    const newest: RoleWrite["newest"] = async (...what) => {
      asked.push(what);
      return role("team", "fresh", rule("get core pods"));
    };
    expect(await refusal(jane, { ...rb("Role/fresh"), newest })).toBeUndefined();
    expect(asked).toEqual([[{ group: "rbac.authorization.k8s.io", resource: "roles" }, "team", "fresh"]]);
  });
});

test("writes of other resources are not checked", () => {
  expect(checkedResource({ group: "rbac.authorization.k8s.io", resource: "roles" })).toBe("roles");
  expect(checkedResource({ group: "rbac.authorization.k8s.io", resource: "others" })).toBeUndefined();
  expect(checkedResource({ group: "example.com", resource: "roles" })).toBeUndefined();
});
