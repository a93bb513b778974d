/**
 * Tests of a tenant with permissions in one namespace that tries to gain more permissions. The server rejects each
 * attempt with the message of kube-apiserver and writes nothing.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { PeerResponse, Json } from "../peers/client.ts";
import {
  applyOf,
  asTenant,
  bindingOf,
  grantTenant,
  createAsAdmin,
  OTHER,
  OWN,
  patchOf,
  RBAC,
  REVIEW,
  REVIEW_PATH,
  rule,
  SECRET,
  startSite,
  TENANT,
  SECRET_FORBIDDEN,
  userIn,
  type Site,
  type TenantCall,
} from "./start.ts";

const ROLES = `${RBAC}/namespaces/${OWN}/roles`;
const BINDINGS = `${RBAC}/namespaces/${OWN}/rolebindings`;
const CLUSTER_ROLES = `${RBAC}/clusterroles`;
const CLUSTER_BINDINGS = `${RBAC}/clusterrolebindings`;
const KINDS: Readonly<Record<string, string>> = {
  roles: "Role",
  rolebindings: "RoleBinding",
  clusterroles: "ClusterRole",
  clusterrolebindings: "ClusterRoleBinding",
};

let site: Site;
beforeAll(async () => {
  site = await startSite();
  const { first } = site;
  // Permissions that the tenant has by mistake. Even a user that may write cluster roles cannot grant more permissions
  // than it has.
  await grantTenant(first, "tenant-clusterroles", [
    rule("rbac.authorization.k8s.io", ["clusterroles", "clusterrolebindings"], ["get", "create", "update", "patch"]),
  ]);
  await createAsAdmin(first, ROLES, { metadata: { name: "weak" }, rules: [rule("", ["configmaps"], ["get"])] });
  await createAsAdmin(first, CLUSTER_ROLES, { metadata: { name: "weak" }, rules: [rule("", ["configmaps"], ["get"])] });
  await createAsAdmin(first, BINDINGS, { ...bindingOf("strong", "ClusterRole", "cluster-admin"), subjects: [] });
  await createAsAdmin(first, BINDINGS, bindingOf("weak", "Role", "weak"));
});
afterAll(() => site[Symbol.asyncDispose]());

/**
 * Sends the attack, and checks that the tenant's identity and permissions are unchanged and that no object has changed.
 */
async function changesNothing(attack: () => Promise<PeerResponse>, ...paths: readonly string[]): Promise<PeerResponse> {
  const look = async (): Promise<Json> =>
    Promise.all(
      paths.map(async (path) => {
        const { status, body } = await site.first.get(path);
        return { status, object: body.items?.map((item: Json) => item.metadata) ?? body };
      }),
    );
  const before = await look();
  const response = await attack();
  expect(await look()).toEqual(before);
  const read = await asTenant(site.first, SECRET);
  expect([read.status, read.body.message]).toEqual([403, SECRET_FORBIDDEN]);
  return response;
}

const WHO = 'user "tenant" (groups=["tenants" "system:authenticated"])';
const MORE = rule("", ["secrets"], ["get"]);
const EVERYTHING = rule("*", ["*"], ["*"]);
const lacking = (resources: string, name: string, lines: readonly string[]): string =>
  `${resources}.rbac.authorization.k8s.io "${name}" is forbidden: ${WHO} is attempting to grant RBAC permissions not currently held:\n${lines.join("\n")}`;
const ALL = '{APIGroups:["*"], Resources:["*"], Verbs:["*"]}';
const ALL_URLS = '{NonResourceURLs:["*"], Verbs:["*"]}';
const NODES = '{APIGroups:[""], Resources:["nodes"], Verbs:["get"]}';

const ofKind = (path: string, object: Json): Json => ({
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: KINDS[path.split("/").at(-1)!],
  ...object,
});

