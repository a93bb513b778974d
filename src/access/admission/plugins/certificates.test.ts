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

/** An authorizer that allows only this verb, and only for the signer or signer domain with this name. */
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

describe("CertificateApproval", () => {
  const given = attributes({ ...about, subresource: "approval", object: {}, name: "r", existing: REQUEST });
  test.each([
    [NOBODY, `${start} approve requests with signerName "example.com/s"`],
    [allowing("sign", "example.com/s"), `${start} approve requests with signerName "example.com/s"`],
    [allowing("approve", "example.com/s"), undefined],
    [allowing("approve", "example.com/*"), undefined],
  ])("requires permission to approve requests of the stored signer", async (authorizer, expected) => {
    expect(await rejectionOf(() => certificateApproval(authorizer).validate?.(given))).toBe(expected);
  });
});

describe("CertificateSigning", () => {
  const signed = { ...REQUEST, status: { certificate: "YQ==" } };
  const failed = { ...REQUEST, status: { conditions: [{ type: "Failed" }] } };
  const given = { ...about, subresource: "status", existing: REQUEST };
  test.each([
    [signed, NOBODY, `${start} sign requests with signerName "example.com/s"`],
    [failed, NOBODY, `${start} sign requests with signerName "example.com/s"`],
    [signed, allowing("sign", "example.com/*"), undefined],
    [{ ...REQUEST, status: { conditions: [] } }, NOBODY, undefined],
  ])(
    "for the new request %j requires permission to sign if the status has a new certificate or condition",
    async (object, authorizer, expected) => {
      expect(await rejectionOf(() => certificateSigning(authorizer).validate?.(attributes({ ...given, object })))).toBe(
        expected,
      );
    },
  );
});

describe("ClusterTrustBundleAttest", () => {
  const given = { ...about, resource: "clustertrustbundles" };
  const bundle = { metadata: { name: "b", finalizers: ["a/b"] }, spec: { signerName: "a.b/c", trustBundle: "x" } };
  const message =
    '403 clustertrustbundles.certificates.k8s.io "b" is forbidden: user not permitted to attest for signerName "a.b/c"';
  test.each([
    [
      "requires permission to attest a new bundle of a signer",
      { ...given, operation: "CREATE", object: bundle },
      message,
    ],
    [
      "requires no permission if only owner references and finalizers change",
      { ...given, object: { ...bundle, metadata: { name: "b" } }, existing: bundle },
      undefined,
    ],
    [
      "requires permission to attest if the bundle changes",
      { ...given, object: { ...bundle, spec: { ...bundle.spec, trustBundle: "y" } }, existing: bundle },
      message,
    ],
    [
      "requires no permission for a bundle without a signer",
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

describe("CertificateSubjectRestriction", () => {
  const client = "kubernetes.io/kube-apiserver-client";
  const subject = '403 certificatesigningrequests.certificates.k8s.io "r" is forbidden:';
  test.each([
    [client, MASTERS_REQUEST, `${subject} use of ${client} signer with system:masters group is not allowed`],
    [client, OPERATORS_REQUEST, undefined],
    ["example.com/other", MASTERS_REQUEST, undefined],
    [client, "bm9uZQ==", `${subject} failed to parse CSR: PEM block type must be CERTIFICATE REQUEST`],
  ])(
    "for the signer %s rejects system:masters only if the signer is kubernetes.io/kube-apiserver-client",
    async (signerName, request, expected) => {
      const object = { metadata: { name: "r" }, spec: { signerName, request } };
      const given = attributes({ ...about, operation: "CREATE", object });
      expect(await rejectionOf(() => certificateSubjectRestriction().validate?.(given))).toBe(expected);
    },
  );
});
