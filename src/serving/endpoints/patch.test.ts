import { expect, test } from "vitest";
import { openSchemas } from "../../objects/catalog/schema-source.ts";
import { infoRequest } from "../../../test/testing/serving/http/requests.ts";
import { StatusError } from "../../meta/status-error.ts";
import type { ServedResource } from "../registry/resource.ts";
import type { EndpointCall } from "./endpoint.ts";
import { readPatch } from "./patch.ts";

/** A resource with only the fields that the check of the patch type needs. */
function served(isCustom: boolean): ServedResource {
  const schema = openSchemas("1.36").kind("", "v1", "ConfigMap")!;
  return { schema: { ...schema, fields: schema.fields, isCustom } } as ServedResource;
}

async function refusal(type: string, isCustom: boolean): Promise<unknown> {
  const request = infoRequest({
    method: "PATCH",
    url: "/api/v1/namespaces/a/configmaps/b",
    headers: { "content-type": type },
  });
  const kind = served(isCustom);
  const call = { request, served: kind } as unknown as EndpointCall;
  const error = await readPatch(call, kind).catch((thrown: unknown) => thrown);
  return error instanceof StatusError ? [error.code, error.message, error.details] : undefined;
}

const CUSTOM =
  "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";

test.each([
  ["application/strategic-merge-patch+json", true, [415, CUSTOM, undefined]],
  ["application/bogus", true, [415, CUSTOM, undefined]],
  ["application/bogus", false, [415, "415: Unsupported Media Type", {}]],
  ["application/strategic-merge-patch+json", false, undefined],
  ["application/merge-patch+json", true, undefined],
  ["application/json-patch+json; charset=utf-8", true, undefined],
])(
  "a patch of type %s is accepted only if the resource supports this type (custom resource: %s)",
  async (type, isCustom, expected) => {
    expect(await refusal(type, isCustom)).toEqual(expected);
  },
);
