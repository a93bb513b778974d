import { describe, expect, test } from "vitest";
import type { Authorizer } from "../../../auth/authorize.ts";
import type { JsonObject } from "../../../../meta/json.ts";
import type { Attributes } from "../../admission.ts";
import {
  attributes,
  pod,
  readerOf,
  rejectionOf,
} from "../../../../../test/testing/access/admission/plugins/attributes.ts";
import { OPERATORS_REQUEST } from "../../../../../test/testing/access/admission/plugins/signing-requests.ts";
import { nodeRestriction } from "./node-restriction.ts";

const NOBODY: Authorizer = () => ({ allowed: false, reason: "" });
const tokenVolume = { name: "t", projected: { sources: [{ serviceAccountToken: { audience: "vault" } }] } };
const claimed = { name: "d", persistentVolumeClaim: { claimName: "c" } };
const reader = readerOf({
  nodes: [{ metadata: { name: "n", uid: "u1" } }],
  pods: [
    pod({ nodeName: "n", volumes: [tokenVolume, claimed] }, { name: "mine", uid: "p1" }),
    pod({ nodeName: "other" }, { name: "theirs", uid: "p2" }),
  ],
  persistentvolumeclaims: [{ metadata: { name: "c", namespace: "ns" }, spec: { volumeName: "v" } }],
  persistentvolumes: [{ metadata: { name: "v" }, spec: { csi: { driver: "d.example.com" } } }],
  "csidrivers.storage.k8s.io": [
    { metadata: { name: "d.example.com" }, spec: { tokenRequests: [{ audience: "store" }] } },
  ],
});
const KUBELET = { name: "system:node:n", uid: "", groups: ["system:nodes"], extra: {} };

type Given = Partial<Attributes> & { readonly object?: JsonObject };

function ask(given: Given, authorizer = NOBODY): Promise<string | undefined> {
  const plugin = nodeRestriction({ reader, authorizer });
  const reported = attributes({ user: KUBELET, object: {}, ...given });
  return rejectionOf(() => (reported.operation === "DELETE" ? plugin.validate?.(reported) : plugin.mutate?.(reported)));
}

const OWNER = { apiVersion: "v1", kind: "Node", name: "n", uid: "u1", controller: true };
function mirror(spec: JsonObject, owner: JsonObject = OWNER): JsonObject {
  const annotations = { "kubernetes.io/config.mirror": "x" };
  return pod({ nodeName: "n", ...spec }, { annotations, ownerReferences: [owner] });
}

describe("pods", () => {
  test.each([
    [mirror({}), undefined],
    [pod({}), 'pod does not have "kubernetes.io/config.mirror" annotation, node "n" can only create mirror pods'],
    [mirror({ nodeName: "m" }), 'node "n" can only create pods with spec.nodeName set to itself'],
    [mirror({}, { ...OWNER, name: "m" }), 'node "n" can only create pods with an owner reference set to itself'],
    [
      mirror({}, { ...OWNER, controller: false }),
      'node "n" can only create pods with a controller owner reference set to itself',
    ],
    [
      mirror({}, { ...OWNER, blockOwnerDeletion: true }),
      'node "n" must not set blockOwnerDeletion on an owner reference',
    ],
    [mirror({}, { ...OWNER, uid: "u2" }), "node n UID mismatch: expected u2 got u1"],
    [mirror({ serviceAccountName: "a" }), 'node "n" can not create pods that reference serviceaccounts'],
    [
      mirror({ volumes: [{ name: "v", hostPath: {} }, tokenVolume] }),
      'node "n" can not create pods that reference serviceaccounts (via projected volumes)',
    ],
    [
      mirror({ containers: [{ envFrom: [{ configMapRef: { name: "c" } }] }] }),
      'node "n" can not create pods that reference configmaps',
    ],
    [
      mirror({ volumes: [{ name: "v" }] }),
      'error checking mirror pod for API references: unknown volume type for volume  "v"',
    ],
  ])("a node may create only mirror pods that it owns and that reference no API objects: %j", async (object, why) => {
    expect(await ask({ object })).toBe(why === undefined ? undefined : `403 pods "p" is forbidden: ${why}`);
  });

  test.each([
    [{ operation: "DELETE", name: "mine", existing: pod({ nodeName: "n" }) }, undefined],
    [
      { operation: "DELETE", name: "theirs", existing: pod({ nodeName: "other" }) },
      'node "n" can only delete pods with spec.nodeName set to itself',
    ],
    [
      { operation: "UPDATE", name: "mine" },
      'unexpected operation "UPDATE", node "n" can only create and delete mirror pods',
    ],
    [
      { operation: "UPDATE", subresource: "resize", name: "mine" },
      `unexpected pod subresource "resize", only 'status' and 'eviction' are allowed`,
    ],
    [{ subresource: "eviction", name: "mine" }, undefined],
    [{ subresource: "eviction", name: "theirs" }, "node n can only evict pods with spec.nodeName set to itself"],
  ] as const)("a write with %j has the error %j", async (given, why) => {
    const reported = await ask(given);
    expect(reported).toBe(why === undefined ? undefined : `403 pods "${given.name}" is forbidden: ${why}`);
  });

  test("the eviction of a missing pod returns 404", async () => {
    expect(await ask({ subresource: "eviction", name: "gone" })).toBe('404 pod "gone" not found');
  });

  test("a status update must not change labels or resource claim statuses", async () => {
    const existing = pod({ nodeName: "n" }, { labels: { a: "b" } });
    const status = { operation: "UPDATE", subresource: "status", name: "p", existing } as const;
    expect(await ask({ ...status, object: { ...existing, status: { phase: "Running" } } })).toBeUndefined();
    expect(await ask({ ...status, object: pod({ nodeName: "n" }) })).toContain(
      "cannot update labels through pod status",
    );
    const claims = { resourceClaimStatuses: [{ name: "c" }] };
    expect(await ask({ ...status, object: { ...existing, status: claims } })).toContain(
      'node "n" cannot update resource claim statues',
    );
  });
});