describe("escalation by roles is rejected", () => {
  const roleOf = (name: string, ...rules: readonly Json[]): Json => ({ metadata: { name }, rules });

  test.each([
    ["a Role with all permissions", ROLES, [EVERYTHING], [ALL]],
    ["a Role with one permission that the tenant does not hold", ROLES, [MORE, rule("", ["nodes"], ["get"])], [NODES]],
    ["a ClusterRole with all permissions", CLUSTER_ROLES, [EVERYTHING], [ALL]],
    [
      "a ClusterRole with permissions held in one namespace only",
      CLUSTER_ROLES,
      [MORE],
      ['{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}'],
    ],
    ["a ClusterRole with URLs", CLUSTER_ROLES, [{ nonResourceURLs: ["*"], verbs: ["*"] }], [ALL_URLS]],
  ])("for the creation of %s", async (_what, path, rules, missing) => {
    const resource = path.split("/").at(-1)!;
    const create = (): Promise<PeerResponse> =>
      asTenant(site.first, path, { method: "POST", body: roleOf("new", ...rules) });
    const response = await changesNothing(create, path);
    expect([response.status, response.body.message]).toEqual([403, lacking(resource, "new", missing)]);
    expect(response.body).toMatchObject({
      reason: "Forbidden",
      details: { name: "new", group: "rbac.authorization.k8s.io" },
    });
  });

  const CHANGES: readonly (readonly [how: string, call: (object: Json) => TenantCall])[] = [
    ["an update", (object) => ({ method: "PUT", body: { ...object, rules: [EVERYTHING] } })],
    ["a JSON patch", () => patchOf("json", [{ op: "replace", path: "/rules/0", value: EVERYTHING }])],
    ["a merge patch", () => patchOf("merge", { rules: [EVERYTHING] })],
    ["a strategic merge patch", () => patchOf("strategic-merge", { rules: [EVERYTHING] })],
    [
      "an apply",
      ({ apiVersion, kind, metadata: { name } }) =>
        applyOf({ apiVersion, kind, metadata: { name }, rules: [EVERYTHING] }),
    ],
  ];
  describe.each([
    ["roles", ROLES],
    ["clusterroles", CLUSTER_ROLES],
  ])("for %s", (resource, path) => {
    test.each(CHANGES)("changed by %s", async (how, call) => {
      const object = ofKind(path, (await site.first.get(`${path}/weak`)).body);
      const query = how === "an apply" ? "?fieldManager=tenant&force=true" : "";
      const attack = (): Promise<PeerResponse> => asTenant(site.first, `${path}/weak${query}`, call(object));
      const response = await changesNothing(attack, `${path}/weak`);
      expect([response.status, response.body.message]).toEqual([403, lacking(resource, "weak", [ALL])]);
    });

    test("created by an apply", async () => {
      const object = ofKind(path, roleOf("applied", EVERYTHING));
      const attack = (): Promise<PeerResponse> =>
        asTenant(site.first, `${path}/applied?fieldManager=tenant`, applyOf(object));
      const response = await changesNothing(attack, path);
      expect([response.status, response.body.message]).toEqual([403, lacking(resource, "applied", [ALL])]);
    });
  });

  test.each([
    ["that aggregates by labels", { aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: "b" } }] } }],
    ["that aggregates everything", { aggregationRule: { clusterRoleSelectors: [{}] }, rules: [] }],
  ])("for a ClusterRole %s", async (_how, more) => {
    const body = { metadata: { name: "gathering" }, ...more };
    const create = (): Promise<PeerResponse> => asTenant(site.first, CLUSTER_ROLES, { method: "POST", body });
    const response = await changesNothing(create, CLUSTER_ROLES);
    expect([response.status, response.body.message]).toEqual([
      403,
      'clusterroles.rbac.authorization.k8s.io "gathering" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    ]);
  });

  test("for a ClusterRole with labels that aggregate it into a role that other users have", async () => {
    const labels = { "rbac.authorization.k8s.io/aggregate-to-view": "true" };
    const body = { metadata: { name: "gathered", labels }, rules: [EVERYTHING] };
    const create = (): Promise<PeerResponse> => asTenant(site.first, CLUSTER_ROLES, { method: "POST", body });
    const response = await changesNothing(create, CLUSTER_ROLES);
    expect([response.status, response.body.message]).toEqual([403, lacking("clusterroles", "gathered", [ALL])]);
  });
});

describe("escalation by bindings is rejected", () => {
  test.each([
    ["a RoleBinding to cluster-admin", BINDINGS, "rolebindings"],
    ["a ClusterRoleBinding to cluster-admin", CLUSTER_BINDINGS, "clusterrolebindings"],
  ])("for the creation of %s", async (_what, path, resource) => {
    const body = bindingOf("new", "ClusterRole", "cluster-admin");
    const create = (): Promise<PeerResponse> => asTenant(site.first, path, { method: "POST", body });
    const response = await changesNothing(create, path);
    expect([response.status, response.body.message]).toEqual([403, lacking(resource, "new", [ALL, ALL_URLS])]);
    const apply = (): Promise<PeerResponse> =>
      asTenant(site.first, `${path}/new?fieldManager=tenant`, applyOf(ofKind(path, body)));
    expect((await changesNothing(apply, path)).status).toBe(403);
  });

  test("for adding a subject to a binding of an administrator", async () => {
    const { subjects } = bindingOf("", "", "");
    const path = `${BINDINGS}/strong`;
    for (const type of ["merge", "strategic-merge"] as const) {
      const response = await changesNothing(() => asTenant(site.first, path, patchOf(type, { subjects })), path);
      expect([response.status, response.body.message]).toEqual([
        403,
        lacking("rolebindings", "strong", [ALL, ALL_URLS]),
      ]);
    }
  });

  test("for changing the role of a binding", async () => {
    const path = `${BINDINGS}/weak`;
    const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "cluster-admin" };
    const response = await changesNothing(() => asTenant(site.first, path, patchOf("merge", { roleRef })), path);
    expect([response.status, response.body.message]).toEqual([403, lacking("rolebindings", "weak", [ALL, ALL_URLS])]);
  });

  test("for a binding to a role that does not exist yet", async () => {
    const body = bindingOf("early", "ClusterRole", "to-come");
    const create = (): Promise<PeerResponse> => asTenant(site.first, BINDINGS, { method: "POST", body });
    const response = await changesNothing(create, BINDINGS);
    expect([response.status, response.body.message]).toEqual([
      404,
      'rolebindings.rbac.authorization.k8s.io "to-come" not found',
    ]);
  });
});

