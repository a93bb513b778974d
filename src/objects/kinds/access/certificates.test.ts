import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import {
  CONTEXT,
  defaulted,
  prepared,
  createErrorsOf,
  statusUpdateErrorsOf,
  updateErrorsOf,
} from "../../../../test/testing/objects/kinds/core/kind-errors.ts";
import { CERTIFICATE_SIGNING_REQUEST, CLUSTER_TRUST_BUNDLE } from "./certificates.ts";
import { requestUpdateErrors } from "./signing-request-rules.ts";
import { requestProblem } from "./signing-request-text.ts";
import {
  ED25519_SIGNING_REQUEST,
  RSA_SIGNING_REQUEST,
  SIGNING_REQUEST,
} from "../../../../test/testing/objects/kinds/access/signing-request.ts";

const SPEC = { request: SIGNING_REQUEST, signerName: "example.com/signer", usages: ["client auth"] };
const APPROVED = { type: "Approved", status: "True" };
const TIMED = { ...APPROVED, lastUpdateTime: CONTEXT.time, lastTransitionTime: CONTEXT.time };

function request(spec: JsonObject = {}, status: JsonObject = {}): JsonObject {
  return { metadata: { name: "r" }, spec: { ...SPEC, ...spec }, status };
}

function pem(base64: string, type = "CERTIFICATE REQUEST"): string {
  return Buffer.from(`-----BEGIN ${type}-----\n${base64}\n-----END ${type}-----\n`).toString("base64");
}

/** The request with one bit of its signature flipped. */
function forged(base64: string): string {
  const text = Buffer.from(base64, "base64").toString();
  const der = Buffer.from(text.replaceAll(/-----.*-----/g, ""), "base64");
  der.writeUInt8(der.at(-3)! ^ 1, der.length - 3);
  return pem(der.toString("base64"));
}

describe("the PEM text in a signing request", () => {
  test.each([
    ["is accepted with the signature of an elliptic curve key", SIGNING_REQUEST, undefined],
    ["is accepted with the signature of an RSA key", RSA_SIGNING_REQUEST, undefined],
    ["is accepted with the signature of an Ed25519 key", ED25519_SIGNING_REQUEST, undefined],
    ["is rejected with a forged ECDSA signature", forged(SIGNING_REQUEST), "x509: ECDSA verification failure"],
    ["is rejected with a forged RSA signature", forged(RSA_SIGNING_REQUEST), "crypto/rsa: verification error"],
    [
      "is rejected with a forged Ed25519 signature",
      forged(ED25519_SIGNING_REQUEST),
      "x509: Ed25519 verification failure",
    ],
    ["is rejected if it is not PEM", "bWU=", "PEM block type must be CERTIFICATE REQUEST"],
    [
      "is rejected if the PEM block has another type",
      pem("AAEC", "CERTIFICATE"),
      "PEM block type must be CERTIFICATE REQUEST",
    ],
    ["is rejected if the block is empty", pem(""), "asn1: syntax error: sequence truncated"],
    ["is rejected if data follows the request", pem("MAAA"), "asn1: syntax error: trailing data"],
    [
      "is rejected if it encodes a number",
      pem("AgEA"),
      "asn1: structure error: tags don't match (16 vs {class:0 tag:2 length:1 isCompound:false}) {optional:false explicit:false application:false private:false defaultValue:<nil> tag:<nil> stringType:0 timeType:0 set:false omitEmpty:false} certificateRequest @2",
    ],
  ])("%s", (_what, text, problem) => {
    expect(requestProblem(text)).toBe(problem);
  });
});

test("a condition of a signing request without a status and times gets an empty status and null times", () => {
  const { status } = defaulted(CERTIFICATE_SIGNING_REQUEST, request({}, { conditions: [{ type: "Failed" }] }));
  expect(status).toEqual({
    conditions: [{ type: "Failed", status: "", lastUpdateTime: null, lastTransitionTime: null }],
  });
});

