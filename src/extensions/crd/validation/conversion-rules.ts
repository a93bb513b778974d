/** Validates spec.conversion of a CRD. */
import { X509Certificate } from "node:crypto";
import { forbiddenField, invalidGoValue, invalidValue, required } from "../../../meta/field-errors.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { dns1035LabelErrors } from "../../../meta/names.ts";
import type { FieldError } from "../../../meta/status-error.ts";
import { enumErrors } from "../../../objects/kinds/checks.ts";
import { pemBlocks } from "../../../base/pem.ts";
import { webhookClientErrors } from "../../../objects/kinds/access/webhook-client.ts";

const REVIEW_VERSIONS: readonly string[] = ["v1", "v1beta1"];
const FIELD = "spec.conversion";
const ONLY_WITH_WEBHOOK = "should not be set when strategy is not set to Webhook";

export interface ConversionDemands {
  readonly knownReviewVersion: boolean;
  readonly validBundle: boolean;
}

/** As kubernetes: errors use the field names of v1beta1, such as webhookClientConfig. */
export function* conversionErrors(spec: JsonObject, demands: ConversionDemands): Generator<FieldError> {
  const conversion = objectAt(spec, "conversion");
  const strategy = stringAt(conversion, "strategy");
  const webhook = objectAt(conversion, "webhook");
  const { clientConfig } = webhook;
  const reviewVersions = stringsAt(webhook, "conversionReviewVersions");
  if (strategy !== "None" && spec["preserveUnknownFields"] === true)
    yield invalidValue(`${FIELD}.strategy`, strategy, "must be None if spec.preserveUnknownFields is true");
  yield* enumErrors(strategy, `${FIELD}.strategy`, ["None", "Webhook"]);
  if (strategy !== "Webhook") {
    if (isJsonObject(clientConfig)) yield forbiddenField(`${FIELD}.webhookClientConfig`, ONLY_WITH_WEBHOOK);
    if (reviewVersions.length > 0) yield forbiddenField(`${FIELD}.conversionReviewVersions`, ONLY_WITH_WEBHOOK);
    return;
  }
  if (!isJsonObject(clientConfig))
    yield required(`${FIELD}.webhookClientConfig`, "required when strategy is set to Webhook");
  else {
    yield* webhookClientErrors(clientConfig, `${FIELD}.webhookClientConfig`);
    if (demands.validBundle) yield* bundleErrors(clientConfig, `${FIELD}.webhookClientConfig.caBundle`);
  }
  yield* reviewVersionErrors(reviewVersions, demands);
}

function* reviewVersionErrors(versions: readonly string[], demands: ConversionDemands): Generator<FieldError> {
  const field = `${FIELD}.conversionReviewVersions`;
  if (versions.length === 0) {
    yield required(field);
    return;
  }
  const seen = new Set<string>();
  for (const [index, version] of versions.entries()) {
    if (seen.has(version)) yield invalidValue(`${field}[${index}]`, version, "duplicate version");
    else
      for (const sentence of dns1035LabelErrors(version)) yield invalidValue(`${field}[${index}]`, version, sentence);
    seen.add(version);
  }
  if (demands.knownReviewVersion && !hasKnownReviewVersion(versions))
    yield invalidGoValue(field, versions, `must include at least one of ${REVIEW_VERSIONS.join(", ")}`);
}

export function hasKnownReviewVersion(versions: readonly string[]): boolean {
  return versions.some((version) => REVIEW_VERSIONS.includes(version));
}

export function hasValidBundle(clientConfig: JsonObject): boolean {
  return bundleErrors(clientConfig, "").next().done === true;
}

function* bundleErrors(clientConfig: JsonObject, field: string): Generator<FieldError> {
  const bundle = stringAt(clientConfig, "caBundle");
  const problem = bundle === "" ? undefined : bundleProblem(Buffer.from(bundle, "base64").toString("latin1"));
  if (problem !== undefined) yield invalidValue(field, bundle, `unable to load root certificates: ${problem}`);
}

/** Returns why the CA bundle is invalid; undefined if it contains a certificate. */
function bundleProblem(text: string): string | undefined {
  const blocks = [...pemBlocks(text)];
  const certificates = blocks.filter((block) => block.type === "CERTIFICATE" && !block.hasHeaders);
  if (certificates.some((block) => isCertificate(block.bytes))) return undefined;
  // DIFFERS: kubernetes names the error inside the certificate.
  if (certificates.length > 0) return "failed to parse certificate: x509: malformed certificate";
  return "unable to parse bytes as PEM block";
}

function isCertificate(der: Buffer): boolean {
  try {
    return new X509Certificate(der).raw.length > 0;
  } catch {
    return false;
  }
}