describe("nodes", () => {
  const about = { resource: "nodes", namespace: "", name: "n" };
  const node = (labels: JsonObject, spec: JsonObject = {}): JsonObject => ({ metadata: { name: "n", labels }, spec });
  test.each([
    [{ ...about, object: node({ "kubernetes.io/hostname": "n", mine: "x", "node.kubernetes.io/x": "y" }) }, undefined],
    [
      { ...about, object: node({ "node-role.kubernetes.io/master": "", "a.node-restriction.kubernetes.io/x": "" }) },
      'node "n" is not allowed to set the following labels: a.node-restriction.kubernetes.io/x, node-role.kubernetes.io/master',
    ],
    [{ ...about, name: "m", object: node({}) }, 'node "n" is not allowed to modify node "m"'],
    [
      {
        ...about,
        operation: "UPDATE",
        object: node({}, { taints: [] }),
        existing: node({}, { taints: [{ key: "a" }] }),
      },
      'node "n" is not allowed to modify taints',
    ],
    [
      { ...about, operation: "UPDATE", object: node({}), existing: node({ "k8s.io/x": "y" }) },
      "is not allowed to modify labels: k8s.io/x",
    ],
    [{ ...about, operation: "UPDATE", object: node({ mine: "z" }), existing: node({ mine: "x" }) }, undefined],
  ] as const)("a write with %j has the error %j", async (given, why) => {
    const reported = await ask(given);
    expect(reported).toBe(why === undefined ? undefined : `403 nodes "${given.name}" is forbidden: ${why}`);
  });
});

describe("token requests of a node", () => {
  const about = { resource: "serviceaccounts", subresource: "token", name: "sa" };
  const token = (boundObjectRef: JsonObject, audiences: readonly string[] = ["vault"]): JsonObject => ({
    spec: { boundObjectRef: { apiVersion: "v1", kind: "Pod", ...boundObjectRef }, audiences },
  });
  test.each([
    [token({ name: "mine", uid: "p1" }), undefined],
    [token({ name: "mine", uid: "p1" }, ["store"]), undefined],
    [
      token({ name: "mine", uid: "p1" }, ["x"]),
      'audience "x" not found in pod spec volume, system:node:n is not authorized to request tokens for this audience',
    ],
    [token({ name: "mine", uid: "p1" }, ["a", "b"]), "node may only request 0 or 1 audiences"],
    [token({ name: "mine" }), "node requested token with a pod binding without a uid"],
    [token({}), "node requested token not bound to a pod"],
    [token({ name: "theirs", uid: "p2" }), "node requested token bound to a pod scheduled on a different node"],
    [
      token({ name: "mine", uid: "p9" }),
      "the UID in the bound object reference (p9) does not match the UID in record. The object might have been deleted and then recreated",
    ],
  ])("%j has the error %j", async (object, why) => {
    const reported = await ask({ ...about, object });
    expect(reported).toBe(why === undefined ? undefined : `403 serviceaccounts "sa" is forbidden: ${why}`);
  });

  test("are allowed for an audience that the node is authorized to use", async () => {
    const allowing: Authorizer = (_, { verb, resource, name }) => ({
      allowed: verb === "request-serviceaccounts-token-audience" && resource === "x" && name === "sa",
      reason: "",
    });
    expect(await ask({ ...about, object: token({ name: "mine", uid: "p1" }, ["x"]) }, allowing)).toBeUndefined();
  });
});

