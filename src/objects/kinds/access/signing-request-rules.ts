/** Validation of CertificateSigningRequests and of their status and approval subresources. */
import {
  duplicateValue,
  forbiddenField,
  invalidValue,
  required,
  unsupportedValue,
} from "../../../meta/field-errors.ts";
import { numberAt, objectAt, objectsAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { unifiedDiff } from "../internal-version/unified-diff.ts";
import { pemBlocks } from "../../../base/pem.ts";
import { signerNameErrors } from "./signer-name.ts";
import { requestProblem } from "./signing-request-text.ts";
import { internalValue, isSameInternal } from "../internal-version/internal-value.ts";
import { goJsonLines } from "../../../meta/go-json.ts";

const CONDITIONS = "status.conditions";
const CERTIFICATE = "status.certificate";
const LEGACY_SIGNER = "kubernetes.io/legacy-unknown";
const EXPIRATION_SECONDS_MIN = 600;
/** Condition types that must be True and cannot be removed. */
const FINAL_CONDITIONS: readonly string[] = ["Approved", "Denied", "Failed"];
const EXCLUSIVE: ReadonlyMap<string, string> = new Map([
  ["Approved", "Denied"],
  ["Denied", "Approved"],
]);
const USAGES: readonly string[] = [
  "any",
  "cert sign",
  "client auth",
  "code signing",
  "content commitment",
  "crl sign",
  "data encipherment",
  "decipher only",
  "digital signature",
  "email protection",
  "encipher only",
  "ipsec end system",
  "ipsec tunnel",
  "ipsec user",
  "key agreement",
  "key encipherment",
  "microsoft sgc",
  "netscape sgc",
  "ocsp signing",
  "s/mime",
  "server auth",
  "signing",
  "timestamping",
];

/** The endpoint through which a request is written. Each endpoint may write different fields. */
type RequestSubresource = "main" | "status" | "approval";

export function requestErrors(request: JsonObject): Iterable<FieldError> {
  return requestSpecErrors(request, undefined);
}

export function* requestUpdateErrors(
  request: JsonObject,
  existing: JsonObject,
  subresource: RequestSubresource,
): Generator<FieldError> {
  yield* requestSpecErrors(request, existing);
  yield* removalErrors(request, existing);
  if (subresource !== "approval") yield* approvalErrors(request, existing);
  const certificate = stringAt(objectAt(request, "status"), "certificate");
  const before = stringAt(objectAt(existing, "status"), "certificate");
  if (certificate === before) return;
  if (subresource !== "status") yield forbiddenField(CERTIFICATE, "updates may not set certificate content");
  else if (before !== "") yield forbiddenField(CERTIFICATE, "updates may not modify existing certificate content");
}

/**
 * Usages, signer name, conditions and certificate may violate a check that the stored object already violates, because
 * the object may be older than the check.
 */
function* requestSpecErrors(request: JsonObject, existing: JsonObject | undefined): Generator<FieldError> {
  const spec = objectAt(request, "spec");
  const before = existing === undefined ? undefined : objectAt(existing, "spec");
  const text = stringAt(spec, "request");
  const problem = requestProblem(text);
  if (problem !== undefined) yield invalidValue("spec.request", spec["request"] ?? null, problem);
  yield* usageErrors(stringsAt(spec, "usages"), before === undefined ? [] : stringsAt(before, "usages"));
  const signer = stringAt(spec, "signerName");
  if (signer === LEGACY_SIGNER && before?.["signerName"] !== LEGACY_SIGNER)
    yield invalidValue("spec.signerName", signer, "the legacy signerName is not allowed via this API version");
  else yield* signerNameErrors(signer, "spec.signerName");
  const seconds = numberAt(spec, "expirationSeconds");
  if (seconds !== undefined && seconds < EXPIRATION_SECONDS_MIN)
    yield invalidValue(
      "spec.expirationSeconds",
      seconds,
      "may not specify a duration less than 600 seconds (10 minutes)",
    );
  yield* conditionErrors(conditionsOf(request), existing === undefined ? [] : conditionsOf(existing));
  yield* certificateErrors(objectAt(request, "status"), objectAt(existing ?? {}, "status"));
}

function* usageErrors(usages: readonly string[], before: readonly string[]): Generator<FieldError> {
  if (usages.length === 0) yield required("spec.usages");
  if (before.every((usage) => USAGES.includes(usage)))
    for (const [index, usage] of usages.entries())
      if (!USAGES.includes(usage)) yield unsupportedValue(`spec.usages[${index}]`, usage, USAGES);
  if (new Set(before).size < before.length) return;
  const seen = new Set<string>();
  for (const [index, usage] of usages.entries()) {
    if (seen.has(usage)) yield duplicateValue(`spec.usages[${index}]`, usage);
    seen.add(usage);
  }
}

function conditionsOf(request: JsonObject): JsonObject[] {
  return objectsAt(objectAt(request, "status"), "conditions");
}

function* conditionErrors(conditions: readonly JsonObject[], before: readonly JsonObject[]): Generator<FieldError> {
  const known = before.map((condition) => stringAt(condition, "type"));
  const allowsBoth = known.includes("Approved") && known.includes("Denied");
  const allowsDuplicates = new Set(known).size < known.length;
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const type = stringAt(condition, "type");
    if (type === "" && !known.includes("")) yield required(`${CONDITIONS}[${index}].type`);
    yield* statusErrors(stringAt(condition, "status"), type, `${CONDITIONS}[${index}].status`);
    const opposite = EXCLUSIVE.get(type);
    if (!allowsBoth && opposite !== undefined && seen.has(opposite))
      yield invalidValue(CONDITIONS, type, "Approved and Denied conditions are mutually exclusive");
    if (!allowsDuplicates && seen.has(type)) yield duplicateValue(`${CONDITIONS}[${index}].type`, type);
    seen.add(type);
  }
}

