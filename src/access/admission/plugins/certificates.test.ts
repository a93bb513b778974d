import { describe, expect, test } from "vitest";
import type { Authorizer } from "../../auth/authorize.ts";
import {
  MASTERS_REQUEST,
  OPERATORS_REQUEST,
} from "../../../../test/testing/access/admission/plugins/signing-requests.ts";
import {
  certificateApproval,
  certificateSigning,
  certificateSubjectRestriction,
  clusterTrustBundleAttest,
} from "./certificates.ts";
import { attributes, rejectionOf } from "../../../../test/testing/access/admission/plugins/attributes.ts";

/** Allows the verb for signers of this name. */
function allowing(verb: string, name: string): Authorizer {
  return (_, asked) => ({
    allowed:
      asked.verb === verb &&
      asked.name === name &&
      asked.resource === "signers" &&
      asked.group === "certificates.k8s.io",
    reason: "",
  });
}

const NOBODY: Authorizer = () => ({ allowed: false, reason: "" });
const about = {
  groupVersion: { group: "certificates.k8s.io", version: "v1" },
  resource: "certificatesigningrequests",
  namespace: "",
  operation: "UPDATE",
} as const;
const REQUEST = { metadata: { name: "r" }, spec: { signerName: "example.com/s" } };
const start = '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden: user not permitted to';

describe("approval", () => {
  const given = attributes({ ...about, subresource: "approval", object: {}, name: "r", existing: REQUEST });
  test.each([
    [NOBODY, `${start} approve requests with signerName "example.com/s"`],
    [allowing("sign", "example.com/s"), `${start} approve requests with signerName "example.com/s"`],
    [allowing("approve", "example.com/s"), undefined],
    [allowing("approve", "example.com/*"), undefined],
  ])("requires the permission for the signer of the stored request", async (authorizer, expected) => {
    expect(await rejectionOf(() => certificateApproval(authorizer).validate?.(given))).toBe(expected);
  });
});

describe("signing", () => {
  const signed = { ...REQUEST, status: { certificate: "YQ==" } };
  const failed = { ...REQUEST, status: { conditions: [{ type: "Failed" }] } };
  const given = { ...about, subresource: "status", existing: REQUEST };
  test.each([
    [signed, NOBODY, `${start} sign requests with signerName "example.com/s"`],
    [failed, NOBODY, `${start} sign requests with signerName "example.com/s"`],
    [signed, allowing("sign", "example.com/*"), undefined],
    [{ ...REQUEST, status: { conditions: [] } }, NOBODY, undefined],
  ])("%j requires the permission if it sets a certificate or a condition", async (object, authorizer, expected) => {
    expect(await rejectionOf(() => certificateSigning(authorizer).validate?.(attributes({ ...given, object })))).toBe(
      expected,
    );
  });
});

describe("attesting to a trust bundle", () => {
  const given = { ...about, resource: "clustertrustbundles" };
  const bundle = { metadata: { name: "b", finalizers: ["a/b"] }, spec: { signerName: "a.b/c", trustBundle: "x" } };
  const message =
    '403 clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to attest for signerName "a.b/c"';
  test.each([
    [
      "requires the permission for a new bundle of a signer",
      { ...given, operation: "CREATE", object: bundle },
      message,
    ],
    [
      "requires none if only owners and finalizers change",
      { ...given, object: { ...bundle, metadata: { name: "b" } }, existing: bundle },
      undefined,
    ],
    [
      "requires the permission for a change",
      { ...given, object: { ...bundle, spec: { ...bundle.spec, trustBundle: "y" } }, existing: bundle },
      message,
    ],
    [
      "requires none for a bundle without a signer",
      { ...given, operation: "CREATE", object: { metadata: { name: "b" }, spec: {} } },
      undefined,
    ],
  ] as const)("%s", async (_, wanted, expected) => {
    expect(await rejectionOf(() => clusterTrustBundleAttest(NOBODY).validate?.(attributes(wanted)))).toBe(expected);
    expect(
      await rejectionOf(() => clusterTrustBundleAttest(allowing("attest", "a.b/c")).validate?.(attributes(wanted))),
    ).toBeUndefined();
  });
});

describe("the subject of a client certificate", () => {
  const client = "kubernetes.io/kube-apiserver-client";
  const subject = '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden:';
  test.each([
    [client, MASTERS_REQUEST, `${subject} use of ${client} signer with system:masters group is not allowed`],
    [client, OPERATORS_REQUEST, undefined],
    ["example.com/other", MASTERS_REQUEST, undefined],
    [client, "bm9uZQ==", `${subject} failed to parse CSR: PEM block type must be CERTIFICATE REQUEST`],
  ])("of %s must not contain system:masters", async (signerName, request, expected) => {
    const object = { metadata: { name: "r" }, spec: { signerName, request } };
    const given = attributes({ ...about, operation: "CREATE", object });
    expect(await rejectionOf(() => certificateSubjectRestriction().validate?.(given))).toBe(expected);
  });
});