describe("other objects of a node", () => {
  const lease = { groupVersion: { group: "coordination.k8s.io", version: "v1" }, resource: "leases" };
  const csiNode = { groupVersion: { group: "storage.k8s.io", version: "v1" }, resource: "csinodes" };
  const slice = { groupVersion: { group: "resource.k8s.io", version: "v1" }, resource: "resourceslices" };
  const named = (name: string): JsonObject => ({ metadata: { name } });
  test.each([
    [{ ...lease, namespace: "kube-node-lease", object: named("n") }, undefined],
    [
      { ...lease, namespace: "x", object: named("n") },
      'can only access leases in the "kube-node-lease" system namespace',
    ],
    [
      { ...lease, namespace: "kube-node-lease", object: named("m") },
      "can only access node lease with the same name as the requesting node",
    ],
    [{ ...csiNode, object: named("m") }, "can only access CSINode with the same name as the requesting node"],
    [
      { ...slice, object: { ...named("s"), spec: { nodeName: "m" } } },
      "can only create ResourceSlice with the same NodeName as the requesting node",
    ],
    [
      { ...slice, operation: "DELETE", existing: { ...named("s"), spec: {} }, name: "s" },
      "can only delete ResourceSlice with the same NodeName as the requesting node",
    ],
    [{ resource: "persistentvolumeclaims", object: named("c") }, "may only update PVC status"],
  ] as const)("a write with %j has the error %j", async (given, why) => {
    const reported = await ask(given);
    if (why === undefined) expect(reported).toBeUndefined();
    else expect(reported).toContain(` is forbidden: ${why}`);
  });

  test("a status update of a claim may change only capacity, conditions and allocated resources", async () => {
    const claim = (status: JsonObject, metadata: JsonObject = {}): JsonObject => ({ metadata, status });
    const status = {
      resource: "persistentvolumeclaims",
      subresource: "status",
      operation: "UPDATE",
      name: "c",
    } as const;
    const grown = claim({ phase: "Bound", capacity: { storage: "2Gi" } }, { resourceVersion: "2" });
    const existing = claim({ phase: "Bound" }, { resourceVersion: "1" });
    expect(await ask({ ...status, object: grown, existing })).toBeUndefined();
    expect(await ask({ ...status, object: claim({ phase: "Lost" }), existing })).toContain(
      'node "n" is not allowed to update fields other than status.quantity and status.conditions',
    );
  });

  test("a certificate request for a kubelet signer must have the common name of the node", async () => {
    const about = {
      groupVersion: { group: "certificates.k8s.io", version: "v1" },
      resource: "certificatesigningrequests",
    };
    const object = {
      metadata: { name: "r" },
      spec: { signerName: "kubernetes.io/kubelet-serving", request: OPERATORS_REQUEST },
    };
    expect(await ask({ ...about, object })).toContain("can only create a node CSR with CN=system:node:n");
  });
});

test("only users in the group system:nodes are restricted, and a node user without a node name is rejected", async () => {
  const about = { resource: "nodes", name: "m", object: { metadata: { name: "m" } } };
  const user = { ...KUBELET, groups: [] };
  expect(await ask({ ...about, user })).toBeUndefined();
  expect(await ask({ ...about, user: { ...KUBELET, name: "system:node:" } })).toBe(
    '403 nodes "m" is forbidden: could not determine node from user "system:node:"',
  );
});
