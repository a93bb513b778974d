/** Encodes the ConversionReview for a webhook, and reads the converted objects from the webhook's response. Pure. */
import type { ReviewVersion } from "../../../access/webhook-client/webhook-client.ts";
import { goQuote } from "../../../meta/go-quote.ts";
import { isJsonObject, objectAt, stringAt, type JsonObject } from "../../../meta/json.ts";
import { jsonKind } from "../../../meta/go-fmt.ts";

interface ConversionReviewRequest {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly desiredApiVersion: string;
  /** Each object as JSON text. */
  readonly objects: readonly string[];
}

const GROUP = "apiextensions.k8s.io";

/** The first version of the webhook's list that this server supports; undefined if it supports none. */
export function reviewVersionOf(conversionReviewVersions: readonly string[]): ReviewVersion | undefined {
  return conversionReviewVersions.find((version) => version === "v1" || version === "v1beta1");
}

/** The review as JSON text. */
export function conversionReviewText({ version, uid, desiredApiVersion, objects }: ConversionReviewRequest): string {
  const head = `{"kind":"ConversionReview","apiVersion":"${GROUP}/${version}"`;
  const asked = `"uid":${JSON.stringify(uid)},"desiredAPIVersion":${JSON.stringify(desiredApiVersion)}`;
  const response = `{"uid":"","convertedObjects":null,"result":{"metadata":{}}}`;
  return `${head},"request":{${asked},"objects":[${objects.join(",")}]},"response":${response}}`;
}

type ReviewResult =
  | { readonly kind: "converted"; readonly objects: readonly unknown[] }
  | { readonly kind: "failed"; readonly why: string };

/** Returns the converted objects of the response, or the reason why the response is invalid. */
export function readReview(
  review: JsonObject,
  { version, uid }: Pick<ConversionReviewRequest, "version" | "uid">,
): ReviewResult {
  const foreign = foreignReview(review, version);
  if (foreign !== undefined) return failed(foreign);
  const { response } = review;
  if (!isJsonObject(response)) return failed("no response provided");
  const { convertedObjects = [] } = response;
  if (convertedObjects !== null && !Array.isArray(convertedObjects))
    return failed(
      `json: cannot unmarshal ${jsonKind(convertedObjects)} into Go struct field ConversionResponse.response.convertedObjects of type []runtime.RawExtension`,
    );
  const answered = stringAt(response, "uid");
  // As kubernetes: in v1beta1 the uid is not checked.
  if (version === "v1" && answered !== uid)
    return failed(`expected response.uid=${goQuote(uid)}, got ${goQuote(answered)}`);
  const result = objectAt(response, "result");
  const status = stringAt(result, "status");
  const message = stringAt(result, "message");
  if (status !== "Success") return failed(message || `response.result.status was '${status}', not 'Success'`);
  return { kind: "converted", objects: convertedObjects ?? [] };
}

const OTHERS: ReadonlySet<string> = new Set([
  `${GROUP}/v1 ConversionReview`,
  `${GROUP}/v1beta1 ConversionReview`,
  "v1 Status",
]);

/**
 * Returns the error for a response with another kind or apiVersion. As kubernetes: the message depends on whether the
 * type is registered in the scheme of the webhook client.
 */
function foreignReview(review: JsonObject, version: ReviewVersion): string | undefined {
  const apiVersion = stringAt(review, "apiVersion");
  const kind = stringAt(review, "kind");
  if (apiVersion === `${GROUP}/${version}` && kind === "ConversionReview") return undefined;
  if (OTHERS.has(`${apiVersion} ${kind}`)) {
    const sent = apiVersion.slice(apiVersion.indexOf("/") + 1);
    return `converting (${sent}.${kind}) to (${version}.ConversionReview): unknown conversion`;
  }
  if (apiVersion !== "" && kind !== "")
    return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"`;
  // As kubernetes: in v1beta1 kind and apiVersion may be absent.
  if (version === "v1beta1" && apiVersion === "" && kind === "") return undefined;
  const slash = apiVersion.includes("/") ? "" : "/";
  return `expected webhook response of ${GROUP}/${version}, Kind=ConversionReview, got ${slash}${apiVersion}, Kind=${kind}`;
}

function failed(why: string): ReviewResult {
  return { kind: "failed", why };
}
