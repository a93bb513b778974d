/** Parses the AdmissionReview that a webhook returns and validates it against the request. Pure. */
import { goQuote } from "../../../meta/go-quote.ts";
import { isJsonObject, objectAt, stringAt, stringsAt, type JsonObject } from "../../../meta/json.ts";
import { REVIEW_GROUP } from "./review.ts";
import { typeProblem } from "./response-types.ts";
import type { ReviewVersion } from "../../webhook-client/webhook-client.ts";

export interface AdmissionResponse {
  readonly isAllowed: boolean;
  /** The metav1.Status that the webhook returns with a denial. */
  readonly status: JsonObject;
  /** The bytes of the JSON patch; empty if there is no patch. */
  readonly patch: Buffer;
  readonly patchType: string;
  readonly auditAnnotations: readonly (readonly [key: string, value: string])[];
  readonly warnings: readonly string[];
}

type ReadResponse =
  | { readonly kind: "response"; readonly response: AdmissionResponse }
  | { readonly kind: "failed"; readonly why: string };

interface Expected {
  readonly version: ReviewVersion;
  readonly uid: string;
  readonly isMutating: boolean;
}

export function readResponse(review: JsonObject, expected: Expected): ReadResponse {
  const unread = foreignReview(review, expected.version) ?? typeProblem(review, expected.version);
  if (unread !== undefined) return failed(`failed to call webhook: ${unread}`);
  const { response } = review;
  const invalid = isJsonObject(response) ? problemOf(review, response, expected) : "webhook response was absent";
  if (invalid !== undefined || !isJsonObject(response)) return failed(`received invalid webhook response: ${invalid}`);
  const patch = expected.isMutating ? Buffer.from(stringAt(response, "patch"), "base64") : Buffer.alloc(0);
  return {
    kind: "response",
    response: {
      isAllowed: response["allowed"] === true,
      status: objectAt(response, "status"),
      patch,
      // As kubernetes: v1beta1 webhooks may omit the patch type.
      patchType: expected.version === "v1beta1" ? JSON_PATCH : stringAt(response, "patchType"),
      auditAnnotations: annotationsOf(objectAt(response, "auditAnnotations")),
      warnings: stringsAt(response, "warnings"),
    },
  };
}

const JSON_PATCH = "JSONPatch";

function annotationsOf(annotations: JsonObject): [string, string][] {
  return Object.keys(annotations).map((key) => [key, stringAt(annotations, key)]);
}

function failed(why: string): ReadResponse {
  return { kind: "failed", why };
}

/** As kubernetes: responses in v1beta1 are not validated. */
function problemOf(review: JsonObject, response: JsonObject, expected: Expected): string | undefined {
  if (expected.version === "v1beta1") return undefined;
  const uid = stringAt(response, "uid");
  if (uid !== expected.uid) return `expected response.uid=${goQuote(expected.uid)}, got ${goQuote(uid)}`;
  const apiVersion = stringAt(review, "apiVersion");
  const kind = stringAt(review, "kind");
  const wanted = `${REVIEW_GROUP}/v1`;
  if (apiVersion !== wanted || kind !== "AdmissionReview")
    return `expected webhook response of ${wanted}, Kind=AdmissionReview, got ${gvkText(apiVersion, kind)}`;
  return expected.isMutating ? patchProblem(response) : unwantedPatch(response);
}

function patchProblem(response: JsonObject): string | undefined {
  const hasPatch = stringAt(response, "patch") !== "";
  const { patchType } = response;
  const hasType = patchType !== undefined && patchType !== null;
  if (hasPatch && !hasType) return "webhook returned response.patch but not response.patchType";
  if (!hasPatch && hasType) return "webhook returned response.patchType but not response.patch";
  return patchType === "" ? 'webhook returned invalid response.patchType of ""' : undefined;
}

function unwantedPatch(response: JsonObject): string | undefined {
  if (stringAt(response, "patch") !== "") return "validating webhook may not return response.patch";
  const { patchType } = response;
  return patchType === undefined || patchType === null
    ? undefined
    : "validating webhook may not return response.patchType";
}

/** A GroupVersionKind in Go's format. */
function gvkText(apiVersion: string, kind: string): string {
  return `${apiVersion.includes("/") ? "" : "/"}${apiVersion}, Kind=${kind}`;
}

const OTHERS: ReadonlySet<string> = new Set([
  `${REVIEW_GROUP}/v1 AdmissionReview`,
  `${REVIEW_GROUP}/v1beta1 AdmissionReview`,
  "v1 Status",
]);

/**
 * The message for a review with another kind or version. Kubernetes decodes the response into the type of the requested
 * version and cannot convert others to it.
 */
function foreignReview(review: JsonObject, version: ReviewVersion): string | undefined {
  const apiVersion = stringAt(review, "apiVersion");
  const kind = stringAt(review, "kind");
  if (apiVersion === "" || kind === "") return undefined;
  if (apiVersion === `${REVIEW_GROUP}/${version}` && kind === "AdmissionReview") return undefined;
  if (!OTHERS.has(`${apiVersion} ${kind}`))
    return `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)} in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"`;
  const sent = apiVersion.slice(apiVersion.indexOf("/") + 1);
  return `converting (${sent}.${kind}) to (${version}.AdmissionReview): unknown conversion`;
}