describe("impersonation without permission is rejected", () => {
  const cannot = (mode: string): string =>
    `secrets "treasure" is forbidden: User "tenant" cannot impersonate-on:${mode}:get resource "secrets" in API group "" in the namespace "${OTHER}"`;
  test.each([
    ["a user", { "impersonate-user": "admin" }, "user-info"],
    ["system:masters", { "impersonate-user": "tenant", "impersonate-group": "system:masters" }, "user-info"],
    ["a service account", { "impersonate-user": "system:serviceaccount:kube-system:default" }, "serviceaccount"],
    ["a node", { "impersonate-user": "system:node:n1" }, "arbitrary-node"],
    ["the servers", { "impersonate-user": "system:apiserver" }, "user-info"],
    [
      "itself with an extra",
      { "impersonate-user": "tenant", "impersonate-extra-example.com%2fscopes": "all" },
      "user-info",
    ],
    ["itself with a uid", { "impersonate-user": "tenant", "impersonate-uid": "0" }, "user-info"],
  ])("of %s", async (_whom, headers, mode) => {
    const response = await asTenant(site.first, SECRET, { headers });
    expect([response.status, response.body.message]).toEqual([403, cannot(mode)]);
  });

  test.each([
    [
      "a group alone",
      { "impersonate-group": "system:masters" },
      'UID:"", Groups:[]string{"system:masters"}, Extra:map[string][]string(nil)',
    ],
    ["a uid alone", { "impersonate-uid": "0" }, 'UID:"0", Groups:[]string(nil), Extra:map[string][]string(nil)'],
    [
      "an extra alone",
      { "impersonate-extra-a": "b" },
      'UID:"", Groups:[]string(nil), Extra:map[string][]string{"a":[]string{"b"}}',
    ],
  ])("of %s, because no user is named", async (_what, headers, said) => {
    const response = await asTenant(site.first, SECRET, { headers });
    expect([response.status, response.body.message]).toEqual([
      400,
      `requested &user.DefaultInfo{Name:"", ${said}} without impersonating a user name`,
    ]);
  });

  test("of groups, uids and extras, for a user that may impersonate only one user name", async () => {
    await grantTenant(site.first, "tenant-as-jane", [
      { ...rule("", ["users"], ["impersonate"]), resourceNames: ["jane"] },
    ]);
    const headers = { "impersonate-user": "jane", "content-type": "application/json" };
    const call = { method: "POST", body: REVIEW };
    const asJane = await asTenant(site.first, REVIEW_PATH, { ...call, headers });
    expect(userIn(asJane)).toEqual({ username: "jane", groups: ["system:authenticated"] });
    for (const more of [
      { "impersonate-group": "system:masters" },
      { "impersonate-group": ["dev", "system:masters"] },
      { "impersonate-uid": "0" },
      { "impersonate-extra-example.com%2fscopes": "all" },
    ]) {
      const rejected = await asTenant(site.first, REVIEW_PATH, { ...call, headers: { ...headers, ...more } });
      expect([rejected.status, rejected.body.reason]).toEqual([403, "Forbidden"]);
    }
    const twice = { ...headers, "impersonate-user": ["jane", "admin"] };
    const response = await asTenant(site.first, REVIEW_PATH, { ...call, headers: twice });
    expect(userIn(response)?.username).not.toBe("admin");
    expect(
      userIn(await asTenant(site.first, REVIEW_PATH, { ...call, headers: { "content-type": "application/json" } })),
    ).toEqual(TENANT);
  });
});

