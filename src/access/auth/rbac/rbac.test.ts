import { describe, expect, test } from "vitest";
import { BindingIndex } from "./binding-index.ts";
import { withPrivilegedGroups } from "./privileged-groups.ts";
import { createRbac, type Rbac } from "./rbac.ts";
import { RoleIndex } from "./role-index.ts";
import {
  accessOf,
  binding,
  clusterRole,
  paths,
  role,
  rule,
  user,
} from "../../../../test/testing/access/auth/rbac/objects.ts";

const READS = rule("get core pods");

function filled(fill: (rbac: Rbac) => void): Rbac {
  const rbac = createRbac();
  fill(rbac);
  return rbac;
}

function decide({ authorization }: Rbac, who: ReturnType<typeof user>, what: string, namespace = "") {
  const { allowed, reason } = authorization.authorize(who, accessOf(what, namespace));
  return [allowed, reason];
}

const allows = (rbac: Rbac, who: string, namespace = ""): boolean =>
  rbac.authorization.authorize(user(who), accessOf("get pods", namespace)).allowed;

describe("the reason of a decision", () => {
  const rbac = filled(({ roles, clusterRoles, roleBindings, clusterRoleBindings }) => {
    clusterRoles.put(clusterRole("reader", READS, paths("get", "/x")));
    roles.put(role("team", "local", READS));
    clusterRoleBindings.put(binding("everywhere", "ClusterRole/reader", "User/ann", "Group/readers"));
    roleBindings.put(binding("team/here", "ClusterRole/reader", "User/bob", "ServiceAccount/robot"));
    roleBindings.put(binding("team/own", "Role/local", "ServiceAccount/other/robot"));
  });
  const CLUSTER = 'RBAC: allowed by ClusterRoleBinding "everywhere" of ClusterRole "reader" to';

  test.each([
    [user("ann"), "get pods", "", `${CLUSTER} User "ann"`],
    [user("ann"), "get pods", "any", `${CLUSTER} User "ann"`],
    [user("eve", "readers"), "get pods", "", `${CLUSTER} Group "readers"`],
    [user("ann", "readers"), "get /x", "", `${CLUSTER} User "ann"`],
    [user("bob"), "get pods", "team", 'RBAC: allowed by RoleBinding "here/team" of ClusterRole "reader" to User "bob"'],
    [
      user("system:serviceaccount:team:robot"),
      "get pods",
      "team",
      'RBAC: allowed by RoleBinding "here/team" of ClusterRole "reader" to ServiceAccount "robot/team"',
    ],
    [
      user("system:serviceaccount:other:robot"),
      "get pods",
      "team",
      'RBAC: allowed by RoleBinding "own/team" of Role "local" to ServiceAccount "robot/other"',
    ],
  ])("names the binding, the role and the subject for %j with %j in %j", (who, what, namespace, reason) => {
    expect(decide(rbac, who, what, namespace)).toEqual([true, reason]);
  });

  test.each([
    [user("bob"), "get pods", ""],
    [user("bob"), "get pods", "elsewhere"],
    [user("bob"), "list pods", "team"],
    [user("bob"), "get /x", ""],
    [user("readers"), "get pods", ""],
    [user("eve", "ann"), "get pods", ""],
  ])("is empty for the denied request of %j with %j in %j", (who, what, namespace) => {
    expect(decide(rbac, who, what, namespace)).toEqual([false, ""]);
  });
});