test("a new signing request is stored without a status", () => {
  expect(prepared(CERTIFICATE_SIGNING_REQUEST, request({}, { conditions: [APPROVED] }))).toEqual(request());
});

test.each<[string, JsonObject, readonly string[]]>([
  ["is accepted if it is valid", {}, []],
  [
    "needs a request, usages, a signer name and an expiration of at least 600 seconds",
    { request: "bWU=", usages: [], signerName: "", expirationSeconds: 599 },
    [
      'spec.request: Invalid value: "bWU=": PEM block type must be CERTIFICATE REQUEST',
      "spec.usages: Required value",
      "spec.signerName: Required value",
      "spec.expirationSeconds: Invalid value: 599: may not specify a duration less than 600 seconds (10 minutes)",
    ],
  ],
  ["rejects a duplicate usage", { usages: ["any", "any"] }, ['spec.usages[1]: Duplicate value: "any"']],
  [
    "rejects the legacy signer name",
    { signerName: "kubernetes.io/legacy-unknown" },
    [
      'spec.signerName: Invalid value: "kubernetes.io/legacy-unknown": the legacy signerName is not allowed via this API version',
    ],
  ],
  [
    "rejects a signer name without a domain",
    { signerName: "example" },
    [
      "spec.signerName: Invalid value: \"example\": must be a fully qualified domain and path of the form 'example.com/signer-name'",
    ],
  ],
  [
    "rejects a signer name whose domain has one segment",
    { signerName: "example/signer" },
    ['spec.signerName: Invalid value: "example": should be a domain with at least two segments separated by dots'],
  ],
])("a new signing request %s", (_what, spec, sentences) => {
  expect(createErrorsOf(CERTIFICATE_SIGNING_REQUEST, request(spec))).toEqual(sentences);
});

test("an unknown usage is rejected with the list of supported usages", () => {
  const [sentence] = createErrorsOf(CERTIFICATE_SIGNING_REQUEST, request({ usages: ["fun"] }));
  expect(sentence).toMatch(/^spec\.usages\[0\]: Unsupported value: "fun": supported values: "any", "cert sign", /);
});

describe("an approval condition", () => {
  test("cannot be added through the status subresource", () => {
    expect(
      statusUpdateErrorsOf(CERTIFICATE_SIGNING_REQUEST, request(), request({}, { conditions: [APPROVED] })),
    ).toEqual(['status.conditions: Forbidden: updates may not add a condition of type "Approved"']);
  });

  test("keeps its stored value in a status update", () => {
    const existing = request({}, { conditions: [TIMED] });
    const object = request(
      {},
      {
        conditions: [
          { ...APPROVED, message: "hm" },
          { type: "Failed", status: "True" },
        ],
      },
    );
    CERTIFICATE_SIGNING_REQUEST.prepareStatusUpdate?.(object, existing, CONTEXT);
    expect(object["status"]).toEqual({ conditions: [TIMED, { ...TIMED, type: "Failed" }] });
  });

  test("must be True, must be unique and cannot be removed", () => {
    const existing = request({}, { conditions: [TIMED] });
    const conditions = [{ type: "Denied", status: "False" }, TIMED, TIMED, { type: "", status: "" }];
    const errors = requestUpdateErrors(request({}, { conditions }), existing, "approval");
    expect([...errors].map(({ field, message }) => `${field}: ${message}`)).toEqual([
      'status.conditions[0].status: Unsupported value: "False": supported values: "True"',
      'status.conditions: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive',
      'status.conditions: Invalid value: "Approved": Approved and Denied conditions are mutually exclusive',
      'status.conditions[2].type: Duplicate value: "Approved"',
      "status.conditions[3].type: Required value",
      "status.conditions[3].status: Required value",
    ]);
    const removed = requestUpdateErrors(request(), existing, "approval");
    expect([...removed].map(({ message }) => message)).toEqual([
      'Forbidden: updates may not remove a condition of type "Approved"',
    ]);
  });

  test("cannot be changed through the status subresource", () => {
    const existing = request({}, { conditions: [TIMED] });
    const changed = request({}, { conditions: [{ ...TIMED, reason: "r" }] });
    const [error] = requestUpdateErrors(changed, existing, "status");
    expect(error?.message).toBe(`Forbidden: updates may not modify a condition of type "Approved"
@@ -2,7 +2,7 @@
  {
   "Type": "Approved",
   "Status": "True",
-  "Reason": "",
+  "Reason": "r",
   "Message": "",
   "LastUpdateTime": "${CONTEXT.time}",
   "LastTransitionTime": "${CONTEXT.time}"
`);
  });
});

