import { expect, test } from "vitest";
import { cellOf, rowOf } from "../../../test/testing/objects/table/rows.ts";

test.each(["RoleBinding", "ClusterRoleBinding"])("a %s shows the role and its subjects", (kind) => {
  const subjects = [
    { kind: "User", name: "ann" },
    { kind: "Group", name: "devs" },
    { kind: "User", name: "bob" },
    { kind: "ServiceAccount", namespace: "ns", name: "sa" },
    { kind: "Other", name: "o" },
  ];
  const object = { roleRef: { kind: "ClusterRole", name: "view" }, subjects };
  const key = `rbac.authorization.k8s.io/${kind}`;
  expect(rowOf(key, object)).toEqual(["x", "ClusterRole/view", "60m", "ann, bob", "devs", "ns/sa"]);
});

test.each(["Role", "ClusterRole"])("a %s has the default columns", (kind) => {
  expect(rowOf(`rbac.authorization.k8s.io/${kind}`, { rules: [] })).toEqual(["x", "2026-03-10T11:00:00Z"]);
});

test("a signing request shows its requestor and condition", () => {
  const key = "certificates.k8s.io/CertificateSigningRequest";
  const spec = { signerName: "example.com/s", username: "ann", expirationSeconds: 86_400 };
  expect(rowOf(key, { spec })).toEqual(["x", "60m", "example.com/s", "ann", "24h", "Pending"]);
  expect(rowOf(key, {})).toEqual(["x", "60m", "<none>", "", "<none>", "Pending"]);
});

test.each([
  ["Pending", [], ""],
  ["Approved", ["Approved"], ""],
  ["Approved,Issued", ["Approved"], "Y2VydA=="],
  ["Denied", ["Approved", "Denied"], ""],
  ["Approved,Failed", ["Approved", "Failed"], ""],
])("the condition of a signing request is %s", (text, types, certificate) => {
  const status = { conditions: types.map((type) => ({ type })), certificate };
  expect(cellOf("certificates.k8s.io/CertificateSigningRequest", "Condition", { status })).toBe(text);
});

test("trust bundles and pod certificates show their signers", () => {
  expect(rowOf("certificates.k8s.io/ClusterTrustBundle", { spec: { signerName: "s" } })).toEqual(["x", "s"]);
  expect(rowOf("certificates.k8s.io/ClusterTrustBundle", {})).toEqual(["x", "<none>"]);
  const key = "certificates.k8s.io/PodCertificateRequest";
  const spec = { podName: "p", serviceAccountName: "sa", nodeName: "n", signerName: "s" };
  expect(rowOf(key, { spec, status: { conditions: [{ type: "Issued" }] } })).toEqual([
    ...["x", "p", "sa", "n", "s", "Issued", "<none>"],
  ]);
  expect(rowOf(key, { spec }, "1.34")).toEqual(["x", "p", "sa", "n", "s", "Pending"]);
});