describe("roles and bindings", () => {
  test("take effect in any order: a role may be created before or after its binding, and be replaced, deleted and recreated", () => {
    const rbac = createRbac();
    rbac.clusterRoleBindings.put(binding("b", "ClusterRole/reader", "User/ann"));
    expect(allows(rbac, "ann")).toBe(false);
    rbac.clusterRoles.put(clusterRole("reader", READS));
    expect(allows(rbac, "ann")).toBe(true);
    rbac.clusterRoles.put(clusterRole("reader", rule("list core pods")));
    expect(allows(rbac, "ann")).toBe(false);
    rbac.clusterRoles.put(clusterRole("reader", READS));
    rbac.clusterRoles.remove("", "reader");
    expect(allows(rbac, "ann")).toBe(false);
    rbac.clusterRoles.put(clusterRole("reader", READS));
    expect(allows(rbac, "ann")).toBe(true);
  });

  test("have no effect for a subject whose binding was replaced or removed", () => {
    const rbac = filled(({ roles }) => roles.put(role("team", "reader", READS)));
    rbac.roleBindings.put(binding("team/b", "Role/reader", "User/ann", "User/ann", "Group/g"));
    expect(allows(rbac, "ann", "team")).toBe(true);
    rbac.roleBindings.put(binding("team/b", "Role/reader", "User/bob"));
    expect(allows(rbac, "ann", "team")).toBe(false);
    expect(rbac.authorization.authorize(user("x", "g"), accessOf("get pods", "team")).allowed).toBe(false);
    expect(allows(rbac, "bob", "team")).toBe(true);
    rbac.roleBindings.remove("team", "b");
    expect(allows(rbac, "bob", "team")).toBe(false);
    rbac.roleBindings.remove("team", "b");
  });

  test("are removed by a reset that does not contain them", () => {
    const rbac = filled(({ clusterRoles, clusterRoleBindings }) => {
      clusterRoles.put(clusterRole("reader", READS));
      clusterRoleBindings.put(binding("b", "ClusterRole/reader", "User/ann"));
    });
    rbac.clusterRoleBindings.reset([binding("c", "ClusterRole/reader", "User/bob")]);
    expect([allows(rbac, "ann"), allows(rbac, "bob")]).toEqual([false, true]);
    rbac.clusterRoles.reset([clusterRole("other", READS)]);
    expect(allows(rbac, "bob")).toBe(false);
    rbac.clusterRoles.reset([clusterRole("reader", READS)]);
    expect(allows(rbac, "bob")).toBe(true);
  });
});

describe("references to missing roles", () => {
  const rbac = filled(({ clusterRoles, roleBindings, clusterRoleBindings }) => {
    clusterRoles.put(clusterRole("reader", READS));
    clusterRoleBindings.put(binding("b", "ClusterRole/gone", "User/ann", "User/bob"));
    clusterRoleBindings.put(binding("c", "ClusterRole/gone", "User/ann"));
    clusterRoleBindings.put(binding("d", "Role/reader", "User/eve"));
    roleBindings.put(binding("team/a", "Role/reader", "User/ann"));
    roleBindings.put(binding("team/z", "Strange/x", "User/ann"));
  });
  const GONE = 'clusterrole.rbac.authorization.k8s.io "gone" not found';

  test.each([
    ["bob", "", `RBAC: ${GONE}`],
    ["ann", "", `RBAC: ${GONE}`],
    [
      "ann",
      "team",
      `RBAC: [${GONE}, role.rbac.authorization.k8s.io "reader" not found, unsupported role reference kind: "Strange"]`,
    ],
    ["eve", "", 'RBAC: role.rbac.authorization.k8s.io "reader" not found'],
  ])("are each listed once in the reason for denying %j in %j", (who, namespace, reason) => {
    expect(decide(rbac, user(who), "get pods", namespace)).toEqual([false, reason]);
  });

  test("are listed only up to a limit", () => {
    const many = filled(({ clusterRoleBindings }) =>
      clusterRoleBindings.reset(
        Array.from({ length: 5000 }, (_, index) => binding(`b${index}`, `ClusterRole/r${index}`, "User/ann")),
      ),
    );
    const { reason } = many.authorization.authorize(user("ann"), accessOf("get pods"));
    expect(reason.split(", ")).toHaveLength(100);
  });
});

