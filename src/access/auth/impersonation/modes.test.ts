import { describe, expect, test } from "vitest";
import { StatusError } from "../../../meta/status-error.ts";
import type { AccessAttributes, Authorizer } from "../authorize.ts";
import { AUTHENTICATED, type User } from "../user.ts";
import { MODES, MODES_BEFORE_1_36, type Impersonated, type Mode } from "./modes.ts";

const SA = "system:serviceaccount:ns:sa";
const NODE = "system:node:n1";
const who = (user: Partial<User>): User => ({ name: "jane", uid: "", groups: [], extra: {}, ...user });
const LIST_PODS: AccessAttributes = {
  isResourceRequest: true,
  verb: "list",
  group: "",
  version: "v1",
  namespace: "a",
  resource: "pods",
  subresource: "",
  name: "",
  path: "/api/v1/namespaces/a/pods",
};

interface Tried {
  readonly lines: readonly string[];
  readonly answer: Impersonated | StatusError | undefined;
}

/** Tries the modes until one succeeds, and records each permission check as a line. */
function tried(modes: readonly Mode[], wanted: Partial<User>, isAllowed: (line: string) => boolean): Tried {
  const lines: string[] = [];
  const authorizer: Authorizer = (_user, { verb, group, resource, subresource, namespace, name }) => {
    const line = `${verb} ${[group, resource, subresource].join("/")} ${namespace}/${name}`;
    lines.push(line);
    return { allowed: isAllowed(line), reason: "" };
  };
  const attempt = { authorizer, requester: who({ name: "root" }), access: LIST_PODS, wanted: who(wanted) };
  let rejected: StatusError | undefined;
  for (const mode of modes) {
    const response = mode(attempt);
    if (response instanceof StatusError) rejected ??= response;
    else if (response !== undefined) return { lines, answer: response };
  }
  return { lines, answer: rejected };
}

const isPlain = (line: string): boolean => line.startsWith("impersonate ");

describe("impersonation", () => {
  const everything = { uid: "7", groups: ["g", "h"], extra: { k: ["1", "2"] } };
  const plain = ["impersonate /users/ /jane"];
  const uid = ["impersonate authentication.k8s.io/uids/ /7"];
  const groups = ["impersonate /groups/ /g", "impersonate /groups/ /h"];
  const extra = [
    "impersonate authentication.k8s.io/userextras/k /1",
    "impersonate authentication.k8s.io/userextras/k /2",
  ];

  test("checks every field of the wanted user, in the order before 1.36 and in the order since 1.36", () => {
    expect(tried(MODES_BEFORE_1_36, everything, isPlain).lines).toEqual([...plain, ...groups, ...extra, ...uid]);
    expect(tried(MODES, everything, isPlain).lines).toEqual([
      "impersonate-on:user-info:list /pods/ a/",
      ...[...plain, ...uid, ...groups, ...extra],
    ]);
  });

  test.each<readonly [wanted: Partial<User>, lines: string[], constraint: string]>([
    [
      {},
      ["impersonate-on:user-info:list /pods/ a/", "impersonate:user-info authentication.k8s.io/users/ /jane"],
      "impersonate:user-info",
    ],
    [
      { name: SA },
      [
        "impersonate-on:serviceaccount:list /pods/ a/",
        "impersonate:serviceaccount authentication.k8s.io/serviceaccounts/ ns/sa",
      ],
      "impersonate:serviceaccount",
    ],
    [
      { name: NODE },
      ["impersonate-on:arbitrary-node:list /pods/ a/", "impersonate:arbitrary-node authentication.k8s.io/nodes/ /n1"],
      "impersonate:arbitrary-node",
    ],
    [{ name: SA, groups: ["g"] }, ["impersonate /serviceaccounts/ ns/sa", "impersonate /groups/ /g"], ""],
    [
      { name: NODE, uid: "1" },
      ["impersonate /users/ /system:node:n1", "impersonate authentication.k8s.io/uids/ /1"],
      "",
    ],
    [
      { groups: ["a", "b", "c", "d"], extra: { "x.io/k": ["1", "2", "3", "4"] } },
      [
        "impersonate-on:user-info:list /pods/ a/",
        "impersonate:user-info authentication.k8s.io/users/ /jane",
        "impersonate:user-info authentication.k8s.io/groups/ /*",
        "impersonate:user-info authentication.k8s.io/userextras/* /*",
      ],
      "impersonate:user-info",
    ],
  ])("of %j checks %j", (wanted, lines, constraint) => {
    const { lines: access, answer } = tried(MODES, wanted, () => true);
    expect(access).toEqual(lines);
    expect(answer).toMatchObject({ constraint });
  });

  test("of an invalid node name is checked like that of an ordinary user", () => {
    const { lines, answer } = tried(MODES, { name: "system:node:*" }, () => true);
    expect(lines[1]).toBe("impersonate:user-info authentication.k8s.io/users/ /system:node:*");
    expect(answer).toMatchObject({ user: { groups: [AUTHENTICATED] } });
  });

  test("checks each group if the permission for all groups is denied", () => {
    const { answer } = tried(MODES, { groups: ["a", "b", "c", "d"] }, (line) => !line.endsWith("/*"));
    expect(answer).toMatchObject({ constraint: "impersonate:user-info" });
  });

  test("of a node adds the group system:nodes", () => {
    const { answer } = tried(MODES, { name: NODE }, () => true);
    expect(answer).toMatchObject({ user: { groups: ["system:nodes", AUTHENTICATED] } });
  });
});