describe("creating an object with the permissions update and patch is rejected", () => {
  beforeAll(async () => {
    await grantTenant(site.first, "tenant-changes", [
      rule("", ["configmaps"], ["get", "update", "patch"]),
      rule("coordination.k8s.io", ["leases"], ["get", "update", "patch"]),
    ]);
  });
  const LEASES = `/apis/coordination.k8s.io/v1/namespaces/${OTHER}/leases`;
  const CONFIG_MAPS = `/api/v1/namespaces/${OTHER}/configmaps`;
  const rejected = (resources: string, group: string, name: string): string =>
    `${resources}${group && `.${group}`} "${name}" is forbidden: User "tenant" cannot create resource "${resources}" in API group "${group}" in the namespace "${OTHER}"`;

  test("by a PUT that would create the object", async () => {
    const body = { metadata: { name: "new" }, spec: {} };
    const response = await changesNothing(() => asTenant(site.first, `${LEASES}/new`, { method: "PUT", body }), LEASES);
    expect([response.status, response.body.message]).toEqual([403, rejected("leases", "coordination.k8s.io", "new")]);
  });

  test("by an apply", async () => {
    const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "new" } };
    const apply = (): Promise<PeerResponse> =>
      asTenant(site.first, `${CONFIG_MAPS}/new?fieldManager=t`, applyOf(object));
    const response = await changesNothing(apply, CONFIG_MAPS);
    expect([response.status, response.body.message]).toEqual([403, rejected("configmaps", "", "new")]);
  });
});

describe("a write is rejected if its body names another namespace or object than its path,", () => {
  const OWN_MAPS = `/api/v1/namespaces/${OWN}/configmaps`;
  const OTHER_MAPS = `/api/v1/namespaces/${OTHER}/configmaps`;
  const elsewhere = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "stray", namespace: OTHER } };
  const mismatch = "the namespace of the provided object does not match the namespace sent on the request";

  test.each([
    ["POST", "", { method: "POST", body: elsewhere }, [400, mismatch]],
    [
      "PUT",
      "/here",
      { method: "PUT", body: { ...elsewhere, metadata: { name: "here", namespace: OTHER } } },
      [400, mismatch],
    ],
    [
      "PUT of another name",
      "/here",
      { method: "PUT", body: { ...elsewhere, metadata: { name: "stray" } } },
      [400, "the name of the object (stray) does not match the name on the URL (here)"],
    ],
    ["a merge patch", "/here", patchOf("merge", { metadata: { namespace: OTHER } }), [400, mismatch]],
    [
      "a JSON patch",
      "/here",
      patchOf("json", [{ op: "replace", path: "/metadata/namespace", value: OTHER }]),
      [400, mismatch],
    ],
    ["an apply", "/stray?fieldManager=t", applyOf(elsewhere), [400, mismatch]],
  ] as const)("by %s", async (_how, path, call, reported) => {
    await asTenant(site.first, OWN_MAPS, { method: "POST", body: { metadata: { name: "here" } } });
    const response = await changesNothing(() => asTenant(site.first, `${OWN_MAPS}${path}`, call), OTHER_MAPS, OWN_MAPS);
    expect([response.status, response.body.message]).toEqual(reported);
  });
});

test("token requests without permission are rejected, in the tenant's own namespace and in others", async () => {
  for (const namespace of [OWN, "kube-system"]) {
    const path = `/api/v1/namespaces/${namespace}/serviceaccounts/default/token`;
    const response = await asTenant(site.first, path, { method: "POST", body: { spec: {} } });
    expect([response.status, response.body.message]).toEqual([
      403,
      `serviceaccounts "default" is forbidden: User "tenant" cannot create resource "serviceaccounts/token" in API group "" in the namespace "${namespace}"`,
    ]);
  }
});

describe("access reviews", () => {
  test("deny the permissions that these attacks need", async () => {
    const ask = async (resourceAttributes: Json): Promise<boolean> => {
      const body = { spec: { resourceAttributes } };
      const path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
      return (await asTenant(site.first, path, { method: "POST", body })).body.status.allowed;
    };
    expect(await ask({ verb: "get", resource: "secrets", namespace: OWN })).toBe(true);
    for (const attributes of [
      { verb: "get", resource: "secrets", namespace: OTHER },
      { verb: "get", resource: "secrets", namespace: "" },
      { verb: "*", resource: "*", group: "*" },
      { verb: "escalate", resource: "roles", group: "rbac.authorization.k8s.io", namespace: OWN },
      { verb: "bind", resource: "clusterroles", group: "rbac.authorization.k8s.io", name: "cluster-admin" },
      { verb: "impersonate", resource: "users", name: "admin" },
      { verb: "create", resource: "leases", group: "coordination.k8s.io", namespace: "kube-system" },
    ])
      expect([attributes, await ask(attributes)]).toEqual([attributes, false]);
  });

  test("cannot be created by a tenant for other users", async () => {
    for (const [group, resource] of [
      ["authorization.k8s.io", "subjectaccessreviews"],
      ["authentication.k8s.io", "tokenreviews"],
    ]) {
      const body = { spec: { user: "tenant", groups: ["system:masters"], token: "admin-token" } };
      const response = await asTenant(site.first, `/apis/${group}/v1/${resource}`, { method: "POST", body });
      expect([response.status, response.body.reason]).toEqual([403, "Forbidden"]);
    }
  });
});