test("invalid objects, and Roles and RoleBindings without a namespace, grant nothing", () => {
  const rbac = filled(({ roles, clusterRoles, roleBindings, clusterRoleBindings }) => {
    clusterRoles.put(clusterRole("reader", READS));
    roles.put(clusterRole("reader", READS));
    roleBindings.put(binding("b", "ClusterRole/reader", "User/ann"));
    clusterRoleBindings.put(binding("sa", "ClusterRole/reader", "ServiceAccount/robot"));
    clusterRoleBindings.put(binding("role", "Role/reader", "User/ann"));
    clusterRoleBindings.put(binding("kind", "ClusterRole/reader", "Strange/ann"));
    for (const odd of [{}, { metadata: null }, { metadata: { name: 1 }, subjects: [null, 1], roleRef: "x" }])
      for (const table of [roles, clusterRoles, roleBindings, clusterRoleBindings]) table.put(odd);
  });
  expect(allows(rbac, "ann")).toBe(false);
  expect(allows(rbac, "system:serviceaccount::robot")).toBe(false);
  expect(allows(rbac, "")).toBe(false);
});

test("rulesFor lists the rules of ClusterRoleBindings before those of RoleBindings, each sorted by binding, and each binding once", () => {
  const rbac = filled(({ roles, clusterRoles, roleBindings, clusterRoleBindings }) => {
    clusterRoles.put(clusterRole("a", rule("get core pods x"), paths("get", "/x")));
    clusterRoles.put(clusterRole("b", rule("list apps deployments")));
    roles.put(role("team", "c", rule("watch core nodes")));
    clusterRoleBindings.put(binding("2", "ClusterRole/a", "User/ann", "Group/g"));
    clusterRoleBindings.put(binding("1", "ClusterRole/b", "Group/g"));
    clusterRoleBindings.put(binding("3", "ClusterRole/gone", "Group/g"));
    roleBindings.put(binding("team/0", "Role/c", "User/ann"));
    roleBindings.put(binding("other/0", "ClusterRole/a", "User/ann"));
  });
  expect(rbac.authorization.rulesFor(user("ann", "g"), "team")).toEqual({
    resourceRules: [
      { verbs: ["list"], apiGroups: ["apps"], resources: ["deployments"] },
      { verbs: ["get"], apiGroups: [""], resources: ["pods"], resourceNames: ["x"] },
      { verbs: ["watch"], apiGroups: [""], resources: ["nodes"] },
    ],
    nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/x"] }],
    incomplete: false,
    evaluationError: 'clusterrole.rbac.authorization.k8s.io "gone" not found',
  });
});

test("members of system:masters may do everything, but rulesFor lists only the rules of their bindings", () => {
  const { authorize, rulesFor } = withPrivilegedGroups(createRbac().authorization);
  expect(authorize(user("root", "system:masters"), accessOf("delete nodes"))).toEqual({ allowed: true, reason: "" });
  expect(authorize(user("system:masters"), accessOf("delete nodes")).allowed).toBe(false);
  expect(rulesFor(user("root", "system:masters"), "team").resourceRules).toEqual([]);
});

test("a decision visits only the bindings of the user and its groups", () => {
  const book = new BindingIndex(new RoleIndex());
  const table = book.table("ClusterRoleBinding");
  table.reset(Array.from({ length: 1000 }, (_, index) => binding(`b${index}`, "ClusterRole/r", `User/u${index}`)));
  table.put(binding("shared", "ClusterRole/r", "Group/g", "User/u7"));
  const looked: string[] = [];
  book.find(user("u7", "g", "h"), "team", (bound) => {
    looked.push(bound.binding.name);
    return false;
  });
  expect(looked).toEqual(["b7", "shared", "shared"]);
});

describe("for a role that is bound several times, rulesFor", () => {
  const rulesOfReader = (rules: number, bindings: number): number => {
    const { authorization } = filled(({ roles, roleBindings }) => {
      roles.put(role("team", "reader", ...Array.from({ length: rules }, () => READS)));
      for (let index = 0; index < bindings; index++)
        roleBindings.put(binding(`team/b${index}`, "Role/reader", "User/ann"));
    });
    return authorization.rulesFor(user("ann"), "team").resourceRules.length;
  };

  test("repeats the rules for each binding, as kubernetes does", () => expect(rulesOfReader(2, 3)).toBe(6));

  test("lists the rules once if repeating them would exceed the limit", () => {
    expect(rulesOfReader(500, 100)).toBe(500);
  });
});