function* statusErrors(status: string, type: string, field: string): Generator<FieldError> {
  const supported = FINAL_CONDITIONS.includes(type) ? ["True"] : ["False", "True", "Unknown"];
  if (status === "") yield required(field);
  else if (!supported.includes(status)) yield unsupportedValue(field, status, supported);
}

/** DIFFERS: does not check that the blocks hold certificates. */
function certificateProblem(base64: string): string | undefined {
  if (base64 === "") return undefined;
  let count = 0;
  for (const { type, hasHeaders } of pemBlocks(Buffer.from(base64, "base64").toString("latin1"))) {
    if (type !== "CERTIFICATE") return `only CERTIFICATE PEM blocks are allowed, found ${JSON.stringify(type)}`;
    if (hasHeaders) return "no PEM block headers are permitted";
    count++;
  }
  return count === 0 ? "must contain at least one CERTIFICATE PEM block" : undefined;
}

function* certificateErrors(status: JsonObject, before: JsonObject): Generator<FieldError> {
  const certificate = stringAt(status, "certificate");
  const known = stringAt(before, "certificate");
  if (certificate === known || certificateProblem(known) !== undefined) return;
  const problem = certificateProblem(certificate);
  if (problem !== undefined) yield invalidValue(CERTIFICATE, "<certificate data>", problem);
}

function ofType(request: JsonObject, type: string): JsonObject[] {
  return conditionsOf(request).filter((condition) => stringAt(condition, "type") === type);
}

function* removalErrors(request: JsonObject, existing: JsonObject): Generator<FieldError> {
  for (const type of FINAL_CONDITIONS)
    if (ofType(request, type).length < ofType(existing, type).length)
      yield forbiddenField(CONDITIONS, `updates may not remove a condition of type ${JSON.stringify(type)}`);
}

/** Approved and Denied conditions change only through the approval subresource. */
function* approvalErrors(request: JsonObject, existing: JsonObject): Generator<FieldError> {
  for (const type of EXCLUSIVE.keys()) {
    const [conditions, before] = [ofType(request, type), ofType(existing, type)];
    if (conditions.length > before.length)
      yield forbiddenField(CONDITIONS, `updates may not add a condition of type ${JSON.stringify(type)}`);
    else if (
      conditions.length === before.length &&
      !isSameInternal(conditions, before, "[]CertificateSigningRequestCondition")
    ) {
      const lines = (some: readonly JsonObject[]): string[] =>
        goJsonLines(internalValue(some, "[]CertificateSigningRequestCondition"));
      const difference = unifiedDiff(lines(before), lines(conditions));
      yield forbiddenField(
        CONDITIONS,
        `updates may not modify a condition of type ${JSON.stringify(type)}\n${difference}`,
      );
    }
  }
}
