import { describe, expect, test } from "vitest";
import type { JsonObject } from "../../../meta/json.ts";
import type { ReviewVersion } from "../../../access/webhook-client/webhook-client.ts";
import { readReview, conversionReviewText, reviewVersionOf } from "./review.ts";

test.each<[versions: string[], chosen: string | undefined]>([
  [["v1", "v1beta1"], "v1"],
  [["v1beta1", "v1"], "v1beta1"],
  [["v2", "v1"], "v1"],
  [["v2"], undefined],
  [[], undefined],
])("of the conversion review versions %j the first supported one is used", (versions, chosen) => {
  expect(reviewVersionOf(versions)).toBe(chosen);
});

test("a review contains the objects in order and the desired API version", () => {
  const objects = ['{"a":1}', '{"b":2}'];
  const text = conversionReviewText({ version: "v1beta1", uid: "u", desiredApiVersion: "example.com/v2", objects });
  expect(JSON.parse(text)).toEqual({
    kind: "ConversionReview",
    apiVersion: "apiextensions.k8s.io/v1beta1",
    request: { uid: "u", desiredAPIVersion: "example.com/v2", objects: [{ a: 1 }, { b: 2 }] },
    response: { uid: "", convertedObjects: null, result: { metadata: {} } },
  });
});

describe("the webhook's ConversionReview", () => {
  const V1 = "apiextensions.k8s.io/v1";
  const SCHEME = 'in scheme "k8s.io/apiserver/pkg/util/webhook/client.go:71"';
  const NO_LIST =
    "json: cannot unmarshal string into Go struct field ConversionResponse.response.convertedObjects of type []runtime.RawExtension";
  const good = { uid: "u", convertedObjects: [{}], result: { status: "Success" } };
  const review = (response: unknown, apiVersion = V1): JsonObject => ({
    kind: "ConversionReview",
    apiVersion,
    response,
  });

  test("contains the converted objects", () => {
    expect(readReview(review(good), { version: "v1", uid: "u" })).toEqual({ kind: "converted", objects: [{}] });
  });

  test("in v1beta1 is accepted without kind and apiVersion, and with another uid", () => {
    const sent = { response: { ...good, uid: "other" } };
    expect(readReview(sent, { version: "v1beta1", uid: "u" }).kind).toBe("converted");
  });

  test.each<[version: ReviewVersion, sent: JsonObject, why: string]>([
    ["v1", { response: good }, `expected webhook response of ${V1}, Kind=ConversionReview, got /, Kind=`],
    [
      "v1",
      review(good, `${V1}beta1`),
      "converting (v1beta1.ConversionReview) to (v1.ConversionReview): unknown conversion",
    ],
    ["v1beta1", review(good), "converting (v1.ConversionReview) to (v1beta1.ConversionReview): unknown conversion"],
    ["v1", { ...review(good), kind: "Foo" }, `no kind "Foo" is registered for version "${V1}" ${SCHEME}`],
    ["v1", review(good, "x/v1"), `no kind "ConversionReview" is registered for version "x/v1" ${SCHEME}`],
    ["v1", { apiVersion: "v1", kind: "Status" }, "converting (v1.Status) to (v1.ConversionReview): unknown conversion"],
    ["v1", review({ ...good, convertedObjects: "x" }), NO_LIST],
    ["v1", review(undefined), "no response provided"],
    ["v1", review({ ...good, uid: 'x"' }), String.raw`expected response.uid="u", got "x\""`],
    ["v1", review({ ...good, result: { status: "Failure", message: "why" } }), "why"],
    ["v1", review({ ...good, result: { status: "Failure" } }), "response.result.status was 'Failure', not 'Success'"],
    ["v1beta1", review({ ...good, result: [] }, `${V1}beta1`), "response.result.status was '', not 'Success'"],
  ])("in %s is rejected if it is %j", (version, sent, why) => {
    expect(readReview(sent, { version, uid: "u" })).toEqual({ kind: "failed", why });
  });

  test("without convertedObjects contains no objects", () => {
    for (const convertedObjects of [undefined, null])
      expect(readReview(review({ ...good, convertedObjects }), { version: "v1", uid: "u" })).toEqual({
        kind: "converted",
        objects: [],
      });
  });
});
