/** Defaults and validation of CertificateSigningRequests and ClusterTrustBundles. */
import { X509Certificate } from "node:crypto";
import { invalidValue, tooLong } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, objectsAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { dnsSubdomainErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { immutableErrors } from "../checks.ts";
import type { Kind } from "../kind.ts";
import { ownStruct, setMissing, setMissingInItems } from "../defaults.ts";
import { pemBlocks } from "../../../base/pem.ts";
import { signerNameErrors } from "./signer-name.ts";
import { requestErrors, requestUpdateErrors } from "./signing-request-rules.ts";

const TRUST_BUNDLE = "spec.trustBundle";
const TRUST_BUNDLE_BYTES_MAX = 1024 * 1024;

export const CERTIFICATE_SIGNING_REQUEST: Kind = {
  setDefaults(request) {
    setMissing(ownStruct(request, "spec"), { request: null, signerName: "" });
    const missing = { type: "", status: "", lastUpdateTime: null, lastTransitionTime: null };
    setMissingInItems(ownStruct(request, "status"), "conditions", missing);
  },
  prepareCreate(request) {
    request["status"] = {};
  },
  // The spec is immutable: it holds the request to sign and the user that sent it.
  prepareUpdate(request, existing) {
    request["spec"] = existing["spec"];
  },
  prepareStatusUpdate(request, existing, { time }) {
    const status = { ...objectAt(request, "status") };
    request["status"] = status;
    if (Array.isArray(status["conditions"]))
      status["conditions"] = withTransitionTimes(
        withStoredApprovals(objectsAt(status, "conditions"), existing),
        existing,
        time,
      );
  },
  createErrors: requestErrors,
  updateErrors: (request, existing) => requestUpdateErrors(request, existing, "main"),
  statusUpdateErrors: (request, existing) => requestUpdateErrors(request, existing, "status"),
};

/** Replaces the Approved and Denied conditions by the stored ones if their number has not changed. */
function withStoredApprovals(conditions: readonly JsonObject[], existing: JsonObject): JsonObject[] {
  const before = objectsAt(objectAt(existing, "status"), "conditions");
  let result = [...conditions];
  for (const type of ["Approved", "Denied"]) {
    const given = before.filter((condition) => condition["type"] === type);
    if (given.length !== result.filter((condition) => condition["type"] === type).length) continue;
    const next = given.values();
    result = result.map((condition) => (condition["type"] === type ? (next.next().value ?? condition) : condition));
  }
  return result;
}

/**
 * Sets missing times. A condition with an unchanged type and status gets its stored lastTransitionTime, any other
 * condition the current time.
 */
export function withTransitionTimes(conditions: readonly unknown[], existing: JsonObject, now: string): unknown[] {
  const since = new Map<string, unknown>();
  for (const { type, status, lastTransitionTime } of objectsAt(objectAt(existing, "status"), "conditions").toReversed())
    if (typeof lastTransitionTime === "string") since.set(JSON.stringify([type, status]), lastTransitionTime);
  return conditions.map((condition) => {
    if (!isJsonObject(condition)) return condition;
    const known = since.get(JSON.stringify([condition["type"], condition["status"]]));
    return {
      ...condition,
      lastUpdateTime: condition["lastUpdateTime"] ?? now,
      lastTransitionTime: condition["lastTransitionTime"] ?? known ?? now,
    };
  });
}

export const CLUSTER_TRUST_BUNDLE: Kind = {
  setDefaults: (bundle) => setMissing(ownStruct(bundle, "spec"), { trustBundle: "" }),
  *createErrors(bundle) {
    yield* bundleNameErrors(bundle);
    yield* bundleErrors(bundle, true);
  },
  *updateErrors(bundle, existing) {
    const [spec, before] = [objectAt(bundle, "spec"), objectAt(existing, "spec")];
    yield* bundleErrors(bundle, spec["trustBundle"] !== before["trustBundle"]);
    yield* immutableErrors(stringAt(spec, "signerName"), stringAt(before, "signerName"), "spec.signerName");
  },
};

const DAY_SECONDS = 86_400;

/** No validation rule of this kind is implemented. */
export const POD_CERTIFICATE_REQUEST: Kind = {
  setDefaults: (request) => setMissing(ownStruct(request, "spec"), { maxExpirationSeconds: DAY_SECONDS }),
};

/** The name of a bundle with a signer begins with the signer's name. */
function* bundleNameErrors(bundle: JsonObject): Generator<FieldError> {
  const name = stringAt(objectAt(bundle, "metadata"), "name");
  const signer = stringAt(objectAt(bundle, "spec"), "signerName");
  const prefix = signer === "" ? "" : `${signer.replaceAll("/", ":")}:`;
  if (signer === "" && name.includes(":"))
    yield invalidValue("metadata.name", name, 'ClusterTrustBundle without signer name must not have ":" in its name');
  else if (!name.startsWith(prefix))
    yield invalidValue(
      "metadata.name",
      name,
      `ClusterTrustBundle for signerName ${signer} must be named with prefix ${prefix}`,
    );
  else
    for (const sentence of dnsSubdomainErrors(name.slice(prefix.length)))
      yield invalidValue("metadata.name", name, sentence);
}

function* bundleErrors(bundle: JsonObject, isParsed: boolean): Generator<FieldError> {
  const spec = objectAt(bundle, "spec");
  const signer = stringAt(spec, "signerName");
  if (signer !== "") yield* signerNameErrors(signer, "spec.signerName");
  if (isParsed) yield* trustBundleErrors(stringAt(spec, "trustBundle"));
}

function* trustBundleErrors(text: string): Generator<FieldError> {
  if (Buffer.byteLength(text) > TRUST_BUNDLE_BYTES_MAX) {
    yield tooLong(TRUST_BUNDLE, TRUST_BUNDLE_BYTES_MAX);
    return;
  }
  const wrong = (why: string): FieldError => invalidValue(TRUST_BUNDLE, "<value omitted>", why);
  const anchors = new Map<string, number[]>();
  let index = 0;
  let isWellFormed = true;
  for (const { type, hasHeaders, bytes } of pemBlocks(text)) {
    const problem = anchorProblem({ type, hasHeaders, bytes });
    if (problem !== undefined) {
      isWellFormed = false;
      yield wrong(`entry ${index} ${problem}`);
    }
    const identity = bytes.toString("latin1");
    anchors.set(identity, [...(anchors.get(identity)?.slice(0, 100) ?? []), index]);
    index++;
  }
  if (!isWellFormed) return;
  if (anchors.size === 0) yield wrong("at least one trust anchor must be provided");
  for (const indices of anchors.values())
    if (indices.length > 1) yield wrong(`duplicate trust anchor (indices [${indices.join(" ")}])`);
}

function anchorProblem(block: { type: string; hasHeaders: boolean; bytes: Buffer }): string | undefined {
  if (block.type !== "CERTIFICATE") return `has bad block type: ${block.type}`;
  if (block.hasHeaders) return "has PEM block headers";
  try {
    return new X509Certificate(block.bytes).ca ? undefined : "does not have the CA bit set";
  } catch {
    return "does not parse as X.509";
  }
}