describe("an issued certificate", () => {
  const certificate = pem("AAEC", "CERTIFICATE");

  test("is set through the status subresource and cannot change afterwards", () => {
    expect(statusUpdateErrorsOf(CERTIFICATE_SIGNING_REQUEST, request(), request({}, { certificate }))).toEqual([]);
    const other = pem("AAED", "CERTIFICATE");
    expect(
      statusUpdateErrorsOf(
        CERTIFICATE_SIGNING_REQUEST,
        request({}, { certificate }),
        request({}, { certificate: other }),
      ),
    ).toEqual(["status.certificate: Forbidden: updates may not modify existing certificate content"]);
  });

  test.each([
    [pem("AAEC", "KEY"), 'only CERTIFICATE PEM blocks are allowed, found "KEY"'],
    ["bWU=", "must contain at least one CERTIFICATE PEM block"],
  ])("with the content %s is rejected, because it is not a list of CERTIFICATE blocks", (text, why) => {
    expect(statusUpdateErrorsOf(CERTIFICATE_SIGNING_REQUEST, request(), request({}, { certificate: text }))).toEqual([
      `status.certificate: Invalid value: "<certificate data>": ${why}`,
    ]);
  });
});

describe("a cluster trust bundle", () => {
  function bundle(name: string, spec: JsonObject): JsonObject {
    return { metadata: { name }, spec };
  }

  test.each<[string, JsonObject, readonly string[]]>([
    [
      "without a signer has no colon in its name",
      bundle("a:b", { trustBundle: "" }),
      [
        'metadata.name: Invalid value: "a:b": ClusterTrustBundle without signer name must not have ":" in its name',
        'spec.trustBundle: Invalid value: "<value omitted>": at least one trust anchor must be provided',
      ],
    ],
    [
      "of a signer must have the signer's prefix in its name",
      bundle("a", { signerName: "example.com/s", trustBundle: Buffer.from(pem("AAEC", "KEY"), "base64").toString() }),
      [
        'metadata.name: Invalid value: "a": ClusterTrustBundle for signerName example.com/s must be named with prefix example.com:s:',
        'spec.trustBundle: Invalid value: "<value omitted>": entry 0 has bad block type: KEY',
      ],
    ],
    [
      "must hold certificates",
      bundle("a", { trustBundle: Buffer.from(pem("AAEC", "CERTIFICATE"), "base64").toString() }),
      ['spec.trustBundle: Invalid value: "<value omitted>": entry 0 does not parse as X.509'],
    ],
  ])("%s", (_what, object, sentences) => {
    expect(createErrorsOf(CLUSTER_TRUST_BUNDLE, object)).toEqual(sentences);
  });

  test("cannot change its signer; unchanged trust anchors are not validated again", () => {
    const before = bundle("a", { trustBundle: "odd" });
    expect(
      updateErrorsOf(CLUSTER_TRUST_BUNDLE, before, bundle("a", { trustBundle: "odd", signerName: "e.com/s" })),
    ).toEqual(['spec.signerName: Invalid value: "e.com/s": field is immutable']);
    expect(defaulted(CLUSTER_TRUST_BUNDLE, bundle("a", {}))).toEqual(bundle("a", { trustBundle: "" }));
  });
});