describe("impersonation returns an error for", () => {
  const onlyConstrained = (line: string): boolean => !isPlain(line);
  const notAllowed = 'resource "userextras" in API group "authentication.k8s.io" at the cluster scope: impersonating';
  test.each<readonly [wanted: Partial<User>, isAllowed: (line: string) => boolean, message: string]>([
    [
      {},
      () => false,
      'pods is forbidden: User "root" cannot impersonate-on:user-info:list resource "pods" in API group "" in the namespace "a"',
    ],
    [
      { name: SA, groups: ["g"] },
      () => false,
      'serviceaccounts "sa" is forbidden: User "root" cannot impersonate resource "serviceaccounts" in API group "" in the namespace "ns"',
    ],
    [
      { groups: ["system:masters"] },
      onlyConstrained,
      'groups.authentication.k8s.io "system:masters" is forbidden: User "root" cannot impersonate:user-info resource "groups" in API group "authentication.k8s.io" at the cluster scope: impersonating the system:masters group is not allowed',
    ],
    [{ groups: ["g", ""] }, onlyConstrained, "impersonating the empty string group is not allowed"],
    [{ extra: { "": ["a"] } }, onlyConstrained, `${notAllowed} the empty string key in extra is not allowed`],
    [
      { extra: { foo: ["a"] } },
      onlyConstrained,
      `${notAllowed} an invalid key in extra is not allowed: extra.key: Invalid value: "foo": must be a domain-prefixed path (such as "acme.io/foo")`,
    ],
    [
      { extra: { "a.io/K": ["a"] } },
      onlyConstrained,
      `${notAllowed} a non-lowercase key in extra is not allowed: "a.io/K"`,
    ],
    [{ extra: { "a.io/k": [""] } }, onlyConstrained, `${notAllowed} the empty string value in extra is not allowed`],
    [{ extra: { "_/é": ["x"] } }, onlyConstrained, 'Invalid value: "é": Invalid path (regex used for validation is'],
  ])("%j", (wanted, isAllowed, message) => {
    const { answer } = tried(MODES, wanted, isAllowed);
    expect(answer).toBeInstanceOf(StatusError);
    expect((answer as StatusError).message).toContain(message);
    expect((answer as StatusError).code).toBe(403);
  });
});

describe("a service account that impersonates the node of its pod", () => {
  const extra = { "authentication.kubernetes.io/node-name": ["n1"], other: ["x"] };
  const access: { user: User; access: AccessAttributes }[] = [];
  const attempt = (requester: Partial<User>, wanted: Partial<User>, isAllowed = true): ReturnType<Mode> =>
    MODES[0]!({
      authorizer: (user, question) => {
        access.push({ user, access: question });
        return { allowed: isAllowed, reason: "" };
      },
      requester: who({ name: SA, extra, ...requester }),
      access: LIST_PODS,
      wanted: who(wanted),
    });

  test("becomes that node, if the requester may impersonate all nodes as associated nodes", () => {
    access.length = 0;
    expect(attempt({}, { name: NODE })).toEqual({
      user: who({ name: NODE, groups: ["system:nodes", AUTHENTICATED] }),
      constraint: "impersonate:associated-node",
    });
    expect(access.map((one) => one.access)).toMatchObject([
      { verb: "impersonate-on:associated-node:list", resource: "pods" },
      { verb: "impersonate:associated-node", resource: "nodes", name: "*" },
    ]);
    const keys = ["authentication.kubernetes.io/node-name", "other"];
    expect(access[0]!.user.extra).toEqual({ "authentication.kubernetes.io/associated-node-keys": keys });
  });

  test.each<readonly [requester: Partial<User>, wanted: Partial<User>]>([
    [{}, { name: "system:node:n2" }],
    [{}, { name: "system:node:*" }],
    [{}, { name: NODE, groups: ["g"] }],
    [{ name: "jane" }, { name: NODE }],
    [{ extra: {} }, { name: NODE }],
    [{ extra: { "authentication.kubernetes.io/node-name": ["n1", "n2"] } }, { name: NODE }],
  ])("must run on that node and name only the node: %j may not impersonate %j in this mode", (requester, wanted) => {
    expect(attempt(requester, wanted)).toBeUndefined();
  });
});
